"""Frames of a stretch are what stretching the whole table to each length gives."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.interpolation import METHODS, extend
from posviz.interpolation.frames import stretch_frames, tables_between
from posviz.table import PositionTable, Provenance

AXES = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 3)))[0].T
MEAN = np.random.default_rng(2).normal(size=6)


def table(**layout: object) -> PositionTable:
    rows = np.cumsum(np.random.default_rng(0).normal(size=(20, 6)), axis=0)
    return PositionTable(rows, "made", Provenance("made", "made"), **layout)  # type: ignore[arg-type]


@pytest.mark.parametrize("keep", ["", "0", "0,7,17"])
@pytest.mark.parametrize("length", [21, 47, 60, 9])
@pytest.mark.parametrize("method", METHODS)
def test_every_frame_is_the_table_at_that_length(method: str, length: int, keep: str) -> None:
    old = table(row_offset=2)
    done = extend(old, length, method=method, keep=keep)
    frames = stretch_frames(old, done, AXES, MEAN, most=6)
    lengths = [len(frame) for frame in frames]
    assert (lengths[0], lengths[-1]) == (18, length)
    assert lengths == sorted(lengths, reverse=length < 18)
    for frame in frames:
        whole = extend(old, len(frame), method=method, keep=keep).table.weights
        expected = (whole.astype(np.float64) - MEAN) @ AXES.T
        # Scores travel as float32, and so do the rows they are made of.
        np.testing.assert_allclose(frame, expected, atol=2e-4)


def test_a_table_of_its_own_length_has_two_equal_frames() -> None:
    old = table()
    frames = stretch_frames(old, extend(old, 20), AXES, MEAN)
    assert len(frames) == 2
    assert np.array_equal(*frames)


def test_a_picture_grows_in_both_directions() -> None:
    old = table(grid=(3, 6), prefix_rows=1, suffix_rows=1)
    done = extend(old, method="linear", grid_size=(6, 9))
    frames = stretch_frames(old, done, AXES, MEAN, most=4)
    assert [len(frame) for frame in frames] == [20, 4 * 7 + 2, 5 * 8 + 2, 6 * 9 + 2]
    whole = extend(old, method="linear", grid_size=(4, 7)).table.weights
    np.testing.assert_allclose(frames[1], (whole - MEAN) @ AXES.T, atol=2e-4)


def test_lengths_without_room_for_the_kept_rows_are_left_out() -> None:
    old = table()
    done = extend(old, 12, keep="first:6,last:6")
    assert [len(frame) for frame in stretch_frames(old, done, AXES, MEAN, most=3)] == [20, 16, 12]


@pytest.mark.parametrize("keep", ["", "0,7"])
@pytest.mark.parametrize("method", ["cubic", "tile"])
def test_whole_tables_on_the_way_are_those_of_their_lengths(method: str, keep: str) -> None:
    old = table(row_offset=2)
    done = extend(old, 50, method=method, keep=keep)
    found = list(tables_between(old, done, most=5))
    assert [one.n_positions for one in found] == [18, 26, 34, 42, 50]
    for one in found:
        expected = extend(old, one.n_positions, method=method, keep=keep).table
        assert np.array_equal(one.raw, expected.raw)


def test_the_way_to_its_own_length_is_one_table() -> None:
    old = table()
    assert list(tables_between(old, extend(old, 20))) == [old]
