"""The sum that enters the first layer is the model's own, for every layout that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from posviz.errors import ModelError, PosvizError
from posviz.model.embedding import angles, cosines, parts, swapped
from posviz.model.opening import open_weights


def typed(made, count=9, seed=4):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(5, made.vocabulary_size, count).tolist()
    second = 1 if made.n_segments == 2 else 0
    return tokens, [0] * (count // 2) + [second] * (count - count // 2)


def test_the_sum_is_the_models_own(made):
    tokens, segments = typed(made)
    found, seen = parts(open_weights(made.ref), tokens, segments), made.run(tokens, segments)
    # Both in float64 from the same float32 weights; the reach is 1e-6.
    np.testing.assert_allclose(found.total, seen.summed, atol=1e-12)
    assert (found.segment is not None) == (made.n_segments > 0)
    if seen.normed is None:
        assert found.normed is None
    else:
        np.testing.assert_allclose(found.normed, seen.normed, atol=1e-9)


@pytest.mark.parametrize("kind", ["gpt2", "bert", "roberta", "minilm"])
def test_the_sum_is_what_transformers_gives_out(make, kind):
    """In its own float32, through its own interface."""
    import torch
    from transformers import AutoModel

    made = make(kind)
    tokens, segments = typed(made)
    model = AutoModel.from_pretrained(made.ref, attn_implementation="eager").eval()
    with torch.no_grad():
        if kind == "gpt2":
            out = model(torch.tensor([tokens]), output_hidden_states=True)
        else:
            out = model(torch.tensor([tokens]), token_type_ids=torch.tensor([segments]),
                        output_hidden_states=True)  # fmt: skip
    found = parts(open_weights(made.ref), tokens, segments)
    ours = found.total if kind == "gpt2" else found.normed
    np.testing.assert_allclose(ours, out.hidden_states[0][0], atol=1e-6, rtol=1e-6)


def test_norms_and_cosines_are_those_of_the_rows(made):
    tokens, segments = typed(made)
    found = parts(open_weights(made.ref), tokens, segments)
    token, position = found.rows["token"], found.rows["position"]
    np.testing.assert_allclose(found.norms("token"), np.linalg.norm(token, axis=1))
    dots = (token * position).sum(axis=1)
    lengths = np.linalg.norm(token, axis=1) * np.linalg.norm(position, axis=1)
    np.testing.assert_allclose(found.cosines("token", "position"), dots / lengths, atol=1e-12)
    np.testing.assert_allclose(angles(found.cosines("sum", "sum")), 0, atol=1e-5)


def test_two_words_change_places_and_their_positions_stay(make):
    weights = open_weights(make("bert").ref)
    tokens = [7, 8, 9, 10, 11]
    before, after = parts(weights, tokens), parts(weights, swapped(tokens, 1, 3))
    assert swapped(tokens, 1, 3) == [7, 10, 9, 8, 11]
    np.testing.assert_array_equal(before.position, after.position)
    np.testing.assert_array_equal(before.token[[0, 3, 2, 1, 4]], after.token)
    np.testing.assert_array_equal(before.total[[0, 2, 4]], after.total[[0, 2, 4]])
    assert np.abs(before.total[[1, 3]] - after.total[[1, 3]]).max() > 0.1


def test_a_moved_text_keeps_its_tokens_and_takes_other_rows(make):
    weights = open_weights(make("gpt2").ref)
    found = parts(weights, [7, 8, 9], start=5)
    np.testing.assert_array_equal(found.position, weights.table.weights[5:8])
    np.testing.assert_array_equal(found.token, parts(weights, [7, 8, 9]).token)
    np.testing.assert_array_equal(
        parts(weights, [7], start=23).position, weights.table.weights[23:]
    )


def test_positions_are_counted_as_the_model_counts_them(make):
    roberta = open_weights(make("roberta").ref)
    assert roberta.table.row_offset == 2
    np.testing.assert_array_equal(parts(roberta, [7]).position[0], roberta.table.raw[2])


def test_an_angle_of_a_cosine_is_in_degrees():
    np.testing.assert_allclose(angles(np.array([1.0, 0.0, -1.0, 0.5])), [0, 90, 180, 60])
    np.testing.assert_array_equal(cosines(np.zeros((1, 3)), np.ones((1, 3))), [0.0])


@pytest.mark.parametrize(
    ("tokens", "start", "sentence"),
    [
        ([], 0, "There is no token in the text. Type something, or take the example."),
        ([31], 0, "has 31 tokens, numbered from 0; 31 is none of them. Type other text, or "
                  "smaller numbers."),
        ([-1], 0, "-1 is none of them."),
        ([5] * 25, 0, "has a row for 24 positions, 0 to 23; 25 tokens from position 0 on need row "
                      "24. Type less, or move it less far."),
        ([5], 24, "1 tokens from position 24 on need row 24."),
        ([5], -1, "Type less, or move it less far."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_explained(make, tokens, start, sentence):
    with pytest.raises(ModelError) as refusal:
        parts(open_weights(make("gpt2").ref), tokens, start=start)
    assert sentence in str(refusal.value)


def test_only_the_rows_of_the_tokens_are_read(make):
    weights = open_weights(make("minilm").ref)
    before = weights.checkpoint.bytes_read
    found = parts(weights, [2000, 7, 2001, 7, 2000])
    # Three different tokens, one segment, gain and bias of the norm: rows of 384 numbers.
    assert weights.checkpoint.bytes_read - before == (3 + 1 + 2) * 384 * 4
    assert found.token.shape == (5, 384)


def test_a_model_of_width_alone_is_no_other_architecture(tmp_path, make):
    """Bare weights of another family may carry the same names and mean something else."""
    import json
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(make("bert").ref, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "roberta-prelayernorm"}))
    with pytest.raises(ModelError, match="a model of type roberta-prelayernorm adds up"):
        open_weights(str(folder))


@pytest.mark.parametrize("ref", ["sinusoidal:8x4", "random:8x4", "upload:x.npy", "run:no-such"])
def test_tables_without_a_model_say_so(ref):
    with pytest.raises(ModelError, match=r"Open .*\.$"):
        open_weights(ref)


def test_a_table_alone_says_what_is_missing(tmp_path):
    from safetensors.numpy import save_file

    rows = np.random.default_rng(0).normal(0, 0.02, (16, 8)).astype(np.float32)
    save_file({"transformer.wpe.weight": rows}, tmp_path / "m.safetensors")
    with pytest.raises(ModelError) as refusal:
        open_weights(str(tmp_path / "m.safetensors"))
    assert str(refusal.value) == (
        "m holds a position table but not all of what stands beside it in a model: there is no "
        "transformer.wte.weight in the file. Open the whole model."
    )


def test_a_run_opens_as_the_model_of_its_end(tmp_path, monkeypatch):
    import shutil

    from posviz.model.places import folder_of

    demo = Path(folder_of("demo:bert-mini"))
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path))
    shutil.copytree(demo, tmp_path / "mine")
    (tmp_path / "mine" / "history.safetensors").rename(tmp_path / "mine" / "snapshots.safetensors")
    ours, shipped = open_weights("run:mine"), open_weights("demo:bert-mini")
    np.testing.assert_array_equal(parts(ours, [5, 6]).total, parts(shipped, [5, 6]).total)
    assert ours.checkpoint.source == "run"


def test_every_refusal_is_one_of_ours(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(PosvizError):
        open_weights(str(tmp_path))
