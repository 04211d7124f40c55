"""How a table goes from one position to the next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import STRIP, row_norms, unit_rows

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]


def step_norms(weights: Array) -> Float64:
    """Length of the step from each row to the next, shape (n_rows - 1,), not centred."""
    return np.concatenate([np.zeros(0), *(row_norms(steps) for steps in _steps(weights))])


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
    mean = weights.mean(axis=0, dtype=np.float64)
    spread = sum(_energy(rows - mean) for rows in _strips(weights))
    return sum(_energy(steps) for steps in _steps(weights)) / spread if spread > 0 else None


def turning_cosine(weights: Array) -> float | None:
    """Mean cosine between each step and the next, in [-1, 1].

    1 on a straight line, near 1 on a smooth curve, -1/2 for independent rows: it tells jitter
    from a curve where the whole picture looks smooth. A pair with a step of length zero counts
    as 0. None below three rows or when no row differs from its neighbour.
    """
    n_turns = len(weights) - 2
    if n_turns < 1:
        return None
    total, moved = 0.0, False
    for steps in _steps(weights, shared=1):
        lengths = row_norms(steps)
        moved = moved or bool(lengths.any())
        dots = np.einsum("ij,ij->i", steps[:-1], steps[1:])
        sizes = lengths[:-1] * lengths[1:]
        cosines = np.divide(dots, sizes, out=np.zeros_like(dots), where=sizes > 0)
        total += float(np.clip(cosines, -1.0, 1.0).sum())
    return total / n_turns if moved else None


def curvature(weights: Array) -> float | None:
    """Root mean square of the second difference, p_(i+1) - 2 p_i + p_(i-1), in the weights' units.

    0 on a straight line walked evenly. A smooth curve with twice as many rows has a quarter of it;
    straight lines between the old rows keep their corners and have √2 times as much. None below
    three rows.
    """
    if len(weights) < 3:
        return None
    bends = sum(_energy(np.diff(steps, axis=0)) for steps in _steps(weights, shared=1))
    return float(np.sqrt(bends / (len(weights) - 2)))


def _strips(weights: Array, *, overlap: int = 0) -> Iterator[Float64]:
    """The rows in float64, a strip at a time, each with the first rows of the next.

    float64, since no square of a float32 overflows it or vanishes in it; strips, since whole
    float64 copies of a long table would be most of the time and memory.
    """
    for start in range(0, max(len(weights) - overlap, 0), STRIP):
        yield weights[start : start + STRIP + overlap].astype(np.float64)


def _steps(weights: Array, *, shared: int = 0) -> Iterator[Float64]:
    """Steps from row to row, a strip at a time; strips share ``shared`` steps."""
    for rows in _strips(weights, overlap=1 + shared):
        yield np.diff(rows, axis=0)


def _energy(rows: Float64) -> float:
    return float(np.einsum("ij,ij->", rows, rows))
