"""The numbers of a snapshot against NumPy's own singular values, and where none exist."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz.training.loop import Snapshot
from posviz.training.metrics import row_ranges, snapshot_metrics, table_metrics
from posviz.training.recording import json_bytes

RANDOM = np.random.default_rng(0).normal(0, 0.02, (64, 64)).astype(np.float32)


def test_shares_are_those_of_a_singular_value_decomposition() -> None:
    values = np.linalg.svd(RANDOM.astype(np.float64) - RANDOM.mean(0), compute_uv=False) ** 2
    shares = np.cumsum(values) / values.sum()
    metrics = table_metrics(RANDOM)
    assert metrics["top2_share"] == pytest.approx(shares[1], rel=1e-5)
    assert metrics["top3_share"] == pytest.approx(shares[2], rel=1e-5)
    assert metrics["participation"] == pytest.approx(
        values.sum() ** 2 / (values**2).sum(), rel=1e-5
    )


def test_a_random_table_has_the_known_numbers() -> None:
    """science.md 2.2, rand 64x64."""
    metrics = table_metrics(RANDOM)
    assert (metrics["k90"], metrics["k95"]) == (33, 40)
    assert metrics["top3_share"] == pytest.approx(0.1735, abs=5e-5)
    assert metrics["adjacent_cosine"] == pytest.approx(-0.003, abs=5e-4)
    assert metrics["toeplitz_r2"] == pytest.approx(0.032, abs=5e-4)
    assert metrics["roughness"] == pytest.approx(2.015, abs=5e-4)
    assert metrics["turning_cosine"] == pytest.approx(-0.501, abs=5e-4)


def test_a_straight_line_is_one_component_without_turns() -> None:
    metrics = table_metrics(np.outer(np.arange(1, 9), np.ones(4)).astype(np.float32))
    assert (metrics["k90"], metrics["k95"]) == (1, 1)
    assert metrics["top2_share"] == pytest.approx(1)
    assert metrics["adjacent_cosine"] == pytest.approx(1)
    assert metrics["turning_cosine"] == pytest.approx(1)
    assert metrics["norm_median"] == pytest.approx(9)  # rows 1 to 8 of norm 2 each


@pytest.mark.parametrize(
    "table", [np.zeros((5, 3)), np.ones((5, 3)), np.ones((1, 3)), np.ones((2, 1))]
)
def test_numbers_that_do_not_exist_are_none(table: np.ndarray) -> None:
    metrics = table_metrics(table.astype(np.float32))
    assert metrics["top2_share"] is None
    assert metrics["roughness"] is None
    assert json.loads(json_bytes(metrics)) == metrics


def test_a_line_begins_with_step_and_loss() -> None:
    seen = np.arange(64) < 40
    line = snapshot_metrics(Snapshot(7, 1.5, RANDOM, seen))
    assert list(line)[:3] == ["step", "loss", "rows_seen"]
    assert (line["step"], line["loss"], line["rows_seen"]) == (7, 1.5, 40)


@pytest.mark.parametrize(
    ("chosen", "ranges"),
    [
        ([], []),
        ([0, 0], []),
        ([1, 1, 1], [[0, 2]]),
        ([1, 0, 0, 1, 1], [[0, 0], [3, 4]]),
    ],
)
def test_rows_are_told_as_ranges(chosen: list[int], ranges: list[list[int]]) -> None:
    assert row_ranges(np.array(chosen, dtype=bool)) == ranges
