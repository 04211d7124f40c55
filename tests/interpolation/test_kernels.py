from __future__ import annotations

import numpy as np
import pytest

from posviz.interpolation import GRIDS, METHODS, kernels

RESAMPLING = {key: m for key, m in METHODS.items() if m.family == "resample"}
every_method = pytest.mark.parametrize("method", RESAMPLING.values(), ids=RESAMPLING)
SHAPES = [(9, 20), (20, 9), (16, 32), (7, 8)]


def rows_of(n_rows: int, d_model: int = 5) -> np.ndarray:
    return np.random.default_rng(n_rows).normal(size=(n_rows, d_model))


@every_method
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 11])
def test_a_place_on_a_row_gives_that_row(method, n_rows: int) -> None:
    rows = rows_of(n_rows)
    np.testing.assert_allclose(method.function(rows, np.arange(n_rows, dtype=float)), rows,
                               atol=1e-12)  # fmt: skip


@every_method
def test_equal_rows_stay_equal(method) -> None:
    places = np.linspace(0, 6, 40)
    np.testing.assert_allclose(method.function(np.full((7, 3), 2.5), places), 2.5, atol=1e-12)


@every_method
def test_resampling_is_linear_in_the_rows(method) -> None:
    places = np.linspace(-0.4, 8.4, 25)
    first, second = rows_of(9), rows_of(9)[::-1]
    np.testing.assert_allclose(
        method.function(2 * first - second, places),
        2 * method.function(first, places) - method.function(second, places),
        atol=1e-12,
    )


@every_method
def test_columns_do_not_mix(method) -> None:
    rows, places = rows_of(9), np.linspace(0, 8, 30)
    whole = method.function(rows, places)
    for column in range(rows.shape[1]):
        np.testing.assert_allclose(
            method.function(rows[:, [column]], places), whole[:, [column]], atol=1e-12
        )


@pytest.mark.parametrize("key", [key for key in RESAMPLING if key != "repeat"])
def test_reading_backwards_is_the_same_backwards(key: str) -> None:
    rows, places = rows_of(9), np.linspace(-0.4, 8.4, 30)
    forwards = METHODS[key].function(rows, places)
    backwards = METHODS[key].function(rows[::-1], 8 - places)
    np.testing.assert_allclose(backwards, forwards, atol=1e-12)


@pytest.mark.parametrize("key", ["linear", "cubic"])  # a kernel with a = -0.75 bends it a little
def test_a_straight_line_stays_straight(key: str) -> None:
    line = np.outer(np.arange(9.0), [1.0, -2.0])
    places = np.linspace(0, 8, 50)
    np.testing.assert_allclose(
        METHODS[key].function(line, places), np.outer(places, [1, -2]), atol=1e-12
    )


def test_the_spline_is_exact_on_a_cubic() -> None:
    place = np.linspace(0, 8, 50)
    rows = np.arange(9.0)[:, None] ** 3 - 4 * np.arange(9.0)[:, None] ** 2
    expected = place[:, None] ** 3 - 4 * place[:, None] ** 2
    np.testing.assert_allclose(kernels.cubic_spline(rows, place), expected, atol=1e-9)


def test_fourier_is_exact_on_waves_of_the_mirrored_table() -> None:
    n_rows, places = 16, np.linspace(-0.5, 15.5, 70)
    for k in (0, 1, 5, 15):
        rows = np.cos(np.pi * k * (np.arange(n_rows) + 0.5) / n_rows)[:, None]
        expected = np.cos(np.pi * k * (places + 0.5) / n_rows)[:, None]
        np.testing.assert_allclose(kernels.fourier(rows, places), expected, atol=1e-12)


def test_linear_lowers_a_wave_by_the_cosine_of_half_its_step() -> None:
    period = 6
    rows = np.exp(2j * np.pi * np.arange(60) / period)
    middle = kernels.linear(np.stack([rows.real, rows.imag], 1), np.arange(0.5, 59))
    np.testing.assert_allclose(np.linalg.norm(middle, axis=1), np.cos(np.pi / period))


# Other implementations


@pytest.mark.parametrize(("old", "new"), SHAPES)
@pytest.mark.parametrize("aligned", [True, False])
def test_linear_is_torch_linear(old: int, new: int, aligned: bool) -> None:
    import torch

    rows = rows_of(old)
    places = GRIDS["align-corners" if aligned else "half-pixel"].coordinates(old, new)
    expected = torch.nn.functional.interpolate(
        torch.tensor(rows.T[None]), size=new, mode="linear", align_corners=aligned
    )
    np.testing.assert_allclose(kernels.linear(rows, places), expected[0].numpy().T, atol=1e-12)


@pytest.mark.parametrize(("old", "new"), SHAPES)
@pytest.mark.parametrize("aligned", [True, False])
def test_bicubic_is_torch_bicubic(old: int, new: int, aligned: bool) -> None:
    import torch

    rows = rows_of(old)
    places = GRIDS["align-corners" if aligned else "half-pixel"].coordinates(old, new)
    expected = torch.nn.functional.interpolate(
        torch.tensor(rows.T[None, :, :, None]), size=(new, 1), mode="bicubic", align_corners=aligned
    )
    np.testing.assert_allclose(
        kernels.bicubic(rows, places), expected[0, :, :, 0].numpy().T, atol=1e-12
    )


@pytest.mark.parametrize(("old", "new"), SHAPES)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smoothing_is_torch_antialias(old: int, new: int, mode: str) -> None:
    import torch

    rows = rows_of(old)
    twice = torch.tensor(np.stack([rows.T, rows.T], axis=1)[None])  # (1, d, 2, old)
    expected = torch.nn.functional.interpolate(twice, size=(2, new), mode=mode, antialias=True)
    places = GRIDS["half-pixel"].coordinates(old, new)
    ours = kernels.smoothed(rows, places, cubic=mode == "bicubic")
    np.testing.assert_allclose(ours, expected[0, :, 0].numpy().T, atol=1e-9)


def test_the_spline_is_scipy_not_a_knot() -> None:
    from scipy.interpolate import CubicSpline

    rows, places = rows_of(12), np.linspace(0, 11, 40)
    expected = CubicSpline(np.arange(12), rows, bc_type="not-a-knot")(places)
    np.testing.assert_allclose(kernels.cubic_spline(rows, places), expected, atol=1e-12)


def test_fourier_on_the_anchored_grid_is_a_resampled_mirror() -> None:
    from scipy.signal import resample

    rows = rows_of(12)
    expected = resample(np.vstack([rows, rows[::-1]]), 48, axis=0)[:24]
    # resample halves the one frequency at the border of the band; rows without it agree.
    smooth = kernels.fourier(rows, GRIDS["anchored"].coordinates(12, 24))
    np.testing.assert_allclose(smooth, expected, atol=1e-9)


def test_fourier_in_strips_is_fourier_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, places = rows_of(9), np.linspace(0, 8, 30)
    whole = kernels.fourier(rows, places)
    monkeypatch.setattr(kernels, "_STRIP", 7)
    np.testing.assert_allclose(kernels.fourier(rows, places), whole, atol=1e-14)
