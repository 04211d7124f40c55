"""Sums over pairs of positions: by blocks, by Fourier, of shuffled rows."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.metrics import METRICS
from posviz.analysis.pairs import (
    sums_by_blocks,
    sums_by_fourier,
    sums_of_shuffles,
    unit_rows,
)
from posviz.analysis.references import random_normal
from posviz.analysis.similarity import cosine_sums


@pytest.mark.parametrize("shape", [(3, 4), (64, 64), (70, 9), (9, 70), (600, 24)])
@pytest.mark.parametrize("centred", [True, False])
def test_the_fourier_route_is_the_direct_sum(shape: tuple[int, int], centred: bool) -> None:
    rows = unit_rows(random_normal(*shape), centred=centred)
    by_blocks = sums_by_blocks(rows, METRICS["cosine"].compare)
    by_fourier = sums_by_fourier(rows)
    np.testing.assert_allclose(by_fourier.totals, by_blocks.totals, atol=1e-5)
    assert by_fourier.squared_pairs == pytest.approx(by_blocks.squared_pairs, rel=1e-5)
    assert by_fourier.toeplitz_share() == pytest.approx(by_blocks.toeplitz_share(), abs=1e-5)


def test_gpt2_by_fourier_is_gpt2_by_pairs(gpt2_like_weights: np.ndarray) -> None:
    for centred in (True, False):
        direct_sums = cosine_sums(gpt2_like_weights, centred=centred)
        fourier = cosine_sums(gpt2_like_weights, centred=centred, every_pair=0)
        assert fourier.toeplitz_share() == pytest.approx(direct_sums.toeplitz_share(), abs=1e-7)
        np.testing.assert_allclose(
            fourier.totals / fourier.counts, direct_sums.totals / direct_sums.counts, atol=1e-6
        )


@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (30, 6), (64, 64)])
@pytest.mark.parametrize("centred", [True, False])
def test_the_sums_of_shuffles_are_those_of_the_shuffled_rows(
    shape: tuple[int, int], centred: bool, rng: np.random.Generator
) -> None:
    weights = random_normal(*shape)
    weights[0] = 0
    orders = [rng.permutation(shape[0]) for _ in range(3)]
    rows = unit_rows(weights, centred=centred)
    for order, (found,) in zip(orders, sums_of_shuffles([rows], orders, low=True), strict=True):
        direct_sums = sums_by_blocks(rows[order], METRICS["cosine"].compare)
        np.testing.assert_allclose(found.totals, direct_sums.totals, atol=1e-5)
        assert found.squared_pairs == pytest.approx(direct_sums.squared_pairs, rel=1e-5, abs=1e-9)
        if shape[0] > 2:
            assert found.low == pytest.approx(direct_sums.low, abs=1e-6)
            assert found.toeplitz_share() == pytest.approx(direct_sums.toeplitz_share(), abs=1e-5)


def test_unit_rows_have_length_one_or_are_zero(awkward: np.ndarray) -> None:
    for centred in (True, False):
        lengths = np.linalg.norm(unit_rows(awkward, centred=centred).astype(np.float64), axis=1)
        np.testing.assert_allclose(lengths, np.where(lengths > 0.5, 1.0, 0.0), atol=1e-6)
