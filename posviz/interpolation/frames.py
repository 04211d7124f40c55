"""The lengths between an old table and a new one: how its curve grows, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.errors import SettingError
from posviz.interpolation.extend import extend
from posviz.interpolation.keep import places_of
from posviz.interpolation.methods import METHODS

if TYPE_CHECKING:
    from posviz.interpolation.extend import Extended
    from posviz.table import PositionTable

Float64 = NDArray[np.float64]

FRAMES = 17  # moments of a stretch, both ends among them


def stretch_frames(
    table: PositionTable, done: Extended, axes: Float64, mean: Float64, *, most: int = FRAMES
) -> list[Float64]:
    """Scores of the table at the lengths from its own to the new one.

    Resampling works on every dimension alike, so stretching the scores is stretching the table,
    at a hundredth of the work; appended rows do not depend on how many follow them.

    Parameters
    ----------
    table : PositionTable
        The old one.
    done : Extended
        What :func:`extend` made of it.
    axes : array of shape (k, d_model)
        Directions that the rows are projected on.
    mean : array of shape (d_model,)
        Taken away first.
    most : int
        Frames, at least two.

    Returns
    -------
    list of float64 arrays of shape (length, k)
        In the order of lengths, the old table first and the new one last.
    """
    first, last = _projected(table, axes, mean), _projected(done.table, axes, mean)
    grows = done.table.n_positions > table.n_positions
    if METHODS[done.method].family == "append" and grows:
        between = _cut(last, done, table.n_positions, most)
    else:
        between = _resampled(table, first, done, most)
    return [first, *between, last]


def tables_between(
    table: PositionTable, done: Extended, *, most: int = FRAMES
) -> Iterator[PositionTable]:
    """The whole tables at lengths from the old one to the new one, both among them.

    For numbers that need every dimension; where scores do, :func:`stretch_frames` is far quicker.
    """
    yield table
    keep = "" if table.grid is not None else ",".join(map(str, done.kept))
    for size in _sizes(table, done, most):
        with suppress(SettingError):  # too short for all the rows that are kept
            yield _at(table, done, size, keep).table
    if done.table.n_positions != table.n_positions:
        yield done.table


def _cut(last: Float64, done: Extended, old: int, most: int) -> list[Float64]:
    rest = np.delete(last, done.places, axis=0)
    frames = []
    for length in _between(old, len(last), most):
        frame = np.empty((length, last.shape[1]))
        places = list(places_of(done.kept, old, length))
        frame[places] = last[list(done.places)]
        frame[np.delete(np.arange(length), places)] = rest[: length - len(places)]
        frames.append(frame)
    return frames


def _resampled(table: PositionTable, first: Float64, done: Extended, most: int) -> list[Float64]:
    flat = replace(table, raw=first.astype(np.float32), row_offset=0, name="scores", kind="learned")
    keep = "" if table.grid is not None else ",".join(map(str, done.kept))
    frames = []
    for size in _sizes(table, done, most):
        with suppress(SettingError):  # too short for all the rows that are kept
            step = _at(flat, done, size, keep)
            frames.append(step.table.weights.astype(np.float64))
    return frames


def _at(table: PositionTable, done: Extended, size: int | tuple[int, int], keep: str) -> Extended:
    return extend(
        table,
        size if isinstance(size, int) else None,
        method=done.method,
        grid=done.grid or "anchored",
        keep=keep,
        grid_size=None if isinstance(size, int) else size,
    )


def _sizes(table: PositionTable, done: Extended, most: int) -> list[int] | list[tuple[int, int]]:
    if table.grid is None or done.table.grid is None:
        return _between(table.n_positions, done.table.n_positions, most)
    steps = np.linspace(table.grid, done.table.grid, most).round().astype(int)[1:-1]
    ends = (table.grid, done.table.grid)
    sizes = dict.fromkeys((int(height), int(width)) for height, width in steps)
    return [size for size in sizes if size not in ends]


def _between(old: int, new: int, most: int) -> list[int]:
    lengths = dict.fromkeys(np.linspace(old, new, most).round().astype(int).tolist())
    return [length for length in lengths if length not in (old, new)]


def _projected(table: PositionTable, axes: Float64, mean: Float64) -> Float64:
    # In float32: what is drawn needs six digits, and a float64 copy of all rows takes ten times
    # as long as the product.
    scores: Float64 = (table.weights @ axes.T.astype(np.float32)).astype(np.float64) - mean @ axes.T
    return scores
