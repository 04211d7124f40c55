from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import decompose
from posviz.analysis.references import random_normal
from posviz.analysis.waves import (
    helix,
    helix_fit,
    power_lines,
    power_spectrum,
    rank_correlation,
)

END = 2  # rows that the spectrum drops at each end


def wave(n_rows: int, turns: float, d_model: int = 6) -> np.ndarray:
    """A circle turning ``turns`` times over the rows the spectrum keeps, in a random plane."""
    plane = np.linalg.qr(np.random.default_rng(0).normal(size=(d_model, 2)))[0]
    angle = 2 * np.pi * turns * (np.arange(n_rows) - END) / (n_rows - 2 * END)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane.T


def test_shares_add_up_to_one() -> None:
    spectrum = power_spectrum(random_normal(50, 8))
    assert spectrum.share.sum() == pytest.approx(1)
    assert (spectrum.share >= 0).all()
    np.testing.assert_allclose(spectrum.period[:3], [46, 23, 46 / 3])


@pytest.mark.parametrize("turns", [2, 5, 20])
def test_a_pure_wave_is_one_line_at_its_period(turns: int) -> None:
    line = power_lines(wave(104, turns))[0]
    assert line.period == pytest.approx(100 / turns)
    assert line.share == pytest.approx(1, abs=1e-9)


def test_two_waves_share_by_their_squared_heights() -> None:
    first, second = power_lines(wave(204, 5) * 2 + wave(204, 40))[:2]
    assert (first.period, second.period) == (pytest.approx(40), pytest.approx(5))
    assert (first.share, second.share) == (pytest.approx(0.8), pytest.approx(0.2))


def test_scale_shift_and_rotation_change_no_share(rng: np.random.Generator) -> None:
    weights = random_normal(40, 5)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    expected = power_spectrum(weights).share
    for other in (weights * 1e9, weights + 3, weights @ rotation):
        np.testing.assert_allclose(power_spectrum(other).share, expected, rtol=1e-4)


def test_a_spectrum_is_that_of_numpy_for_one_column() -> None:
    column = np.random.default_rng(2).normal(size=(36, 1))
    kept = column[END:-END, 0] - column[END:-END].mean()
    window = np.hanning(len(kept) + 1)[:-1]  # periodic
    power = np.abs(np.fft.rfft(kept * window))[1:] ** 2
    np.testing.assert_allclose(power_spectrum(column).share, power / power.sum(), rtol=1e-9)


def test_lines_are_sorted_and_take_each_bin_once() -> None:
    weights = random_normal(300, 4)
    lines = power_lines(weights, most=1000)
    shares = [line.share for line in lines]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    assert power_lines(weights, most=3) == lines[:3]  # stopping early misses none
    assert (
        power_lines(wave(204, 5) + wave(204, 40), most=2)
        == power_lines(wave(204, 5) + wave(204, 40), most=1000)[:2]
    )


def test_a_helix_has_its_turns_radius_and_axis() -> None:
    angle = np.linspace(0, 2 * np.pi * 5, 400)
    axis = np.linspace(-0.9, 0.9, 400)  # less variance than the circle, so the third component
    found = helix(decompose(np.stack([axis, 2 * np.cos(angle), 2 * np.sin(angle)], axis=1)))
    # The sine leans a little on the axis: components are not exactly the ones that were put in.
    assert found.turns == pytest.approx(5, abs=0.05)
    assert found.radius == pytest.approx(2, abs=0.02)
    assert found.radius_spread == pytest.approx(0, abs=0.15)
    assert found.axis_component == 3
    assert abs(found.axis_correlation or 0) > 0.95
    assert found.phase is not None
    assert found.phase.shape == (400,)


def test_turns_do_not_depend_on_direction_or_handedness() -> None:
    circle = wave(100, 3)
    turns = helix(decompose(circle)).turns
    assert turns == pytest.approx(3 * 99 / 96, abs=0.02)
    assert helix(decompose(circle[::-1])).turns == pytest.approx(turns)
    assert helix(decompose(-circle)).turns == pytest.approx(turns)


def test_a_line_has_an_axis_and_no_turns() -> None:
    found = helix(decompose(np.outer(np.arange(20.0), [1.0, 2.0])))
    assert found.turns is None
    assert found.axis_component == 1
    assert abs(found.axis_correlation or 0) == pytest.approx(1)


def test_a_steady_helix_is_fitted_exactly() -> None:
    position = np.arange(300)
    angle = 2 * np.pi * position / 43.7
    curve = np.stack([2 * np.cos(angle), 2 * np.sin(angle), 0.005 * position], axis=1)
    found = helix_fit(decompose(curve))
    assert found is not None
    assert found.period == pytest.approx(43.7, rel=1e-3)
    assert found.amplitude == pytest.approx(2, rel=1e-2)
    assert found.r2 > 0.99
    assert abs(found.axis_slope) == pytest.approx(0.005, rel=0.02)
    assert found.axis_r2 > 0.95


def test_the_fit_reads_backwards_as_forwards() -> None:
    circle = wave(100, 7)
    there, back = helix_fit(decompose(circle)), helix_fit(decompose(circle[::-1]))
    assert there is not None
    assert back is not None
    for name in ("period", "amplitude", "r2"):
        assert getattr(there, name) == pytest.approx(getattr(back, name), rel=1e-6)


def test_no_circle_fits_independent_rows() -> None:
    found = helix_fit(decompose(random_normal(300, 40)))
    assert found is not None
    assert found.r2 < 0.1
    assert found.axis_r2 < 0.1


def test_rank_correlation_is_that_of_scipy() -> None:
    from scipy.stats import spearmanr

    generator = np.random.default_rng(1)
    for values in (generator.normal(size=30), generator.integers(0, 5, 30)):
        expected = spearmanr(values, np.arange(30)).statistic
        assert rank_correlation(values) == pytest.approx(expected)
    assert rank_correlation(np.ones(5)) == 0


def test_awkward_tables_have_finite_waves(awkward: np.ndarray) -> None:
    spectrum = power_spectrum(awkward)
    assert np.isfinite(spectrum.share).all()
    assert spectrum.share.shape == spectrum.period.shape
    for line in power_lines(awkward):
        assert 0 <= line.share <= 1 + 1e-9
    found = helix(decompose(awkward))
    for value in (found.turns, found.radius, found.radius_spread, found.axis_correlation):
        assert value is None or np.isfinite(value)
    fit = helix_fit(decompose(awkward))
    assert fit is None or all(np.isfinite(value) for value in vars(fit).values())
