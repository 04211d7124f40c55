"""Sums over all pairs of positions, without ever holding all pairs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import RESOLUTION

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]
Compare = Callable[[Array, Array], Array]

BLOCK = 512  # rows compared at a time: a block of 16,384 columns is 32 MiB of float32
STRIP = 256  # rows prepared at a time: what fits in a processor's cache goes fastest
TAME = 1e-30  # squared lengths between this and its inverse are safe in float32
COLUMNS = 64  # columns transformed at a time


@dataclass(frozen=True, eq=False)
class PairSums:
    """What the pairs (i, i + k) of a table add up to, offset by offset.

    Parameters
    ----------
    totals : array of shape (n_rows,)
        Entry k is the sum of the similarities of the n_rows - k pairs at offset k.
    squares : array of shape (n_rows,), or None
        The same of their squares, where every pair was looked at.
    squared_pairs : float
        Sum of the squares over all pairs i < j.
    low : float or None
        The smallest similarity of any pair, where every pair was looked at.
    """

    totals: Float64
    squares: Float64 | None
    squared_pairs: float
    low: float | None

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many pairs each offset has."""
        return np.arange(len(self.totals), 0, -1)

    def toeplitz_share(self) -> float | None:
        """R² of "similarity depends on the offset alone", over pairs i < j; None if all agree."""
        return explained_by_offset(self)


def explained_by_offset(*sides: PairSums) -> float | None:
    """R² of the mean at each offset, over the pairs i < j of all sides; None if all agree.

    Parameters
    ----------
    *sides : PairSums
        One for a symmetric matrix or one of its triangles; two, of a matrix and its transpose,
        for a matrix that tells (i, j) from (j, i).
    """
    counts = np.concatenate([side.counts[1:] for side in sides])
    totals = np.concatenate([side.totals[1:] for side in sides])
    squared = sum(side.squared_pairs for side in sides)
    if not len(counts):
        return None
    n_pairs = counts.sum()
    spread = squared - totals.sum() ** 2 / n_pairs
    # Cosines are known to about 1e-6; below that they all agree and there is no share.
    if spread <= 1e-12 * max(n_pairs, squared):
        return None
    rest = squared - (totals**2 / counts).sum()
    return float(np.clip(1.0 - rest / spread, 0.0, 1.0))


def unit_rows(weights: Array, *, centred: bool = False) -> NDArray[np.float32]:
    """Rows scaled to length 1, centred first if asked; a zero row stays zero.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    centred : bool
        Take the mean row away first. A row that then differs from the mean by less than float32
        can tell counts as zero.

    Returns
    -------
    array of shape (n_rows, d_model)
        float32; lengths are taken in float64 where a square might not fit float32.
    """
    units = np.empty(weights.shape, dtype=np.float32)
    mean = weights.mean(axis=0, dtype=np.float64) if centred else np.float64(0)
    floor = RESOLUTION * float(row_norms(weights).max(initial=0.0)) if centred else 0.0
    for start in range(0, len(weights), STRIP):
        strip = weights[start : start + STRIP]
        if not centred and strip.dtype == np.float32:
            with np.errstate(over="ignore"):
                squares = np.linalg.vecdot(strip, strip)
            if ((squares > TAME) & (squares < 1 / TAME)).all():
                # No square overflows or vanishes, so float32 does, in a third of the time.
                np.divide(strip, np.sqrt(squares)[:, None], out=units[start : start + STRIP])
                continue
        rows = strip - mean  # float64
        norms = row_norms(rows)
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > floor)
        units[start : start + STRIP] = rows * scale[:, None]
    return units


def row_norms(weights: Array) -> Float64:
    """Euclidean length of every row, in float64, shape (n_rows,)."""
    norms: Float64 = np.sqrt(np.einsum("ij,ij->i", weights, weights, dtype=np.float64))
    return norms


def sums_by_blocks(rows: Array, compare: Compare) -> PairSums:
    """Look at every pair i <= j once, a block of rows at a time.

    Parameters
    ----------
    rows : array of shape (n_rows, m)
    compare : function of two such arrays
        Gives the (left rows, right rows) similarities.
    """
    n_rows = len(rows)
    totals, squares = np.zeros(n_rows), np.zeros(n_rows)
    low = np.inf
    for start in range(0, n_rows, BLOCK):
        block = compare(rows[start : start + BLOCK], rows[start:])
        low = min(low, float(block.min()))
        for by_offset in _lean(block):  # column k holds offset k
            width = min(by_offset.shape[1], n_rows)
            totals[:width] += by_offset.sum(axis=0, dtype=np.float64)[:width]
            # In float64: a spread of zero (sinusoids) must not be lost in the rounding of squares.
            square = np.einsum("ij,ij->j", by_offset, by_offset, dtype=np.float64)
            squares[:width] += square[:width]
    return PairSums(totals, squares, float(squares[1:].sum()), low)


def sums_by_fourier(rows: Array) -> PairSums:
    """The same sums for dot products, from the autocorrelation along position.

    Sum over i of <r_i, r_(i+k)> is an autocorrelation, so a transform gives every offset at
    once; the sum of all squared dot products is the squared norm of the small Gram matrix. No
    pair is looked at, so neither spread nor minimum are known.

    Parameters
    ----------
    rows : array of shape (n_rows, d_model)
    """
    from scipy import fft

    n_rows, d_model = rows.shape
    length = fft.next_fast_len(2 * n_rows - 1, real=True)  # long enough for no wrap
    power = np.zeros(length // 2 + 1)
    for start in range(0, d_model, COLUMNS):
        columns = rows[:, start : start + COLUMNS].astype(np.float64)
        spectra = fft.rfft(columns, length, axis=0).view(np.float64)  # real and imaginary parts
        power += np.einsum("ij,ij->i", spectra, spectra)
    totals: Float64 = fft.irfft(power, length)[:n_rows]
    gram = rows.T @ rows if n_rows >= d_model else rows @ rows.T
    own = np.square(np.square(row_norms(rows))).sum()
    squared_pairs = float(np.einsum("ij,ij->", gram, gram, dtype=np.float64) - own) / 2
    return PairSums(totals, None, squared_pairs, None)


def sums_of_shuffles(
    tables: Sequence[Array], orders: Sequence[NDArray[np.int64]], *, low: bool
) -> Iterator[list[PairSums]]:
    """The same sums for the dot products of rows in other orders, from one product a table.

    A shuffle moves every pair to another offset and leaves its value as it is, so the sum of all
    squares and the smallest stay what they are.

    Parameters
    ----------
    tables : sequence of arrays of shape (n_rows, d_model)
        Unit rows, or zero ones, of tables that are shuffled together.
    orders : sequence of arrays of shape (n_rows,)
        Row t of a shuffle is row ``order[t]`` of the table.
    low : bool
        Whether to tell the smallest.

    Yields
    ------
    list of PairSums
        One a table, for each order in turn.
    """
    n_rows = len(tables[0])
    upper = np.triu(np.ones((n_rows, n_rows), dtype=bool), 1)
    products = [np.clip(rows @ rows.T, -1.0, 1.0) for rows in tables]
    pairs = [product[upper].astype(np.float64) for product in products]
    own = [float(np.trace(product, dtype=np.float64)) for product in products]
    least = [float(values.min(initial=1.0)) if low else None for values in pairs]
    squared = [float(values @ values) for values in pairs]
    for order in orders:
        place = np.argsort(order).astype(np.int32)
        apart = place[:, None] - place
        offsets = np.abs(apart, out=apart)[upper]
        totals = [
            np.bincount(offsets, weights=values, minlength=n_rows).astype(np.float64)
            for values in pairs
        ]
        for sums, diagonal in zip(totals, own, strict=True):
            sums[0] = diagonal
        yield [
            PairSums(sums, None, squares, smallest)
            for sums, squares, smallest in zip(totals, squared, least, strict=True)
        ]


def _lean(block: Array) -> tuple[Array, Array]:
    """A block sheared in place, so that entry (i, j) stands in column j - i; those left of i are 0.

    Read with one column more, each row of a matrix begins one entry earlier than the row before.
    So nothing is copied: all rows but the last come as one array, the last as another.
    """
    height, width = block.shape
    corner = block[:, :height]
    corner[np.tri(height, k=-1, dtype=bool)] = 0
    flat = block.reshape(-1)
    full = (height - 1) * (width + 1)
    return flat[:full].reshape(height - 1, width + 1), flat[None, full:]
