"""What the numbers themselves say: a stored sinusoid, rows of zeros, rows that are not finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = {"F64": 1e-4, "F32": 1e-4, "F16": 4e-3, "BF16": 3e-2}
_COARSE = 0.1  # float8 and quantised types
_SAMPLE = 8  # rows that decide whether the whole table is worth a look


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
    sample = rows[:: max(1, len(rows) // _SAMPLE)]  # refuses a learned table in microseconds
    return _circles(sample, dtype, steady=False) and _circles(rows, dtype, steady=True)


def _circles(rows: NDArray[np.float32], dtype: str, *, steady: bool) -> bool:
    found = rows[(rows != 0).any(axis=1)]
    width = found.shape[1] // 2 * 2
    if len(found) < 4 or width < 2 or not np.isfinite(found).all():
        return False
    kept = found[:, :width].astype(np.float64)
    if np.ptp(kept, axis=0).max() < 1e-6:
        return False
    halves = kept.reshape(len(kept), 2, -1)
    pairings = [(kept[:, 0::2], kept[:, 1::2]), (halves[:, 0], halves[:, 1])]
    if width % 4 == 0:
        quarters = kept.reshape(len(kept), 2, 2, -1)
        sines, cosines = (quarters[:, :, side].reshape(len(kept), -1) for side in (0, 1))
        pairings.append((sines, cosines))
    tolerance = _TOLERANCE.get(dtype, _COARSE)
    return any(_on_circle(sine, cosine, tolerance, steady) for sine, cosine in pairings)


def _on_circle(
    sine: NDArray[np.float64], cosine: NDArray[np.float64], tolerance: float, steady: bool
) -> bool:
    """Whether points (sine, cosine), (n_rows, pairs) each, share a circle, at steady speed."""
    # The circle's centre (c, c) and radius solve a linear system: some tables are standardised
    # after they are made (PatchTST), which moves and scales the circle.
    squares, sums = (sine**2 + cosine**2).ravel(), (sine + cosine).ravel()
    spread = sums - sums.mean()
    slope = float(spread @ squares) / max(float(spread @ spread), 1e-30)
    centre = slope / 2
    radius_squared = float(squares.mean() - slope * sums.mean()) + 2 * centre**2
    if radius_squared <= 0:
        return False
    # A circle makes the squares a straight line of the sums; this refuses nearly every table.
    off = squares - slope * sums
    if np.ptp(off) > 8 * (2 * tolerance + 1e-3) * radius_squared:
        return False
    point = ((sine - centre) + 1j * (cosine - centre)) / np.sqrt(radius_squared)
    if np.abs(np.abs(point) - 1).max() > 2 * tolerance + 1e-3:
        return False
    if not steady:
        return True
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
    """

    sinusoid: bool
    zero_rows: NDArray[np.intp]
    unfinite_rows: NDArray[np.intp]
    only_nan: bool


def look(rows: NDArray[np.float32], dtype: str) -> Look:
    """One pass over a table of shape (n_rows, d_model), stored as `dtype`."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.einsum("ij,ij->i", rows, rows)  # far cheaper than two tests of every value
    doubtful = np.flatnonzero(~np.isfinite(squared))  # or merely too large to square
    zero = np.flatnonzero(squared == 0)  # or merely too small
    unfinite = doubtful[~np.isfinite(rows[doubtful]).all(axis=1)]
    return Look(
        is_sinusoid(rows, dtype),
        zero[~rows[zero].any(axis=1)],
        unfinite,
        only_nan=not np.isinf(rows[unfinite]).any(),
    )
