"""Token and position subspaces: made models whose answer is known, and an independent way."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz.model import weights as weights_module
from posviz.model.opening import open_weights
from posviz.model.subspaces import DRAWS, token_space
from posviz.model.subspaces import subspaces as compare

D = 64
CONFIG = {"model_type": "gpt2", "n_head": 4, "n_embd": D, "n_positions": 40}


@pytest.fixture
def save(tmp_path):
    """A function (tokens, positions) that saves both as the tables of a GPT-2."""
    from safetensors.numpy import save_file

    def save(tokens: np.ndarray, positions: np.ndarray):
        width = positions.shape[1]
        arrays = {
            "wte.weight": tokens,
            "wpe.weight": positions,
            "h.0.attn.c_attn.weight": np.zeros((width, 3 * width)),
        }
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
        save_file(arrays, tmp_path / "model.safetensors")
        (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"n_embd": width}))
        return open_weights(str(tmp_path))

    return save


def subspaces(weights, *, k=8):
    return compare(token_space(weights), weights.table.weights, k=k)


def rows_in(first: int, last: int, count: int, seed: int) -> np.ndarray:
    """Random rows that use the dimensions from first to before last alone."""
    rows = np.zeros((count, D))
    rows[:, first:last] = np.random.default_rng(seed).normal(size=(count, last - first))
    return rows


def test_tables_in_different_dimensions_are_orthogonal(save):
    found = subspaces(save(rows_in(8, D, 300, 0), rows_in(0, 8, 40, 1)))
    np.testing.assert_allclose(found.angles, 90)
    assert found.overlap == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.projection[: D - 8], 0, atol=1e-12)
    assert found.dimensions <= 8
    assert found.token_share == 0


def test_tables_of_the_same_directions_overlap_wholly(save):
    space = rows_in(0, 8, 40, 1)
    found = subspaces(save(np.concatenate([space, space]), space))
    np.testing.assert_allclose(found.angles, 0, atol=1e-4)
    assert found.overlap == pytest.approx(1)
    assert found.null_overlap < 0.3
    assert found.token_share > 0.8


@pytest.fixture
def mixed(save, monkeypatch):
    """Random tables, and a token table of several strips."""
    monkeypatch.setattr(weights_module, "STRIP", 64)
    rng = np.random.default_rng(3)
    tokens, positions = rng.normal(0.1, 1, (300, D)), rng.normal(0, 0.5, (40, D))
    return save(tokens, positions), tokens.astype(np.float32), positions.astype(np.float32)


def test_all_numbers_agree_with_plain_singular_value_decompositions(mixed):
    from scipy.linalg import subspace_angles

    weights, tokens, positions = mixed
    found = subspaces(weights)
    directions = np.linalg.svd(tokens.astype(float), full_matrices=False)[2]
    space = np.linalg.svd(positions.astype(float), full_matrices=False)[2][: found.k]
    assert found.k == 8
    inside = np.einsum("ij,kj,kl,il->i", directions, space, space, directions)
    np.testing.assert_allclose(found.projection, inside, atol=1e-9)
    angles = np.degrees(subspace_angles(directions[: found.k].T, space.T))
    np.testing.assert_allclose(found.angles, np.sort(angles), atol=1e-6)
    # The mean projection of the leading directions is the overlap of both spaces.
    assert found.overlap == pytest.approx(inside[: found.k].mean())
    assert found.projection.sum() == pytest.approx(found.k)


def test_the_closest_pair_is_that_of_all_pairs(mixed):
    weights, tokens, positions = mixed
    found = token_space(weights)
    units = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    others = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    cosines = units @ others.T
    token, position = np.unravel_index(np.abs(cosines).argmax(), cosines.shape)
    assert (found.closest.token, found.closest.position) == (token, position)
    assert found.closest.cosine == pytest.approx(cosines[token, position], abs=1e-6)
    assert 0 < abs(found.null_closest.cosine) < 1


def test_a_random_table_lies_among_its_nulls(mixed):
    found = subspaces(mixed[0])
    assert found.null.shape == (DRAWS, D)
    assert found.overlap == pytest.approx(found.null_overlap, abs=0.08)
    assert found.null_overlap == pytest.approx(found.k / D, abs=0.03)
    assert found.null.mean() == pytest.approx(found.k / D)


def test_only_directions_that_the_tokens_have_are_projected(save):
    found = subspaces(save(rows_in(0, D, 20, 0), rows_in(0, D, 40, 1)))
    assert found.projection.shape == (20,)
    assert found.null.shape == (DRAWS, 20)


def test_it_tells_how_far_it_is_and_reads_the_table_once(mixed):
    weights, told = mixed[0], []
    before = weights.checkpoint.bytes_read
    token_space(weights, tell=told.append)
    assert told == pytest.approx([64 / 300, 128 / 300, 192 / 300, 256 / 300, 1.0])
    assert weights.checkpoint.bytes_read - before == 300 * D * 4


@pytest.mark.parametrize("positions", [np.zeros((40, D)), np.ones((2, D)), np.ones((40, D))])
def test_tables_without_structure_are_no_obstacle(save, positions):
    found = subspaces(save(rows_in(0, D, 100, 0), positions))
    assert np.isfinite(found.projection).all()
    assert 0 <= found.overlap <= 1


def test_of_a_long_table_some_rows_are_held_against_every_token(save, monkeypatch):
    from posviz.model import subspaces as module

    monkeypatch.setattr(module, "MOST_POSITIONS", 10)
    positions = rows_in(0, 8, 40, 1)
    tokens = positions[[36]]
    found = token_space(save(tokens, positions)).closest
    assert (found.token, found.position) == (0, 36)
    assert abs(found.cosine) == pytest.approx(1)


def test_rows_that_are_left_out_are_not_held_against_tokens(save):
    positions = rows_in(0, 8, 40, 1)
    weights = save(positions[[36]], positions)
    kept = np.delete(np.arange(40), 36)
    found = token_space(weights, kept).closest
    assert found.position in kept
    assert abs(found.cosine) < 0.99


def test_the_usual_directions_hold_most_of_the_positions(save):
    weights = save(rows_in(0, D, 100, 0), rows_in(0, 3, 40, 1) + 0.01 * rows_in(0, D, 40, 2))
    found = subspaces(weights, k=None)
    assert found.k == 3
    assert found.held > 0.95
    assert subspaces(weights, k=1).held < 0.95
    assert subspaces(weights, k=999).k == D // 2


def test_the_real_minilm_keeps_them_apart(make):
    found = subspaces(open_weights(make("minilm").ref), k=30)
    assert found.projection.sum() == pytest.approx(found.k)
    # Positions live where tokens hardly go: in the last directions of their table.
    assert found.projection[-10:].mean() > 0.9
    assert found.projection[:100].mean() < found.k / 384
    assert found.overlap < found.null_overlap
