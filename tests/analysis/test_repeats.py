from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.repeats import all_equal, equal_rows, in_words, without_first


def tiled(times: int) -> np.ndarray:
    return np.tile(random_normal(8, 20), (times, 1))


def with_tail(n_rows: int = 24, tail: int = 10) -> np.ndarray:
    rows = random_normal(n_rows, 20)
    rows[-tail:] = 0.5
    return rows


def test_equal_rows_are_those_that_numpy_finds(rng: np.random.Generator) -> None:
    rows = rng.integers(0, 2, (200, 4)).astype(np.float32)
    _, index, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    assert equal_rows(rows).tolist() == index[inverse].tolist()
    assert without_first(equal_rows(rows), 7).tolist() == equal_rows(rows[7:]).tolist()


def test_a_difference_in_the_last_column_is_one() -> None:
    rows = np.ones((6, 300), np.float32)
    rows[4, 299] = np.nextafter(np.float32(1), np.float32(2))
    assert equal_rows(rows).tolist() == [0, 0, 0, 0, 4, 0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_in_memory_does_not_matter(order: str) -> None:
    rows = np.asarray(tiled(2), order=order)
    assert equal_rows(rows[:, ::-1]).tolist() == [*range(8), *range(8)]


def test_a_table_longer_than_any_is_asked_only_whether_all_is_equal() -> None:
    rows = np.ones((1 << 18, 2), np.float32)
    assert all_equal(equal_rows(rows))
    rows[-1] = 2
    assert in_words(equal_rows(rows)) is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.ones((6, 4)), "every row is the same"),
        (np.tile(np.arange(4.0), (6, 1)), "every row is the same"),
        (with_tail(), "rows 14 to 23 are the same row"),
        (tiled(2), "rows 8 to 15 repeat rows 0 to 7"),
        (tiled(5), "rows 8 to 15 repeat rows 0 to 7, rows 16 to 23 repeat rows 0 to 7, "
                   "rows 24 to 31 repeat rows 0 to 7, 8 more equal an earlier row"),
        (tiled(2)[:9], "row 8 equals row 0"),
        (random_normal(9, 4)[[0, 1, 2, 3, 1, 1, 1]], "rows 4 to 6 equal row 1"),
        (np.repeat(random_normal(2, 4), 2, axis=0), "rows 0 to 1 are the same row, rows 2 to 3 are "
                                                    "the same row"),
    ],
)  # fmt: skip
def test_equal_rows_in_words(rows: np.ndarray, said: str) -> None:
    assert in_words(equal_rows(rows)) == said


@pytest.mark.parametrize(
    "rows", [random_normal(64, 16), sinusoidal(512, 64), random_normal(1, 4), np.ones((1, 4))]
)
def test_nothing_is_said_of_rows_that_differ(rows: np.ndarray) -> None:
    assert in_words(equal_rows(rows)) is None
    assert not all_equal(equal_rows(rows))


def test_rows_of_zeros_are_left_to_another_sentence() -> None:
    rows = random_normal(12, 4)
    rows[[3, 7, 8]] = 0
    assert in_words(equal_rows(rows), zero=(3, 7, 8)) is None
    rows[10] = rows[9]
    assert in_words(equal_rows(rows), zero=(3, 7, 8)) == "rows 9 to 10 are the same row"
