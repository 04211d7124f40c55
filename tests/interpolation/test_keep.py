from __future__ import annotations

import numpy as np
import pytest

from posviz.errors import SettingError
from posviz.interpolation.keep import kept_positions, places_of
from posviz.table import PositionTable, Provenance


def table(n_rows: int = 10, **options: int) -> PositionTable:
    weights = np.random.default_rng(0).normal(size=(n_rows, 4))
    return PositionTable(weights, "made", Provenance("file", "made"), **options)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("", ()),
        ("0", (0,)),
        ("9", (9,)),
        ("first:3", (0, 1, 2)),
        ("last:2", (8, 9)),
        ("3-5", (3, 4, 5)),
        ("first:0", ()),
        (" 4, first:2 ,last:1,", (0, 1, 4, 9)),
        ("0,0,first:1", (0,)),
    ],
)
def test_rows_are_named_in_several_ways(keep: str, kept: tuple[int, ...]) -> None:
    assert kept_positions(table(), keep) == kept


def test_special_rows_are_those_of_the_analysis() -> None:
    weights = np.ones((20, 4)) + np.random.default_rng(0).normal(0, 0.01, (20, 4))
    weights[3] *= 9
    made = PositionTable(weights, "made", Provenance("file", "made"))
    assert kept_positions(made, "special") == (3,)


def test_prefix_and_suffix_rows_are_always_kept() -> None:
    assert kept_positions(table(prefix_rows=1, suffix_rows=2), "") == (0, 8, 9)


def test_positions_count_from_the_first_row_in_use() -> None:
    assert kept_positions(table(12, row_offset=2), "last:1") == (9,)


@pytest.mark.parametrize(
    "keep", ["first", "first:x", "-1", "2-", "middle", "1:2", "0x1", "first:-1"]
)
def test_other_words_are_refused(keep: str) -> None:
    with pytest.raises(SettingError) as refusal:
        kept_positions(table(), keep)
    assert str(refusal.value) == (
        "Rows to keep are named by a position such as 0, a range such as 3-5, first:20, last:2 or "
        f"special, and several of them with commas; “{keep}” is none of these."
    )


def test_positions_outside_the_table_are_refused() -> None:
    for keep in ("10", "5-10", "5-3"):
        with pytest.raises(SettingError, match="positions from 0 to 9"):
            kept_positions(table(), keep)
    with pytest.raises(SettingError) as refusal:
        kept_positions(table(), "first:11")
    assert str(refusal.value) == "first:11 asks to keep 11 rows; the table has 10. Keep fewer."


def test_a_kept_last_row_stays_last_and_others_keep_their_position() -> None:
    assert places_of((0, 4, 9), 10, 20) == (0, 4, 19)
    assert places_of((0, 8, 9), 10, 15) == (0, 13, 14)
    assert places_of((0, 9), 10, 5) == (0, 4)
    assert places_of((), 10, 5) == ()


def test_kept_rows_without_a_place_are_refused() -> None:
    for kept, length in (((0, 1, 2, 9), 3), ((6,), 5)):
        with pytest.raises(SettingError, match="Every kept row needs a place"):
            places_of(kept, 10, length)
