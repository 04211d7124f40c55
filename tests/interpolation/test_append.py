from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import decompose
from posviz.errors import SettingError
from posviz.interpolation import METHODS, append

APPENDING = {key: m for key, m in METHODS.items() if m.family == "append"}


def rows_of(n_rows: int = 6, d_model: int = 4) -> np.ndarray:
    return np.random.default_rng(n_rows).normal(size=(n_rows, d_model))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("method", APPENDING.values(), ids=APPENDING)
@pytest.mark.parametrize("n_rows", [1, 2, 5, 30])
def test_an_appending_method_gives_the_rows_that_are_missing(method, n_rows: int) -> None:
    length = min(2 * n_rows + 1, n_rows**2) if method.key == "hierarchical" else 2 * n_rows + 1
    new = method.function(rows_of(n_rows), length, rng())
    assert new.shape == (length - n_rows, 4)
    assert np.isfinite(new).all()


def test_tile_starts_again() -> None:
    new = append.tile(rows_of(), 20, rng())
    np.testing.assert_array_equal(new, np.tile(rows_of(), (4, 1))[6:20])


def test_mirror_reads_backwards_then_forwards() -> None:
    rows = rows_of()
    new = append.mirror(rows, 20, rng())
    np.testing.assert_array_equal(new, np.vstack([rows, rows[::-1], rows, rows[::-1]])[6:20])


def test_clamp_repeats_the_last_row() -> None:
    new = append.clamp(rows_of(), 9, rng())
    np.testing.assert_array_equal(new, np.tile(rows_of()[-1], (3, 1)))


def test_zeros_are_zero() -> None:
    assert not append.zeros(rows_of(), 9, rng()).any()


def test_fresh_rows_have_the_mean_and_spread_of_each_dimension() -> None:
    rows = rows_of(50) * [1, 10, 100, 0] + [0, 5, -3, 7]
    new = append.gaussian(rows, 20_050, rng())
    np.testing.assert_allclose(
        new.mean(axis=0), rows.mean(axis=0), atol=0.03 * rows.std(axis=0).max()
    )
    np.testing.assert_allclose(new.std(axis=0), rows.std(axis=0), rtol=0.03)


def test_hierarchical_rows_are_a_weighted_sum_of_two_copies() -> None:
    rows, a = rows_of(), append.HIERARCHY
    new = append.hierarchical(rows, 36, rng())
    units = (rows - a * rows[0]) / (1 - a)
    for position in range(6, 36):
        slow, fast = divmod(position, 6)
        expected = a * units[slow] + (1 - a) * units[fast]
        np.testing.assert_allclose(new[position - 6], expected)
    # The same formula gives the old rows back: nothing jumps where the new ones start.
    np.testing.assert_allclose(a * units[0] + (1 - a) * units, rows)


def test_hierarchical_rows_end_at_the_square() -> None:
    with pytest.raises(SettingError) as refusal:
        append.hierarchical(rows_of(), 37, rng())
    assert str(refusal.value) == (
        "Hierarchical positions reach 6² = 36 rows from 6; 37 were asked for. Choose a shorter "
        "length or another method."
    )


def test_sines_read_on_where_the_table_is_made_of_sines() -> None:
    n_rows = 128
    # Whole sixteenths of a turn: on the grid that frequencies are looked for on.
    position = np.arange(256)
    turns = np.array([2.0, 5.25, 11.5])
    waves = np.cos(2 * np.pi * np.outer(position, turns / n_rows) + [0.3, 1.0, 2.0])
    table = waves @ np.random.default_rng(0).normal(size=(3, 6)) + 1.5
    new = append.sinusoid_fit(table[:n_rows], 256, rng())
    np.testing.assert_allclose(new, table[n_rows:], atol=0.35 * table.std())
    assert decompose(new).rank >= 3


def test_sines_of_a_table_without_variance_are_its_mean() -> None:
    np.testing.assert_allclose(append.sinusoid_fit(np.full((30, 3), 2.0), 40, rng()), 2.0)
