"""Waves at a new length: against sampling them by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from posviz.analysis.waves import PowerLine, PowerSpectrum, power_lines, power_spectrum
from posviz.interpolation import extend
from posviz.interpolation.aliasing import (
    appears_as,
    linear_height,
    sampling_limit,
    sampling_step,
    share_lost,
    waves,
)
from posviz.table import PositionTable, Provenance


def table(period: float, n_positions: int = 257) -> PositionTable:
    angle = 2 * np.pi * np.arange(n_positions) / period
    rows = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return PositionTable(rows, "wave", Provenance("made", "made"))


@pytest.mark.parametrize(("period", "height"), [(6, 0.866), (2, 0.0), (4, 0.7071), (510, 0.99998)])
def test_the_height_halfway_on_straight_lines(period: float, height: float) -> None:
    assert linear_height(period) == pytest.approx(height, abs=5e-4)


@pytest.mark.parametrize("period", [2.5, 6, 9.1, 56])
def test_the_height_is_what_linear_stretching_leaves(period: float) -> None:
    """A circle of radius 1: halfway between two samples the chord is cos(π / period) away."""
    rows = extend(table(period), 513, method="linear").table.weights
    between = np.linalg.norm(rows[1::2], axis=1)
    np.testing.assert_allclose(between, linear_height(period), atol=1e-6)


def test_a_stretched_table_keeps_all_its_waves() -> None:
    assert sampling_limit(100, 250) == 2
    lines = (PowerLine(2.0, 0.5), PowerLine(30.0, 0.5))
    found = waves(lines, 101, 201)
    assert all(wave.kept for wave in found)
    assert [wave.appears for wave in found] == pytest.approx([4.0, 60.0])


def test_a_wave_below_the_limit_looks_like_the_one_that_sampling_gives() -> None:
    old, new, period = 257, 65, 5.0  # every fourth row: 4/5 of a turn a row, as 1/5 backwards
    assert sampling_step(old, new) == 4
    assert sampling_limit(old, new) == 8
    (wave,) = waves((PowerLine(period, 1.0),), old, new)
    assert not wave.kept
    assert wave.appears == pytest.approx(5.0)
    shrunk = extend(table(period), new, method="linear").table.weights
    assert power_lines(shrunk)[0].period == pytest.approx(wave.appears, rel=0.05)


def test_a_wave_sampled_once_a_period_becomes_a_constant() -> None:
    assert appears_as(8.0, 8.0) is None
    assert appears_as(8.0, 2.0) == pytest.approx(4.0)


def test_the_share_lost_is_the_power_under_the_limit() -> None:
    spectrum = PowerSpectrum(np.array([64.0, 10.0, 4.0, 2.5]), np.array([0.4, 0.3, 0.2, 0.1]))
    assert share_lost(spectrum, 101, 201) == 0
    assert share_lost(spectrum, 101, 51) == pytest.approx(0.1)  # limit 4: itself it carries
    assert share_lost(spectrum, 101, 26) == pytest.approx(0.3)
    assert share_lost(PowerSpectrum(np.zeros(0), np.zeros(0)), 3, 2) is None
    whole = power_spectrum(table(5.0).weights)
    assert share_lost(whole, 257, 65) == pytest.approx(1, abs=0.01)


def test_one_new_row_carries_nothing() -> None:
    assert sampling_limit(10, 1) == math.inf
    (wave,) = waves((PowerLine(4.0, 1.0),), 10, 1)
    assert not wave.kept
    assert wave.appears is None
