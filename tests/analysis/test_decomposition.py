from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posviz.analysis import decomposition as decomposition_module
from posviz.analysis.decomposition import (
    RESOLUTION,
    components_for,
    decompose,
    effective_rank,
    spectrum,
    variance_ratio,
)
from posviz.analysis.references import random_normal, sinusoidal

SHAPES = [(40, 12), (12, 40), (16, 16), (2, 8), (30, 2)]

small_tables = arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    elements=st.floats(-8, 8, width=16),
)


def table_of(shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(1.0, 2.0, shape).astype(np.float32)


def circle() -> np.ndarray:
    """64 points on a unit circle in a plane of 16 dimensions."""
    plane = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 2)))[0]
    angle = 2 * np.pi * np.arange(64) / 64
    return (np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane.T).astype(np.float32)


# Identities


@given(small_tables)
@settings(max_examples=60)
def test_all_components_give_the_table_back(weights: np.ndarray) -> None:
    for centred in (True, False):
        decomposition = decompose(weights, centred=centred)
        rebuilt = decomposition.reconstruct(min(weights.shape))
        # What lies below the resolution is dropped: at most 6e-8 of the largest singular value.
        bound = 20 * RESOLUTION * (decomposition.singular_values.max() + np.abs(weights).max())
        assert np.abs(rebuilt - weights).max() <= bound


@given(small_tables, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_shuffling_rows_keeps_the_spectrum(weights: np.ndarray, seed: int) -> None:
    before = spectrum(weights)
    after = spectrum(np.random.default_rng(seed).permutation(weights))
    np.testing.assert_allclose(after, before, atol=1e-7 * max(before[0], 1e-30))


def test_rotating_the_dimensions_keeps_the_spectrum(rng: np.random.Generator) -> None:
    weights = table_of((30, 20)).astype(np.float64)
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    np.testing.assert_allclose(spectrum(weights @ rotation), spectrum(weights), rtol=1e-9)


def test_scaling_keeps_shares_and_ranks() -> None:
    weights = table_of((30, 20)).astype(np.float64)
    small, large = decompose(weights * 1e-6), decompose(weights * 1e6)
    assert small.explained_variance_ratio is not None
    assert large.explained_variance_ratio is not None
    np.testing.assert_allclose(
        small.explained_variance_ratio, large.explained_variance_ratio, rtol=1e-9
    )
    first = vars(effective_rank(small.singular_values))
    second = vars(effective_rank(large.singular_values))
    assert first == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_axes_are_orthonormal_and_scores_carry_the_singular_values(shape: tuple[int, int]) -> None:
    decomposition = decompose(table_of(shape))
    rank = decomposition.rank
    axes, scores = decomposition.axes[:rank], decomposition.scores(rank)
    np.testing.assert_allclose(axes @ axes.T, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(
        scores.T @ scores, np.diag(decomposition.singular_values[:rank] ** 2), atol=1e-6
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_loading_of_every_axis_is_positive(shape: tuple[int, int]) -> None:
    for weights in (table_of(shape), -table_of(shape)):
        decomposition = decompose(weights)
        axes = decomposition.axes[: decomposition.rank]
        assert (axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] > 0).all()


def test_two_runs_give_the_same_bits() -> None:
    weights = random_normal(64, 16)
    np.testing.assert_array_equal(decompose(weights).scores(16), decompose(weights).scores(16))


def test_the_short_route_gives_the_same_spectrum() -> None:
    for shape in SHAPES:
        decomposition = decompose(table_of(shape))
        np.testing.assert_allclose(
            spectrum(table_of(shape)),
            decomposition.singular_values,
            atol=1e-9 * decomposition.singular_values[0],
        )


def test_strips_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = table_of((40, 12))
    whole = spectrum(weights)
    monkeypatch.setattr(decomposition_module, "STRIP", 7)
    np.testing.assert_allclose(spectrum(weights), whole, rtol=1e-9)


# Independent truth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("centred", [True, False])
def test_the_spectrum_is_that_of_a_singular_value_decomposition(
    shape: tuple[int, int], centred: bool
) -> None:
    weights = table_of(shape).astype(np.float64)
    table = weights - weights.mean(axis=0) if centred else weights
    expected = np.linalg.svd(table, compute_uv=False)
    decomposition = decompose(weights, centred=centred)
    np.testing.assert_allclose(
        decomposition.singular_values, expected, atol=RESOLUTION * expected[0]
    )
    share = expected**2 / (expected**2).sum()
    assert decomposition.explained_variance_ratio is not None
    np.testing.assert_allclose(decomposition.explained_variance_ratio, share, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_pca_is_that_of_scikit_learn(shape: tuple[int, int]) -> None:
    from sklearn.decomposition import PCA

    weights = table_of(shape).astype(np.float64)
    decomposition = decompose(weights)
    rank = decomposition.rank
    reference = PCA(svd_solver="full").fit(weights)
    scores = reference.transform(weights)[:, :rank]
    flips = np.sign((reference.components_[:rank] * decomposition.axes[:rank]).sum(axis=1))
    np.testing.assert_allclose(decomposition.scores(rank), scores * flips, atol=1e-8)


def test_gpt2_agrees_with_a_float64_decomposition(gpt2_like_weights: np.ndarray) -> None:
    wide = gpt2_like_weights.astype(np.float64)
    expected = np.linalg.svd(wide - wide.mean(axis=0), compute_uv=False)
    decomposition = decompose(gpt2_like_weights)
    assert decomposition.explained_variance_ratio is not None
    np.testing.assert_allclose(
        decomposition.explained_variance_ratio, expected**2 / (expected**2).sum(), atol=1e-6
    )
    ours = vars(effective_rank(decomposition.singular_values))
    assert ours == pytest.approx(vars(effective_rank(expected)), abs=1e-6)


def test_a_circle_has_two_equal_components() -> None:
    decomposition = decompose(circle())
    assert decomposition.explained_variance_ratio is not None
    np.testing.assert_allclose(decomposition.explained_variance_ratio[:3], [0.5, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(decomposition.singular_values[:2], [5.656854, 5.656854], atol=1e-6)
    assert decomposition.singular_values[2] < 1e-6
    radius = np.hypot(*decomposition.scores(2).T)
    np.testing.assert_allclose(radius, 1, atol=1e-6)


# Effective ranks, by hand


def test_equal_values_have_every_effective_rank_equal_to_their_number() -> None:
    assert vars(effective_rank(np.full(7, 3.0))) == pytest.approx(
        dict.fromkeys(("singular_entropy", "variance_entropy", "participation", "stable"), 7.0)
    )


def test_effective_ranks_of_two_values_by_hand() -> None:
    ranks = effective_rank(np.array([2.0, 1.0]))
    assert ranks.stable == pytest.approx(5 / 4)
    assert ranks.participation == pytest.approx(25 / 17)
    assert ranks.singular_entropy == pytest.approx(3 / 2 ** (2 / 3))
    assert ranks.variance_entropy == pytest.approx(5 / 4 ** (4 / 5))


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1e3)))
def test_effective_ranks_lie_between_one_and_the_rank(values: np.ndarray) -> None:
    ranks = effective_rank(values)
    if not values.any():
        assert set(vars(ranks).values()) == {None}
        return
    rank = np.count_nonzero(values)
    for value in vars(ranks).values():
        assert 1 - 1e-9 <= value <= rank + 1e-9
    # Rényi entropies fall with their order: 1, 2, infinity.
    assert ranks.variance_entropy >= ranks.participation - 1e-9
    assert ranks.participation >= ranks.stable - 1e-9


def test_components_are_the_fewest_that_reach_the_share() -> None:
    ratio = np.array([0.5, 0.3, 0.2, 0.0])
    shares = (0.0, 0.5, 0.51, 0.8, 1.0)
    assert [components_for(ratio, share) for share in shares] == [1, 1, 2, 2, 3]
    assert components_for(None, 0.9) is None


# Awkward tables


def test_awkward_tables_give_finite_numbers(awkward: np.ndarray) -> None:
    for centred in (True, False):
        decomposition = decompose(awkward, centred=centred)
        k = min(awkward.shape)
        assert decomposition.singular_values.shape == (k,)
        assert np.isfinite(decomposition.singular_values).all()
        assert np.isfinite(decomposition.scores(k)).all()
        assert decomposition.axes.shape == (k, awkward.shape[1])
        ratio = decomposition.explained_variance_ratio
        assert ratio is None or ratio.sum() == pytest.approx(1)
        assert (ratio is None) == (decomposition.rank == 0)


@pytest.mark.parametrize("weights", [np.ones((16, 8)), np.full((9, 4), 0.1), np.ones((1, 8))])
def test_rows_that_are_all_the_same_have_no_shares(weights: np.ndarray) -> None:
    decomposition = decompose(weights.astype(np.float32))
    assert not decomposition.singular_values.any()
    assert decomposition.explained_variance_ratio is None
    assert decomposition.components_for(0.9) is None
    assert variance_ratio(decomposition.singular_values) is None


def test_two_rows_have_one_component() -> None:
    decomposition = decompose(table_of((2, 8)))
    assert decomposition.explained_variance_ratio is not None
    np.testing.assert_array_equal(decomposition.explained_variance_ratio, [1.0, 0.0])
    assert decomposition.components_for(0.99) == 1
    np.testing.assert_array_equal(decomposition.axes[1], np.zeros(8))


def test_more_components_than_there_are_may_be_asked_for() -> None:
    assert decompose(table_of((2, 8))).scores(3).shape == (2, 2)


def test_centred_rank_is_at_most_one_less_than_the_rows() -> None:
    assert decompose(random_normal(12, 12)).rank == 11
    assert decompose(random_normal(12, 40)).rank == 11
    assert decompose(random_normal(12, 40), centred=False).rank == 12


def test_a_sinusoidal_table_is_not_low_dimensional() -> None:
    assert decompose(sinusoidal(512, 768)).components_for(0.95) == 111
