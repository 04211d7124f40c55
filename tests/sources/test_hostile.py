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
from posviz.sources import layouts
from posviz.sources.formats.tensors import Entry, brief, excerpt
from posviz.sources.looks import tensor_sign
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
