"""A part of the picture of all pairs, in as much detail as a screen can show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.metrics import METRICS
from posviz.analysis.similarity import pool

Array = NDArray[np.floating]
Float32 = NDArray[np.float32]

MOST_PAIRS = 20_000_000  # of a part whose pairs must be looked at one by one


def similarity_window(
    weights: Array,
    metric: str,
    rows: tuple[int, int],
    columns: tuple[int, int],
    side: int = 1024,
) -> tuple[Float32, int] | None:
    """Similarity of some rows with others, averaged over blocks to at most ``side`` cells a side.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
        The whole table: what is centred is centred with the mean of all rows.
    metric : key of METRICS
    rows, columns : (int, int)
        First and last.
    side : int

    Returns
    -------
    (array, int) or None
        The means, and how many rows and columns a cell stands for. None where the part is too
        large for distances, which cannot be averaged before they are taken.
    """
    chosen = METRICS[metric]
    (top, bottom), (left, right) = rows, columns
    height, width = bottom - top + 1, right - left + 1
    factor = -(-max(height, width) // side)
    prepared = chosen.rows(weights)
    down, across = prepared[top : bottom + 1], prepared[left : right + 1]
    if chosen.linear:
        # A mean of dot products is the dot product of means.
        values = chosen.compare(pool(down, factor), pool(across, factor))
    elif height * width <= MOST_PAIRS:
        values = pool(pool(chosen.compare(down, across), factor).T, factor).T
    else:
        return None
    return values.astype(np.float32), factor
