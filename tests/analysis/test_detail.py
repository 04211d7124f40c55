"""A part of the picture of all pairs is that part of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis import detail
from posviz.analysis.detail import similarity_window
from posviz.analysis.metrics import METRICS
from posviz.analysis.references import random_normal
from posviz.analysis.similarity import similarity

every_metric = pytest.mark.parametrize("metric", METRICS)


@every_metric
def test_a_small_part_is_cut_out_of_all_pairs(metric: str) -> None:
    weights = random_normal(60, 9)
    found = similarity_window(weights, metric, (10, 29), (40, 59), 1024)
    assert found is not None
    values, factor = found
    whole = similarity(weights, metric)
    assert factor == 1
    np.testing.assert_allclose(values, whole[10:30, 40:60], atol=2e-6 * np.abs(whole).max())


@every_metric
def test_a_large_part_is_averaged_over_blocks(metric: str) -> None:
    weights = random_normal(90, 9)
    found = similarity_window(weights, metric, (5, 84), (0, 49), 20)
    assert found is not None
    values, factor = found
    assert factor == 4
    assert values.shape == (20, 13)
    whole = similarity(weights, metric)
    np.testing.assert_allclose(
        values[2, 3], whole[13:17, 12:16].mean(), atol=2e-6 * np.abs(whole).max()
    )
    np.testing.assert_allclose(
        values[0, 12], whole[5:9, 48:50].mean(), atol=2e-6 * np.abs(whole).max()
    )


def test_too_many_distances_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail, "MOST_PAIRS", 99)
    assert similarity_window(random_normal(20, 3), "euclidean", (0, 9), (0, 9)) is None
    assert similarity_window(random_normal(20, 3), "cosine", (0, 9), (0, 9)) is not None


@every_metric
def test_awkward_tables_have_finite_parts(awkward: np.ndarray, metric: str) -> None:
    last = len(awkward) - 1
    found = similarity_window(awkward, metric, (0, last), (last // 2, last), 3)
    assert found is not None
    assert np.isfinite(found[0]).all()
