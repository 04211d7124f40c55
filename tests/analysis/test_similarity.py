from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posviz.analysis import pairs
from posviz.analysis import similarity as similarity_module
from posviz.analysis.metrics import METRICS
from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.similarity import (
    adjacent,
    cosine_sums,
    offset_profile,
    pooled_similarity,
    similarity,
    toeplitz_share,
)
from posviz.errors import SettingError

every_metric = pytest.mark.parametrize("metric", METRICS)
small_tables = arrays(
    np.float32,
    st.tuples(st.integers(1, 14), st.integers(1, 6)),
    elements=st.floats(-8, 8, width=16),
)


def direct(weights: np.ndarray, metric: str) -> np.ndarray:
    """Each formula written out in float64, pair by pair."""
    rows = weights.astype(np.float64)
    if METRICS[metric].centred:
        rows = rows - rows.mean(axis=0)
    if metric == "euclidean":
        return np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    dots = (rows[:, None] * rows[None]).sum(axis=-1)
    if metric == "dot":
        return dots
    norms = np.linalg.norm(rows, axis=1)
    return dots / np.outer(norms, norms)


def toeplitz_directly(cosines: np.ndarray) -> float:
    n_rows = len(cosines)
    offset = np.abs(np.arange(n_rows)[:, None] - np.arange(n_rows))
    means = np.array([np.diag(cosines, k).mean() for k in range(n_rows)])
    off = offset > 0
    rest = ((cosines - means[offset])[off] ** 2).sum()
    return 1 - rest / ((cosines[off] - cosines[off].mean()) ** 2).sum()


# All pairs


@every_metric
@given(weights=small_tables)
@settings(max_examples=40)
def test_similarity_is_exactly_symmetric(metric: str, weights: np.ndarray) -> None:
    values = similarity(weights, metric)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, values.T)


@every_metric
def test_similarity_is_the_formula(metric: str) -> None:
    weights = random_normal(40, 12, seed=1)
    expected = direct(weights, metric)
    np.testing.assert_allclose(
        similarity(weights, metric), expected, atol=2e-6 * np.abs(expected).max()
    )


@every_metric
def test_permuting_rows_permutes_pairs(metric: str, rng: np.random.Generator) -> None:
    weights, order = random_normal(20, 8), rng.permutation(20)
    scale = np.abs(similarity(weights, metric)).max()
    np.testing.assert_allclose(
        similarity(weights[order], metric),
        similarity(weights, metric)[np.ix_(order, order)],
        atol=1e-6 * scale,
    )


@pytest.mark.parametrize("metric", ["cosine", "cosine-centred"])
def test_cosines_do_not_change_with_scale(metric: str) -> None:
    weights = random_normal(20, 8)
    np.testing.assert_allclose(
        similarity(weights * 1e10, metric), similarity(weights, metric), atol=1e-6
    )


def test_cosines_are_inside_their_limits_with_an_exact_diagonal() -> None:
    weights = np.random.default_rng(0).normal(size=(512, 768)).astype(np.float32)
    values = similarity(weights)
    assert values.max() <= 1
    np.testing.assert_array_equal(np.diag(values), 1)
    assert np.isfinite(np.arccos(values)).all()


def test_cosines_are_those_of_scikit_learn(gpt2_like_weights: np.ndarray) -> None:
    from sklearn.metrics.pairwise import cosine_similarity

    expected = cosine_similarity(gpt2_like_weights.astype(np.float64))
    np.testing.assert_allclose(similarity(gpt2_like_weights), expected, atol=2e-6)


def test_a_zero_row_has_cosine_zero_and_harms_no_other() -> None:
    weights = random_normal(512, 768)
    weights[1] = 0
    values = similarity(weights)
    assert np.isfinite(values).all()
    assert not values[1].any()
    assert not values[:, 1].any()
    np.testing.assert_array_equal(np.delete(np.diag(values), 1), 1)


def test_equal_rows_have_cosine_one_and_no_centred_cosine() -> None:
    weights = np.ones((16, 8), dtype=np.float32)
    np.testing.assert_allclose(similarity(weights), 1, atol=2e-7)
    np.testing.assert_array_equal(similarity(weights, "cosine-centred"), 0)


@every_metric
def test_awkward_tables_have_finite_pairs(awkward: np.ndarray, metric: str) -> None:
    values = similarity(awkward, metric)
    assert np.isfinite(values).all()
    low, high = METRICS[metric].limits
    assert low is None or values.min() >= low
    assert high is None or values.max() <= high


def test_an_unknown_similarity_is_refused_with_the_choices() -> None:
    with pytest.raises(SettingError) as refusal:
        similarity(np.ones((2, 2)), "angle")
    assert str(refusal.value) == (
        "There is no similarity named “angle”. Choose one of cosine, cosine-centred, dot, "
        "euclidean."
    )


# Averaged over blocks


@every_metric
@pytest.mark.parametrize("side", [7, 8, 30, 31, 64])
def test_pooling_is_the_mean_over_blocks_of_pairs(metric: str, side: int) -> None:
    weights = random_normal(61, 10)
    pooled = pooled_similarity(weights, metric, side)
    assert len(pooled.values) <= side
    starts = np.arange(0, 61, pooled.factor)
    sizes = np.diff([*starts, 61])
    full = direct(weights, metric)
    blocks = np.add.reduceat(np.add.reduceat(full, starts, axis=0), starts, axis=1)
    expected = blocks / np.outer(sizes, sizes)
    np.testing.assert_allclose(pooled.values, expected, atol=2e-6 * np.abs(full).max())
    np.testing.assert_array_equal(pooled.values, pooled.values.T)
    assert (pooled.low, pooled.high) == (pooled.values.min(), pooled.values.max())


def test_distances_of_long_tables_are_the_same_but_for_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights = np.cumsum(random_normal(300, 5), axis=0) + 9
    picture = pooled_similarity(weights, "euclidean", 64)
    profile = offset_profile(weights, "euclidean")
    monkeypatch.setattr(similarity_module, "LONG", 100)
    monkeypatch.setattr(similarity_module, "BLOCK", 40)
    quick = pooled_similarity(weights, "euclidean", 64)
    np.testing.assert_array_equal(quick.values, quick.values.T)
    np.testing.assert_allclose(quick.values, picture.values, atol=1e-3 * picture.high)
    found = offset_profile(weights, "euclidean")
    np.testing.assert_allclose(found.mean, profile.mean, atol=1e-3 * picture.high)
    assert found.std is not None
    assert profile.std is not None
    np.testing.assert_allclose(found.std, profile.std, atol=1e-3 * picture.high)


@every_metric
def test_a_picture_that_fits_shows_every_pair(metric: str) -> None:
    weights = random_normal(30, 5)
    pooled = pooled_similarity(weights, metric, 30)
    assert pooled.factor == 1
    np.testing.assert_array_equal(pooled.values, similarity(weights, metric))


def test_a_long_table_gives_a_picture_that_can_be_sent() -> None:
    pooled = pooled_similarity(random_normal(4098, 64), side=1024)
    assert pooled.factor == 5
    assert pooled.values.shape == (820, 820)


@every_metric
def test_awkward_tables_have_finite_pictures(awkward: np.ndarray, metric: str) -> None:
    assert np.isfinite(pooled_similarity(awkward, metric, 3).values).all()


# By offset


@every_metric
def test_the_offset_profile_is_mean_and_spread_of_the_diagonals(metric: str) -> None:
    weights = random_normal(50, 12)
    profile = offset_profile(weights, metric)
    full = direct(weights, metric)
    scale = np.abs(full).max()
    mean = [np.diag(full, k).mean() for k in range(50)]
    std = [np.diag(full, k).std() for k in range(50)]
    np.testing.assert_allclose(profile.mean, mean, atol=2e-6 * scale)
    assert profile.std is not None
    np.testing.assert_allclose(profile.std, std, atol=2e-6 * scale)


@every_metric
def test_neighbours_are_the_first_diagonal_of_all_pairs(metric: str) -> None:
    weights = random_normal(40, 12)
    found, expected = adjacent(weights, metric), np.diag(direct(weights, metric), 1)
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


@every_metric
def test_awkward_tables_have_finite_neighbours(awkward: np.ndarray, metric: str) -> None:
    found = adjacent(awkward, metric)
    assert found.shape == (len(awkward) - 1,)
    assert np.isfinite(found).all()


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = random_normal(50, 12)
    whole = cosine_sums(weights)
    monkeypatch.setattr(pairs, "BLOCK", 7)
    parts = cosine_sums(weights)
    np.testing.assert_allclose(parts.totals, whole.totals, atol=1e-5)
    np.testing.assert_allclose(parts.squares, whole.squares, atol=1e-5)
    assert parts.low == pytest.approx(whole.low, abs=1e-6)


def test_sinusoidal_cosines_have_no_spread() -> None:
    profile = offset_profile(sinusoidal(128, 64))
    assert profile.std is not None
    assert profile.std.max() < 1e-6


# Toeplitz share


@pytest.mark.parametrize("centred", [True, False])
def test_the_toeplitz_share_is_its_definition(centred: bool) -> None:
    walk = np.cumsum(np.random.default_rng(3).normal(size=(60, 5)), axis=0).astype(np.float32)
    metric = "cosine-centred" if centred else "cosine"
    expected = toeplitz_directly(direct(walk, metric))
    assert toeplitz_share(walk, centred=centred) == pytest.approx(expected, abs=1e-6)


def test_the_toeplitz_share_of_a_sinusoidal_table_is_one() -> None:
    assert toeplitz_share(sinusoidal(256, 128)) == pytest.approx(1, abs=1e-9)


def test_reading_backwards_keeps_the_toeplitz_share() -> None:
    walk = np.cumsum(np.random.default_rng(4).normal(size=(40, 3)), axis=0)
    assert toeplitz_share(walk[::-1]) == pytest.approx(toeplitz_share(walk), abs=1e-6)


def test_where_all_cosines_agree_there_is_nothing_to_explain() -> None:
    assert toeplitz_share(np.ones((16, 8))) is None
    assert toeplitz_share(np.ones((1, 8))) is None
    assert toeplitz_share(random_normal(2, 8)) is None


def test_awkward_tables_have_a_share_or_none(awkward: np.ndarray) -> None:
    for centred in (True, False):
        share = toeplitz_share(awkward, centred=centred)
        assert share is None or 0 <= share <= 1
    profile = offset_profile(awkward)
    assert np.isfinite(profile.mean).all()
    assert profile.std is not None
    assert np.isfinite(profile.std).all()
