"""Files made to hang, to grow or to confuse: settings and names that no model has.

Each attack, here and in the modules beside this one, is built small enough to be quick when it is
refused, and large enough to be felt when it is not: the unguarded reader needed minutes or
gigabytes for it.
"""

from __future__ import annotations

import io

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources import layouts, ownnames
from posviz.sources.formats.tensors import Entry, brief, excerpt
from posviz.sources.looks import look, tensor_sign
from posviz.sources.ownnames import speaks_of_positions
from posviz.sources.suspects import find

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7


def test_numbers_of_a_config_that_no_model_has_are_passed_over(model_folder, rows):
    huge = 10**4200
    config = {
        "model_type": "yolos", "num_detection_tokens": huge, "image_size": [huge, huge],
        "patch_size": 1, "max_position_embeddings": huge, "pad_token_id": huge,
    }  # fmt: skip
    root = model_folder({"embeddings.position_embeddings": rows(1, 26, 8)}, config)
    found = sources.open(str(root))
    assert found.table().n_positions == 26
    assert all(len(said) < 400 for said in (*found.warnings, found.tables[0].reason))


def test_many_settings_and_long_paths_cost_nothing(bounded, model_folder, rows):
    path = ".".join(f"w{i}" for i in range(150))
    arrays = {f"{path}.{i}.wpe.weight": rows(2, 2) for i in range(500)}
    config = {f"k{i}": {} for i in range(60_000)}
    root = model_folder(arrays, config)
    assert len(bounded(lambda: sources.open(str(root))).tables) == 500


def test_names_made_to_be_slow_are_not(bounded):
    slow = [
        "pos" * 330,
        "_" * 990 + "wpe",
        "pos_embed." * 99,
        "embed_positions_" * 60,
        "wpe/" * 240,
        "/pe" * 333,
        "posenc" * 10,
        "x.modules_to_save" * 58,
    ]
    bounded(lambda: [layouts.rule(f"{name}{i}") for name in slow for i in range(20_000)])
    bounded(lambda: [speaks_of_positions(f"{name}{i}") for name in slow for i in range(20_000)])
    for name in slow:
        entries = [Entry(f"{name}{i}", (1,), "F32", 4, "x") for i in range(5_000)]
        bounded(lambda entries=entries: (tensor_sign(entries), find(entries, None)))
    assert layouts.rule("a." * 400 + "wpe.weight") == "wpe"


def two_axes(names):
    return [Entry(name, (8, 4), "F32", 128, "m") for name in names]


def test_names_much_like_those_of_position_tables_are_not_tried_without_end():
    near = two_axes(f"text_encoder.{i}.weight" for i in range(20_001))
    table = two_axes(["wpe.weight"])
    assert [suspect.parameter for suspect in find(near[:-2] + table, None)] == ["wpe.weight"]
    with pytest.raises(SourceError) as caught:
        find(near + table, None)
    assert str(caught.value) == (
        "m: more than 20,000 of its tensors are named much like position tables, as in no model. "
        "Save the table alone in a file of its own."
    )


def test_a_hundred_thousand_experts_hide_nothing():
    """Their names differ in numbers only, and count once."""
    experts = two_axes(f"h.{i % 61}.mlp.experts.{i}.up.weight" for i in range(60_000))
    own = two_axes(["model.learned_positions.weight"])
    assert [s.parameter for s in ownnames.find(experts + own, None)] == [own[0].name]
    sign = Entry("h.60.attn.rotary_emb.inv_freq", (8,), "F32", 32, "m")
    assert tensor_sign([*experts, sign]) == ("rotary", sign)
    llama = [f"layers.0.{name}.weight" for name in ("self_attn.q_proj", "mlp.up_proj")]
    known = look([*experts, *two_axes(llama)])
    assert known is not None
    assert known.scheme == "rotary"


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0)])
def test_a_number_at_the_end_of_a_name_is_told_from_that_of_a_layer(numbers):
    entries = two_axes(f"net.3.pos.{number}.weight" for number in numbers)
    found = [suspect.parameter for suspect in ownnames.find(entries, None)]
    assert found == ["net.3.pos.0.weight"]


def test_foreign_words_are_repeated_briefly_and_printably():
    assert brief("wpe.weight") == "wpe.weight"
    assert brief("a\x1b[2J\n") == "a\\x1b[2J\\n"
    assert len(brief("x" * 10**6)) < 130
    assert len(excerpt([["x" * 10**6] * 1000] * 1000)) < 300


@pytest.mark.parametrize(
    "name", ["", "/", "..", "../..", "a\x00b", "\udcff.npy", "n" * 5000 + ".npy"]
)
def test_uploads_of_any_name_open(name):
    stream = io.BytesIO()
    np.save(stream, TABLE)
    found = sources.open_upload({name: stream.getvalue()})
    assert found.table().n_positions == 8
    assert found.ref.isprintable()
    assert len(found.ref) < 260
