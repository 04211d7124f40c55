"""How alike positions are: all pairs, by offset, and how far only the offset matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.metrics import FLOAT32_MAX, cosines, metric_named
from posviz.analysis.pairs import (
    BLOCK,
    PairSums,
    row_norms,
    sums_by_blocks,
    sums_by_fourier,
    unit_rows,
)
from posviz.analysis.smoothness import step_norms
from posviz.analysis.threads import at_once

Array = NDArray[np.floating]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

LONG = 8192  # more rows have their distances taken in float32
EVERY_PAIR = 16_384  # longer tables: offsets by Fourier, no spread, no minimum


def similarity(weights: Array, metric: str = "cosine") -> Float32:
    """Similarity of every pair of positions.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    metric : key of METRICS

    Returns
    -------
    array of shape (n_rows, n_rows)
        float32, exactly symmetric. Cosines are in [-1, 1] with a diagonal of exactly 1; a zero
        row has cosine 0 with every row, itself included.

    Raises
    ------
    SettingError
        ``metric`` is not a key of METRICS.
    """
    chosen = metric_named(metric)
    rows = chosen.rows(weights)
    values = chosen.compare(rows, rows).astype(np.float32, copy=False)
    diagonal = np.einsum("ii->i", values)
    if chosen.limits == (-1.0, 1.0):
        diagonal[:] = diagonal > 0.5  # 1 but for rounding, or 0 for a zero row
    elif chosen.key == "euclidean":
        diagonal[:] = 0.0
    return values


@dataclass(frozen=True, eq=False)
class Pooled:
    """A similarity matrix small enough to paint: the mean over square blocks of pairs.

    Parameters
    ----------
    values : array of shape (side, side)
        Entry (a, b) is the mean over rows [a factor, (a + 1) factor) and columns likewise; the
        last block may be smaller.
    factor : int
        Rows in a block; 1 means that every pair is shown.
    low, high : float
        The smallest and largest of ``values``.
    """

    values: Float32
    factor: int
    low: float
    high: float


def pooled_similarity(weights: Array, metric: str = "cosine", side: int = 1024) -> Pooled:
    """Similarity of all pairs, averaged over blocks to at most ``side`` rows and columns.

    A mean of dot products is the dot product of means, so cosine and dot product of a long
    table come from its pooled rows and need no full matrix.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    metric : key of METRICS
    side : int
        Most rows of the result.

    Raises
    ------
    SettingError
        ``metric`` is not a key of METRICS.
    """
    chosen = metric_named(metric)
    factor = -(-len(weights) // side)
    if factor == 1:
        values = similarity(weights, metric)
    elif chosen.linear:
        pooled = pool(chosen.rows(weights), factor)
        values = chosen.compare(pooled, pooled).astype(np.float32, copy=False)
    else:
        rows, scale = _in_reach(chosen.rows(weights))
        height = max(1, BLOCK // factor) * factor

        def strip(start: int) -> Array:  # from the diagonal on: the rest mirrors it
            block = chosen.compare(rows[start : start + height], rows[start:])
            return pool(pool(block.T, factor).T, factor)

        starts = range(0, len(rows), height)
        upper = np.zeros((-(-len(rows) // factor),) * 2)
        with at_once() as threads:
            for start, means in zip(starts, threads.map(strip, starts), strict=True):
                upper[start // factor : start // factor + len(means), start // factor :] = means
        upper = np.triu(upper)
        both = scale * (upper + np.triu(upper, 1).T)
        values = np.clip(both, 0.0, FLOAT32_MAX).astype(np.float32)
    return Pooled(values, factor, float(values.min()), float(values.max()))


@dataclass(frozen=True, eq=False)
class OffsetProfile:
    """Similarity as a function of how far apart two positions are.

    Parameters
    ----------
    mean : array of shape (n_rows,)
        Entry k: mean similarity of the pairs (i, i + k).
    std : array of shape (n_rows,), or None
        Their standard deviation; None for linear metrics beyond EVERY_PAIR rows.
    """

    mean: Float64
    std: Float64 | None


def offset_profile(weights: Array, metric: str = "cosine") -> OffsetProfile:
    """Mean similarity, and its spread, at every offset from 0 to n_rows - 1.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    metric : key of METRICS

    Raises
    ------
    SettingError
        ``metric`` is not a key of METRICS.
    """
    chosen = metric_named(metric)
    rows = chosen.rows(weights)
    if not chosen.linear:
        rows, scale = _in_reach(rows)
        profile = profile_of(sums_by_blocks(rows, chosen.compare))
        assert profile.std is not None
        return OffsetProfile(scale * profile.mean, scale * profile.std)
    by_pairs = len(rows) <= EVERY_PAIR
    return profile_of(sums_by_blocks(rows, chosen.compare) if by_pairs else sums_by_fourier(rows))


def profile_of(sums: PairSums) -> OffsetProfile:
    """Mean and spread at every offset, from sums that have been taken already."""
    mean = sums.totals / sums.counts
    if sums.squares is None:
        return OffsetProfile(mean, None)
    return OffsetProfile(mean, np.sqrt(np.maximum(sums.squares / sums.counts - mean**2, 0.0)))


def adjacent(weights: Array, metric: str = "cosine") -> Float64:
    """Similarity of each row and the next, along position.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    metric : key of METRICS

    Returns
    -------
    array of shape (n_rows - 1,)

    Raises
    ------
    SettingError
        ``metric`` is not a key of METRICS.
    """
    chosen = metric_named(metric)
    if not chosen.linear:
        return step_norms(weights)
    rows = chosen.rows(weights)
    products: Float64 = np.einsum("ij,ij->i", rows[:-1], rows[1:], dtype=np.float64)
    return np.clip(products, *chosen.limits) if chosen.limits[0] is not None else products


def toeplitz_share(weights: Array, *, centred: bool = False) -> float | None:
    """How far the cosine of two positions depends on their offset alone.

    R² of replacing each cosine by the mean of its diagonal, over the pairs i < j.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    centred : bool
        Use the centred cosine.

    Returns
    -------
    float or None
        In [0, 1]: 1 for a sinusoidal table (not centred), near 0 for independent rows. None
        when all cosines agree, so that there is nothing to explain.
    """
    return cosine_sums(weights, centred=centred).toeplitz_share()


def cosine_sums(weights: Array, *, centred: bool = False, every_pair: int = EVERY_PAIR) -> PairSums:
    """The pair sums of the cosine: block by block up to ``every_pair`` rows, else by Fourier."""
    rows = unit_rows(weights, centred=centred)
    return sums_by_blocks(rows, cosines) if len(rows) <= every_pair else sums_by_fourier(rows)


def _in_reach(rows: Array) -> tuple[Array, float]:
    """Rows to take distances of, and what to multiply those by.

    Beyond LONG rows as float32 of at most length 1, in a third of the time: such a table has its
    pairs painted and averaged, never told one by one.
    """
    if len(rows) <= LONG:
        return rows, 1.0
    scale = float(row_norms(rows).max()) or 1.0
    return (rows / scale).astype(np.float32), scale


def pool(rows: Array, factor: int) -> Array:
    """Means over runs of ``factor`` rows, in float64; the last run may be shorter."""
    starts = np.arange(0, len(rows), factor)
    counts = np.minimum(factor, len(rows) - starts)
    pooled: Array = np.add.reduceat(rows, starts, axis=0, dtype=np.float64) / counts[:, None]
    return pooled
