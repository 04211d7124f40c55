"""How a table goes from one position to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import unit_rows

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]


def step_norms(weights: Array) -> Float64:
    """Length of the step from each row to the next, shape (n_rows - 1,), not centred."""
    norms: Float64 = np.linalg.norm(_steps(weights), axis=1)
    return norms


def adjacent_cosine(weights: Array, *, centred: bool = False) -> Float64:
    """Cosine of each row with the next.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    centred : bool
        Take the mean row away first.

    Returns
    -------
    array of shape (n_rows - 1,)
        In [-1, 1]; 0 where a row is zero.
    """
    rows = unit_rows(weights, centred=centred)
    cosines: Float64 = np.einsum("ij,ij->i", rows[:-1], rows[1:], dtype=np.float64)
    return np.clip(cosines, -1.0, 1.0, out=cosines)


def roughness(weights: Array) -> float | None:
    """The von Neumann ratio: squared steps over squared distances from the mean row.

    Scale-free: 0 for a smooth curve of many rows, 2 for independent rows, 4 for rows that
    alternate. None when every row is the same.

    References
    ----------
    von Neumann (1941), "Distribution of the ratio of the mean square successive difference to
    the variance", Annals of Mathematical Statistics 12(4).
    """
    spread = _energy(weights - weights.mean(axis=0, dtype=np.float64))
    return _energy(_steps(weights)) / spread if spread > 0 else None


def turning_cosine(weights: Array) -> float | None:
    """Mean cosine between each step and the next, in [-1, 1].

    1 on a straight line, near 1 on a smooth curve, -1/2 for independent rows: it tells jitter
    from a curve where the whole picture looks smooth. A pair with a step of length zero counts
    as 0. None below three rows or when no row differs from its neighbour.
    """
    steps = _steps(weights)
    lengths = np.linalg.norm(steps, axis=1)
    if len(steps) < 2 or not lengths.any():
        return None
    dots = np.einsum("ij,ij->i", steps[:-1], steps[1:])
    sizes = lengths[:-1] * lengths[1:]
    cosines = np.divide(dots, sizes, out=np.zeros_like(dots), where=sizes > 0)
    return float(np.clip(cosines, -1.0, 1.0).mean())


def _steps(weights: Array) -> Float64:
    # float64: the square of no float32 overflows it or vanishes in it.
    steps: Float64 = np.diff(weights.astype(np.float64, copy=False), axis=0)
    return steps


def _energy(rows: Float64) -> float:
    return float(np.einsum("ij,ij->", rows, rows))
