from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from posviz.analysis import smoothness
from posviz.analysis.references import random_normal
from posviz.analysis.smoothness import (
    adjacent_cosine,
    curvature,
    roughness,
    step_norms,
    turning_cosine,
)


def smooth(n_rows: int = 50) -> np.ndarray:
    place = np.linspace(0, 3, n_rows)
    return np.stack([np.sin(place), np.cos(2 * place), place**2], axis=1) + 1


@pytest.mark.parametrize("number", [roughness, turning_cosine])
def test_numbers_do_not_change_with_scale_shift_direction_or_rotation(
    number: Callable[[np.ndarray], float | None], rng: np.random.Generator
) -> None:
    weights = smooth()
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for other in (weights * 1e-5, weights + 7, weights[::-1], weights @ rotation):
        assert number(other) == pytest.approx(number(weights), rel=1e-9)


def test_independent_rows_give_two_and_minus_a_half() -> None:
    weights = random_normal(4000, 30)
    # Both have a standard error of about 1 / sqrt(rows dimensions).
    assert roughness(weights) == pytest.approx(2, abs=0.02)
    assert turning_cosine(weights) == pytest.approx(-0.5, abs=0.01)


def test_alternating_rows_give_the_largest_roughness() -> None:
    n_rows = 10
    weights = np.tile([[1.0, 2.0], [-1.0, -2.0]], (n_rows // 2, 1))
    assert roughness(weights) == pytest.approx(4 * (n_rows - 1) / n_rows)
    assert turning_cosine(weights) == pytest.approx(-1)
    np.testing.assert_allclose(adjacent_cosine(weights), -1)


def test_a_straight_line_turns_nowhere() -> None:
    line = np.outer(np.arange(9.0), [1.0, -2.0])
    assert turning_cosine(line) == pytest.approx(1)
    np.testing.assert_allclose(step_norms(line), np.sqrt(5))
    # (n - 1) steps of 1 over the variance n (n² - 1) / 12 of 0 … n - 1
    assert roughness(line) == pytest.approx(8 / (9 * 80 / 12))


def test_strips_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.cumsum(random_normal(50, 4).astype(np.float64), axis=0)
    whole = step_norms(weights), roughness(weights), turning_cosine(weights)
    for size in (1, 7, 49):
        monkeypatch.setattr(smoothness, "STRIP", size)
        np.testing.assert_array_equal(step_norms(weights), whole[0])
        assert roughness(weights) == pytest.approx(whole[1])
        assert turning_cosine(weights) == pytest.approx(whole[2])


def test_a_step_of_nothing_counts_as_a_right_angle() -> None:
    assert turning_cosine(np.array([[0.0], [1.0], [1.0], [2.0], [3.0]])) == pytest.approx(1 / 3)


def test_adjacent_cosines_are_the_first_diagonal() -> None:
    weights = random_normal(20, 6)
    for centred in (False, True):
        rows = weights - weights.mean(axis=0) * centred
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(
            adjacent_cosine(weights, centred=centred), np.diag(units @ units.T, 1), atol=1e-6
        )


def test_a_zero_row_has_cosine_zero_with_its_neighbours() -> None:
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(adjacent_cosine(weights), [0, 0])


def test_awkward_tables_give_a_number_or_none(awkward: np.ndarray) -> None:
    n_rows = len(awkward)
    assert step_norms(awkward).shape == (n_rows - 1,)
    assert np.isfinite(step_norms(awkward)).all()
    assert (np.abs(adjacent_cosine(awkward)) <= 1).all()
    rough, turn = roughness(awkward), turning_cosine(awkward)
    assert rough is None or 0 <= rough <= 4
    assert turn is None or -1 <= turn <= 1
    same = (awkward == awkward[0]).all()
    assert (rough is None) == same
    assert (turn is None) == (same or n_rows < 3)


def test_curvature_of_a_parabola_by_hand() -> None:
    place = np.arange(9.0)
    weights = np.stack([place, place**2], axis=1)  # second differences are (0, 2) everywhere
    assert curvature(weights) == pytest.approx(2)
    assert curvature(weights[:3]) == pytest.approx(2)
    assert curvature(weights[:2]) is None
    assert curvature(np.outer(place, [1.0, -3.0])) == pytest.approx(0, abs=1e-12)


def test_curvature_tells_a_smooth_curve_from_its_polygon() -> None:
    coarse, fine = smooth(200), smooth(399)
    polygon = np.empty_like(fine)
    polygon[::2], polygon[1::2] = coarse, (coarse[1:] + coarse[:-1]) / 2
    before = curvature(coarse)
    assert before is not None
    assert curvature(fine) == pytest.approx(before / 4, rel=0.01)
    assert curvature(polygon) == pytest.approx(before / 4 * np.sqrt(2), rel=0.01)


def test_curvature_does_not_depend_on_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = smooth(57)
    whole = curvature(weights)
    monkeypatch.setattr(smoothness, "STRIP", 5)
    assert curvature(weights) == pytest.approx(whole, rel=1e-12)
