"""Scores in parts add up to the model's own; the pattern of position alone is a real model's."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.similarity import offset_profile, similarity, toeplitz_share
from posviz.errors import ModelError
from posviz.model.attention import (
    PARTS,
    attention,
    by_offset,
    concentration,
    position_inputs,
    position_scores,
    split_scores,
)
from posviz.model.embedding import parts
from posviz.model.opening import open_weights


def typed(made, count=9, seed=4):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(5, made.vocabulary_size, count).tolist()
    second = 1 if made.n_segments == 2 else 0
    return tokens, [0] * (count // 2) + [second] * (count - count // 2)


def visible(weights, count):
    return np.tri(count, dtype=bool) if weights.is_causal else np.ones((count, count), bool)


def about_rows(scores, seen):
    """Without what is the same along a row, which no softmax sees."""
    return np.where(seen, scores - scores.mean(axis=1, where=seen, keepdims=True), 0)


def test_the_parts_add_up_to_the_score_of_the_model(made):
    """What went into the model's own softmax; the reach is 1e-4 of it, found is rounding."""
    weights = open_weights(made.ref)
    tokens, segments = typed(made)
    text, seen = parts(weights, tokens, segments), made.run(tokens, segments)
    mask = visible(weights, len(tokens))
    assert seen.scores.shape[:2] == (weights.n_layers, weights.n_heads)
    for number in range(weights.n_heads):
        found = split_scores(text, weights.head(0, number), causal=weights.is_causal)
        assert found.parts.keys() <= PARTS.keys()
        assert ("segment" in found.parts) == (made.n_segments > 0)
        own = seen.scores[0, number]
        np.testing.assert_allclose(
            found.total[mask], own[mask], rtol=made.rounding, atol=made.rounding
        )
        largest = np.abs(own[mask]).max()
        assert np.abs(found.total - own)[mask].max() <= 1e-4 * largest


def test_the_pattern_of_position_alone_is_the_models_without_token_rows(made):
    weights = open_weights(made.ref)
    count = min(made.n_positions, 24)
    tokens, segments = typed(made, count)
    seen = made.run(tokens, segments, silent=("tokens",))
    mask = visible(weights, count)
    inputs = position_inputs(weights, 0, weights.table.weights[:count])
    for number in range(weights.n_heads):
        scores = position_scores(inputs, weights.head(0, number))
        own = seen.scores[0, number]
        np.testing.assert_allclose(
            about_rows(scores, mask), about_rows(np.where(mask, own, 0), mask), atol=made.rounding
        )
        pattern = attention(scores, causal=weights.is_causal)
        np.testing.assert_allclose(pattern.sum(axis=1), 1)
        np.testing.assert_allclose(
            pattern, attention(np.where(mask, own, 0), causal=weights.is_causal), atol=made.rounding
        )


def test_in_later_layers_it_is_that_of_a_model_whose_blocks_add_nothing(made):
    weights = open_weights(made.ref)
    count = min(made.n_positions, 24)
    seen = made.run(*typed(made, count), silent=("tokens", "blocks"))
    mask = visible(weights, count)
    layer = weights.n_layers - 1
    inputs = position_inputs(weights, layer, weights.table.weights[:count])
    scores = position_scores(inputs, weights.head(layer, 1))
    own = np.where(mask, seen.scores[layer, 1], 0)
    np.testing.assert_allclose(about_rows(scores, mask), about_rows(own, mask), atol=made.rounding)


def test_one_head_is_that_head_of_all(made):
    weights = open_weights(made.ref)
    for one, head in enumerate(weights.heads(1)):
        alone = weights.head(1, one)
        for name in ("query", "key", "query_bias", "key_bias"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(head, name))
        assert alone.scale == head.scale


def test_only_the_head_that_is_looked_at_is_read(make):
    weights = open_weights(make("minilm").ref)
    before = weights.checkpoint.bytes_read
    weights.head(3, 5)
    # 32 outputs of 384 inputs each and their biases, of query and of key.
    assert weights.checkpoint.bytes_read - before == 2 * (32 * 384 + 32) * 4


def test_shares_add_up_and_follow_what_varies(make):
    weights = open_weights(make("bert").ref)
    tokens, segments = typed(make("bert"))
    found = split_scores(parts(weights, tokens, segments), weights.head(0, 0), causal=False)
    shares = found.shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares.keys() == found.parts.keys()
    same = split_scores(parts(weights, [7, 7, 7]), weights.head(0, 0), causal=False).shares()
    # One token repeated: nothing but position varies from key to key. Each divides its sum by
    # another number, so what is the same in all still varies a little.
    assert same["token-position"] + same["position-position"] > 0.5


def test_nothing_varies_in_a_text_of_one_token(make):
    weights = open_weights(make("gpt2").ref)
    assert split_scores(parts(weights, [7]), weights.head(0, 0), causal=True).shares() is None


@pytest.mark.parametrize("causal", [True, False])
def test_diagonals_of_a_matrix_by_hand(causal):
    matrix = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 12]])
    found = by_offset(matrix, causal=causal)
    offsets = [-2, -1, 0] if causal else [-2, -1, 0, 1, 2]
    np.testing.assert_array_equal(found.offsets, offsets)
    np.testing.assert_allclose(found.mean, [7, 6, 6, 4, 3][: len(offsets)])
    np.testing.assert_allclose(found.std, [0, 2, np.std([1, 5, 12]), 2, 0][: len(offsets)])
    assert found.at(-1) == 6
    assert found.at(9) == 0
    lower = np.array([4.0, 8, 7])
    spread = ((lower - lower.mean()) ** 2).sum()
    expected = 1 - (2**2 + 2**2) / spread
    if not causal:
        every = np.array([4.0, 8, 7, 2, 6, 3])
        expected = 1 - (8 + 8) / ((every - every.mean()) ** 2).sum()
    assert found.explained == pytest.approx(expected)


def test_of_a_symmetric_matrix_the_diagonals_are_those_of_the_similarity_page(rng_rows):
    cosines = similarity(rng_rows).astype(np.float64)
    found, known = by_offset(cosines, causal=True), offset_profile(rng_rows)
    np.testing.assert_allclose(found.mean[::-1], known.mean, atol=1e-6)
    np.testing.assert_allclose(found.std[::-1][1:], known.std[1:], atol=1e-6)
    share = toeplitz_share(rng_rows)
    assert found.explained == pytest.approx(share, abs=1e-6)
    assert by_offset(cosines, causal=False).explained == pytest.approx(share, abs=1e-6)


@pytest.fixture
def rng_rows():
    return np.random.default_rng(2).normal(size=(40, 6)).astype(np.float32)


def test_a_matrix_of_offsets_is_wholly_explained():
    place = np.arange(30.0)
    matrix = np.sin(place[None, :] - place[:, None])
    assert by_offset(matrix, causal=False).explained == pytest.approx(1)
    assert by_offset(matrix, causal=True).explained == pytest.approx(1)
    assert by_offset(np.zeros((4, 4)), causal=False).explained is None


def test_concentration_is_0_for_even_and_1_for_single_attention():
    assert concentration(np.full((8, 8), 1 / 8), causal=False) == pytest.approx(0)
    assert concentration(np.eye(8), causal=False) == 1
    assert concentration(attention(np.zeros((8, 8)), causal=True), causal=True) == pytest.approx(0)
    half = np.zeros((4, 4))
    half[:, :2] = 0.5
    assert concentration(half, causal=False) == pytest.approx(1 - np.log(2) / np.log(4))
    assert concentration(np.ones((1, 1)), causal=True) == 0


def test_attention_is_torchs_own_softmax():
    import torch

    scores = 50 * np.random.default_rng(0).normal(size=(6, 6))
    own = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
    np.testing.assert_allclose(attention(scores, causal=False), own, atol=1e-12)
    masked = torch.from_numpy(np.where(np.tri(6, dtype=bool), scores, -np.inf))
    own = torch.softmax(masked, dim=-1).numpy()
    np.testing.assert_allclose(attention(scores, causal=True), own, atol=1e-12)


@pytest.mark.parametrize(("layer", "number"), [(3, 0), (0, 3), (-1, 0), (0, -1)])
def test_heads_that_are_not_there_are_explained(make, layer, number):
    with pytest.raises(ModelError) as refusal:
        open_weights(make("bert").ref).head(layer, number)
    assert f"has layers 0 to 2 with heads 0 to 2; layer {layer}, head {number}" in str(
        refusal.value
    )


def test_without_a_count_of_heads_the_rest_is_shown(tmp_path, make):
    import torch

    content = torch.load(make("nanogpt").ref, weights_only=True)
    torch.save({"model": content["model"]}, tmp_path / "bare.pt")
    weights = open_weights(str(tmp_path / "bare.pt"))
    assert parts(weights, [7, 8]).total.shape == (2, 24)
    with pytest.raises(ModelError, match="does not say how many attention heads it has"):
        weights.heads(0)


def saved_with(tmp_path, make, kind, **changes):
    """A copy of a small model, its config changed."""
    import json
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(make(kind).ref, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return open_weights(str(folder))


def test_layers_that_see_a_window_only_are_left_out(tmp_path, make):
    assert open_weights(make("gpt_neo").ref).n_layers == 3
    kinds = ["global", "local", "global"]
    assert saved_with(tmp_path, make, "gpt_neo", attention_layers=kinds).n_layers == 1


def test_positions_inside_attention_are_not_passed_over(tmp_path, make):
    weights = saved_with(tmp_path, make, "bert", position_embedding_type="relative_key")
    assert weights.no_attention.startswith(
        "copy also adds positions inside its attention (relative_key), which is not split here."
    )
    assert parts(weights, [7]).total.shape == (1, 24)


def test_a_sum_that_changes_its_width_is_shown_and_its_attention_explained(tmp_path):
    """ELECTRA's small models look tokens up in a narrower table and widen the sum."""
    import transformers

    config = transformers.ElectraConfig(
        vocab_size=31, embedding_size=16, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=32, max_position_embeddings=24,
    )  # fmt: skip
    transformers.ElectraModel(config).save_pretrained(tmp_path)
    weights = open_weights(str(tmp_path))
    assert parts(weights, [7, 8]).total.shape == (2, 16)
    with pytest.raises(ModelError, match="changes the width of the sum before its attention"):
        weights.heads(0)


def test_of_albert_the_sum_is_known(tmp_path):
    import torch
    import transformers

    config = transformers.AlbertConfig(
        vocab_size=31, embedding_size=16, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=32, max_position_embeddings=24,
    )  # fmt: skip
    model = transformers.AlbertModel(config).eval()
    model.save_pretrained(tmp_path)
    weights = open_weights(str(tmp_path))
    with torch.no_grad():
        own = model.embeddings(input_ids=torch.tensor([[7, 8, 9]]))[0]
    np.testing.assert_allclose(parts(weights, [7, 8, 9]).normed, own, atol=1e-6)
    with pytest.raises(ModelError, match="how its attention is stored is not known here"):
        weights.heads(0)
