"""What the numbers themselves say: a stored sinusoid, rows of zeros, rows that are not finite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posviz.analysis.repeats import equal_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = {"F64": 1e-4, "F32": 1e-4, "F16": 4e-3, "BF16": 3e-2}
_COARSE = 0.1  # float8 and quantised types
_SAMPLE = 8  # rows, and
_SAMPLED_PAIRS = 32  # pairs of their dimensions, that decide whether the whole is worth a look
_NONE = np.empty(0, np.intp)


def is_sinusoid(rows: NDArray[np.float32], dtype: str = "F32") -> bool:
    """Whether a table is a fixed sinusoid, as stored next to learned weights.

    Every sine must have its cosine: the dimensions pair up (side by side, in halves, or in
    halves of halves for two image axes) so that each pair runs around one circle, common to
    all pairs, by the same angle at every step. A learned table has no such circle, not even
    one that was trained from a sinusoid. Rows of zeros (padding, class rows) are left out.

    Parameters
    ----------
    rows : array of shape (n_rows, d_model)
        As stored, not centred.
    dtype : str
        Stored type, which sets how exact the circle must be.
    """
    rows = rows[:, : rows.shape[1] // 2 * 2]
    sample = rows[:: max(1, len(rows) // _SAMPLE)]
    tolerance = _TOLERANCE.get(dtype, _COARSE)
    if not _norms_allow(sample, tolerance):
        return False
    few = _in_use(sample)
    if few is None:
        return False
    pairings = _pairings(few.shape[1])
    some = pairings[..., :: max(1, pairings.shape[2] // _SAMPLED_PAIRS)]
    promising = _circles(few.T[some].reshape(len(some), 2, -1), tolerance).fits
    if not promising.any():  # a learned table is refused in microseconds
        return False
    kept = _in_use(rows)
    if kept is None or np.ptp(kept, axis=0).max() < 1e-6:
        return False
    return any(_run_around(kept, pairing, tolerance) for pairing in pairings[promising])


def _norms_allow(rows: NDArray[np.float32], tolerance: float) -> bool:
    """Whether squared norms are a straight line of sums, as on any circle; else it is refused.

    With all pairs on the circle around (c, c) a row's squared norm is a constant plus 2c times its
    sum. The line is fitted; its error per row may be that of :func:`_circles`, for a circle whose
    square is at most four times the mean square of its points.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares, sums = np.vecdot(rows, rows).tolist(), rows.sum(axis=1).tolist()
    # Few numbers, and a processor that has just passed over a whole table: plain Python is faster.
    points = [(total, square) for total, square in zip(sums, squares, strict=True) if square > 0]
    if not points:
        return True
    mean_sum = sum(total for total, _ in points) / len(points)
    mean_square = sum(square for _, square in points) / len(points)
    spread = sum((total - mean_sum) ** 2 for total, _ in points)
    joint = sum((total - mean_sum) * (square - mean_square) for total, square in points)
    slope = joint / spread if spread > 0 else 0.0
    error = sum(
        (square - mean_square - slope * (total - mean_sum)) ** 2 for total, square in points
    )
    return not error > len(points) * (16 * (2 * tolerance + 1e-3) * mean_square) ** 2


def _in_use(rows: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """Rows other than zero; None if they could be no circle."""
    found: NDArray[np.float32] = rows[(rows != 0).any(axis=1)]
    if len(found) < 4 or not found.shape[1] or not np.isfinite(found).all():
        return None
    return found.astype(np.float64)


@lru_cache(maxsize=8)
def _pairings(width: int) -> NDArray[np.intp]:
    """Which dimension is the sine and which the cosine of each pair, in every published way.

    Returns
    -------
    array of shape (n_pairings, 2, width / 2)
    """
    dimensions = np.arange(width)
    found = [dimensions.reshape(-1, 2).T, dimensions.reshape(2, -1)]
    if width % 4 == 0:  # two image axes, each in halves
        found.append(dimensions.reshape(2, 2, -1).swapaxes(0, 1).reshape(2, -1))
    return np.stack(found)


class _Circles(NamedTuple):
    """Circles around (centre, centre), each fitted to all points of one pairing."""

    centre: NDArray[np.float64]  # (n_pairings,)
    radius_squared: NDArray[np.float64]  # (n_pairings,)
    fits: NDArray[np.bool_]  # (n_pairings,)


def _circles(points: NDArray[np.float64], tolerance: float) -> _Circles:
    """Fit circles to points of shape (n_pairings, 2, n_points), their sines and cosines."""
    # The circle's centre (c, c) and radius solve a linear system: some tables are standardised
    # after they are made (PatchTST), which moves and scales the circle.
    squares, sums = np.square(points).sum(axis=1), points.sum(axis=1)
    mean = sums.mean(axis=1)
    spread = sums - mean[:, None]
    slope = np.vecdot(spread, squares) / np.maximum(np.vecdot(spread, spread), 1e-30)
    centre = slope / 2
    radius_squared = squares.mean(axis=1) - slope * mean + 2 * centre**2
    # A circle makes the squares a straight line of the sums; this refuses nearly every table.
    off = np.ptp(squares - slope[:, None] * sums, axis=1)
    fits = (radius_squared > 0) & (off <= 8 * (2 * tolerance + 1e-3) * radius_squared)
    return _Circles(centre, radius_squared, fits)


def _run_around(kept: NDArray[np.float64], pairing: NDArray[np.intp], tolerance: float) -> bool:
    """Whether all pairs of dimensions, paired like this, run around one circle at steady speed."""
    sine, cosine = kept[:, pairing[0]], kept[:, pairing[1]]  # (n_rows, pairs)
    circle = _circles(np.stack([sine.ravel(), cosine.ravel()])[None], tolerance)
    if not circle.fits[0]:
        return False
    centre, radius = circle.centre[0], np.sqrt(circle.radius_squared[0])
    point = ((sine - centre) + 1j * (cosine - centre)) / radius
    if np.abs(np.abs(point) - 1).max() > 2 * tolerance + 1e-3:
        return False
    step = point[1:] * point[:-1].conj()  # (n_rows - 1, pairs)
    usual = np.median(step.real, axis=0) + 1j * np.median(step.imag, axis=0)
    even = np.abs(step - usual) < 4 * tolerance + 1e-2
    # On an image grid the column angle jumps back and the row angle moves once a line.
    return bool((even.mean(axis=0) > 0.7).all())


@dataclass(frozen=True)
class Look:
    """What one pass over a table's numbers shows.

    Parameters
    ----------
    sinusoid : bool
        Whether it is a fixed sinusoid.
    zero_rows, unfinite_rows : array of int
        Rows that are zero in every dimension; rows with a value that is NaN or infinite.
    only_nan : bool
        Whether none of those values is infinite, as a number beyond float32 becomes.
    first_equal : array of int or None
        For every row the first that is equal to it; None where a few rows gave no sign of any.
    """

    sinusoid: bool
    zero_rows: NDArray[np.intp]
    unfinite_rows: NDArray[np.intp]
    only_nan: bool
    first_equal: NDArray[np.intp] | None = None


def look(rows: NDArray[np.float32], dtype: str) -> Look:
    """One pass over a table of shape (n_rows, d_model), stored as `dtype`."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.vecdot(rows, rows)  # far cheaper than two tests of every value
    sinusoid = is_sinusoid(rows, dtype)
    first_equal = _first_equal(rows)
    if not len(squared) or (squared.min() > 0 and squared.max() < np.inf):  # false with a NaN
        return Look(sinusoid, _NONE, _NONE, only_nan=True, first_equal=first_equal)
    doubtful = np.flatnonzero(~np.isfinite(squared))  # or merely too large to square
    zero = np.flatnonzero(squared == 0)  # or merely too small
    unfinite = doubtful[~np.isfinite(rows[doubtful]).all(axis=1)]
    return Look(
        sinusoid,
        zero[~rows[zero].any(axis=1)],
        unfinite,
        only_nan=not np.isinf(rows[unfinite]).any(),
        first_equal=first_equal,
    )


def _first_equal(rows: NDArray[np.float32]) -> NDArray[np.intp] | None:
    """Which rows are equal, asked of all once a few (some evenly, the last two) hold the same."""
    last = len(rows) - 1
    few = {*range(0, last, max(1, len(rows) // _SAMPLE)), last - 1, last} if last > 0 else ()
    if len({rows[row, :_SAMPLED_PAIRS].tobytes() for row in few}) == len(few):
        return None
    return equal_rows(rows)
