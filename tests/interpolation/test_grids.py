from __future__ import annotations

import numpy as np
import pytest

from posviz.interpolation import GRIDS

every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)


def column(grid: str, old: int, new: int) -> np.ndarray:
    """A column 0, 1, … resized by straight lines: its values are the clamped places."""
    return np.clip(GRIDS[grid].coordinates(old, new), 0, old - 1)


def test_two_rows_to_four_by_hand() -> None:
    np.testing.assert_allclose(column("align-corners", 2, 4), [0, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(column("half-pixel", 2, 4), [0, 0.25, 0.75, 1])
    np.testing.assert_allclose(column("anchored", 2, 4), [0, 0.5, 1, 1])


def test_four_rows_to_eight_by_hand() -> None:
    aligned = np.array([0, 3, 6, 9, 12, 15, 18, 21]) / 7
    np.testing.assert_allclose(column("align-corners", 4, 8), aligned)
    centres = [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]
    np.testing.assert_allclose(column("half-pixel", 4, 8), centres)


def test_old_rows_are_met_exactly_where_they_can_be() -> None:
    seven = GRIDS["align-corners"].coordinates(4, 7)
    np.testing.assert_array_equal(seven[::2], [0, 1, 2, 3])
    eight = GRIDS["align-corners"].coordinates(4, 8)
    assert np.flatnonzero(eight == np.round(eight)).tolist() == [0, 7]
    anchored = GRIDS["anchored"].coordinates(4, 12)
    np.testing.assert_array_equal(anchored[::3], [0, 1, 2, 3])


@every_grid
@pytest.mark.parametrize("length", [1, 2, 9])
def test_the_same_length_is_the_same_places(grid, length: int) -> None:
    np.testing.assert_allclose(grid.coordinates(length, length), np.arange(length), atol=1e-12)


@every_grid
@pytest.mark.parametrize(("old", "new"), [(5, 13), (13, 5), (1, 4), (4, 1)])
def test_places_rise_evenly(grid, old: int, new: int) -> None:
    places = grid.coordinates(old, new)
    assert places.shape == (new,)
    assert places.dtype == np.float64
    steps = np.diff(places)
    np.testing.assert_allclose(steps, steps[0] if len(steps) else 0)
    assert (steps >= 0).all()
