from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import random_normal
from posviz.interpolation import METHODS, holdout

RESAMPLING = {key for key, method in METHODS.items() if method.family == "resample"}


def wave(period: float, n_rows: int = 201) -> np.ndarray:
    angle = 2 * np.pi * np.arange(n_rows) / period
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_every_resampling_method_is_scored() -> None:
    assert holdout(random_normal(64, 8)).keys() == RESAMPLING


def test_a_line_is_rebuilt_by_straight_lines() -> None:
    errors = holdout(np.outer(np.arange(64.0), [1.0, 2.0]))
    assert errors["linear"] == pytest.approx(0, abs=1e-12)
    assert errors["cubic"] == pytest.approx(0, abs=1e-12)
    assert errors["repeat"] > 0.01


def test_a_straight_line_misses_a_wave_by_what_it_cuts_off() -> None:
    # Halfway between every second row a wave of period T keeps cos(2 pi / T) of its height.
    errors = holdout(wave(12))
    assert errors["linear"] == pytest.approx(1 - np.cos(2 * np.pi / 12), rel=0.02)
    assert errors["fourier"] < errors["cubic"] < errors["linear"] < errors["repeat"]


def test_independent_rows_cannot_be_rebuilt() -> None:
    assert min(holdout(random_normal(400, 30)).values()) > 1


def test_scale_and_shift_change_no_error() -> None:
    weights = wave(9)
    for other in (weights * 1e-4, weights + 5):
        assert holdout(other) == pytest.approx(holdout(weights), rel=1e-6)


def test_rows_that_are_left_out_do_not_count() -> None:
    weights = wave(12)
    spoiled = np.insert(weights, [0, 100, 201], 77.0, axis=0)
    assert holdout(spoiled, exclude=(0, 101, 203)) == pytest.approx(holdout(weights))
    assert holdout(spoiled)["linear"] > holdout(weights)["linear"]


def test_the_ends_do_not_count() -> None:
    weights = wave(12)
    spoiled = weights.copy()
    spoiled[1] = 77
    spoiled[-2] = 77
    assert holdout(spoiled) == pytest.approx(holdout(weights))


@pytest.mark.parametrize("weights", [random_normal(19, 4), np.ones((40, 3)), np.ones((1, 3))])
def test_tables_too_short_or_without_variance_have_no_score(weights: np.ndarray) -> None:
    assert holdout(weights) == {}
