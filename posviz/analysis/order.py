"""Does the table know its own order? Three tests that need no model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import BLOCK, unit_rows

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

SERIATED_ROWS = 1024  # longer tables: evenly spaced rows
TIES = 8
FAINT = 1e-6
SLOW_BINS = 8


def nearest_neighbour_order(weights: Array) -> float | None:
    """Share of rows whose most similar other row is the one before or after.

    By centred cosine. In [0, 1]; about 2 / n_rows for independent rows. None below three rows or
    where every row is the same.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    """
    rows = unit_rows(weights, centred=True)
    if len(rows) < 3 or not rows.any():
        return None
    hits = 0
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK] @ rows.T
        own = np.arange(start, start + len(block))
        block[np.arange(len(block)), own] = -np.inf
        hits += int((np.abs(block.argmax(axis=1) - own) == 1).sum())
    return hits / len(rows)


@dataclass(frozen=True, eq=False)
class Seriation:
    """The rows put in order by their similarity alone.

    Parameters
    ----------
    tau : float
        Kendall's rank correlation of the order found with the true one, without sign, in [0, 1].
    order : array of shape (n,)
        Positions in the order found, turned so that it runs forwards.
    """

    tau: float
    order: NDArray[np.int64]


def seriation(weights: Array) -> Seriation | None:
    """Recover the order of rows from the graph of their similarities.

    Each row is tied to the 8 most similar others (centred cosine, where positive), and rows are
    sorted by the Fiedler vector of that graph, the second eigenvector of its Laplacian. Near ties
    only: a helix comes round again, and far similarity would fold it up. None below three rows or
    where no rows are alike. Tables of more than 1,024 rows are thinned evenly.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)

    References
    ----------
    Atkins, Boman and Hendrickson (1998), "A spectral algorithm for seriation and the consecutive
    ones problem", SIAM Journal on Computing 28(1).
    """
    positions = np.arange(0, len(weights), -(-len(weights) // SERIATED_ROWS))
    rows = unit_rows(weights[positions], centred=True).astype(np.float64)
    alike = np.maximum(rows @ rows.T, 0.0)
    np.fill_diagonal(alike, 0.0)
    if len(rows) < 3 or not alike.any():
        return None
    from scipy.stats import kendalltau

    ties = min(TIES, len(rows) - 1)
    weakest = np.partition(alike, -ties, axis=1)[:, -ties, None]
    graph = np.where(alike >= weakest, alike, 0.0)
    graph = np.maximum(graph, graph.T) + FAINT * alike  # in one piece, or order means nothing
    laplacian = np.diag(graph.sum(axis=1)) - graph
    fiedler = np.linalg.eigh(laplacian)[1][:, 1]
    order = np.argsort(fiedler, kind="stable")
    tau = float(kendalltau(order, np.arange(len(order))).statistic)
    return Seriation(abs(tau), positions[order if tau >= 0 else order[::-1]])


def low_dct_share(weights: Array, *, bins: int = SLOW_BINS) -> float | None:
    """Share of the variance along position in the slowest ``bins`` cosine waves.

    Energy of the orthonormal DCT-II along position over all dimensions, its constant left out: the
    part in bins 1 to ``bins``. In [0, 1]; bins / (n_rows - 1) for independent rows. None where
    every row is the same.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    bins : int
    """
    from scipy.fft import dct

    waves = dct(weights.astype(np.float64), type=2, norm="ortho", axis=0)[1:]
    energy: Float64 = np.einsum("ij,ij->i", waves, waves)
    # A constant table leaves rounding in its waves.
    floor = 1e-24 * float(np.square(weights, dtype=np.float64).sum()) * len(weights)
    total = float(energy.sum())
    return float(energy[:bins].sum()) / total if total > floor else None
