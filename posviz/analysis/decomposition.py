"""One decomposition: spectrum, principal axes, scores and effective ranks from the same numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

# A table stored in float32 fixes its singular values to about this share of the largest; what
# lies below is rounding, and is set to zero.
STRIP = 4096  # rows centred at a time

RESOLUTION = float(np.finfo(np.float32).eps) / 2


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The singular value decomposition of a table, largest first.

    Signs: the loading of largest size on each axis is positive, so curves keep their
    orientation between runs and machines.

    Parameters
    ----------
    singular_values : array of shape (min(n_rows, d_model),)
        In the units of the weights. Exactly zero where float32 cannot tell it from zero.
    explained_variance_ratio : array of the same shape, or None
        Squared singular values over their sum; None when every row is the same.
    axes : array of shape (min(n_rows, d_model), d_model)
        Principal axes as unit rows; a row of zeros where the singular value is zero.
    mean : array of shape (d_model,)
        What was taken from each row: their mean when centred, else zeros.
    n_rows : int
    centred : bool
    weights : array of shape (n_rows, d_model)
        The rows decomposed, as they came.
    """

    singular_values: Float64
    explained_variance_ratio: Float64 | None
    axes: Float64
    mean: Float64
    n_rows: int
    centred: bool
    weights: Array

    @property
    def rank(self) -> int:
        """How many singular values are not zero."""
        return int(np.count_nonzero(self.singular_values))

    def scores(self, k: int) -> Float64:
        """Coordinates of every row on the first ``k`` axes, shape (n_rows, at most k)."""
        axes = self.axes[:k]
        scores: Float64 = self.weights.astype(np.float64, copy=False) @ axes.T - self.mean @ axes.T
        return scores

    def components_for(self, share: float) -> int | None:
        """The fewest components that hold at least ``share`` of the variance; None without any."""
        return components_for(self.explained_variance_ratio, share)

    def reconstruct(self, k: int) -> Float64:
        """The best table of rank ``k`` (plus the mean), shape (n_rows, d_model)."""
        rows: Float64 = self.scores(k) @ self.axes[:k] + self.mean
        return rows


def decompose(weights: Array, *, centred: bool = True) -> Decomposition:
    """Decompose a table through the eigenvectors of its float64 Gram matrix.

    The Gram matrix of the smaller side gives the whole spectrum to about 1e-12 of the largest
    value, several times faster than a singular value decomposition of the table.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
        Finite values, any real type; computed in float64.
    centred : bool
        Take the mean row away first. PCA is the centred one.

    Returns
    -------
    Decomposition
    """
    singular_values, vectors, mean = _eigen(weights, centred=centred, vectors=True)
    assert vectors is not None
    n_rows, d_model = weights.shape
    alive = singular_values > 0
    if n_rows >= d_model:
        axes = np.where(alive[:, None], vectors.T, 0.0)
    else:  # vectors are the left ones: axis = u^T X / s
        axes = np.zeros((n_rows, d_model))
        table = weights - mean
        axes[alive] = (vectors.T[alive] @ table) / singular_values[alive, None]
    largest = np.abs(axes).argmax(axis=1)
    axes *= np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    return Decomposition(
        singular_values=singular_values,
        explained_variance_ratio=variance_ratio(singular_values),
        axes=axes,
        mean=mean,
        n_rows=n_rows,
        centred=centred,
        weights=weights,
    )


def spectrum(weights: Array, *, centred: bool = True) -> Float64:
    """The singular values of :func:`decompose` alone, at a third of its time: for null tables."""
    return _eigen(weights, centred=centred, vectors=False)[0]


def joined(parts: list[Float64], n_rows: int, d_model: int) -> Float64:
    """The spectrum of a centred table that splits into parts at right angles to each other."""
    values = np.sort(np.concatenate(parts))[::-1]
    values = np.pad(values, (0, min(n_rows, d_model)))[: min(n_rows, d_model)]
    return _floored(values, n_rows - 1)


def variance_ratio(singular_values: Array) -> Float64 | None:
    """Squared singular values over their sum; None when all are zero."""
    largest = singular_values.max(initial=0.0)
    if largest == 0:
        return None
    variance: Float64 = np.square(singular_values / largest, dtype=np.float64)
    ratio: Float64 = variance / variance.sum()
    return ratio


def components_for(explained_variance_ratio: Float64 | None, share: float) -> int | None:
    """The fewest components that hold at least ``share`` of the variance; None without any."""
    if explained_variance_ratio is None:
        return None
    reached = int(np.searchsorted(np.cumsum(explained_variance_ratio), share)) + 1
    # The sum may end a rounding below a share of 1: no more than the components there are.
    return min(reached, int(np.count_nonzero(explained_variance_ratio)))


def _eigen(
    weights: Array, *, centred: bool, vectors: bool
) -> tuple[Float64, Float64 | None, Float64]:
    n_rows, d_model = weights.shape
    mean = weights.mean(axis=0, dtype=np.float64) if centred else np.zeros(d_model)
    if n_rows >= d_model:
        gram = np.zeros((d_model, d_model))
        for start in range(0, n_rows, STRIP):  # no second copy of a long table in float64
            strip = weights[start : start + STRIP] - mean
            gram += strip.T @ strip
    else:
        table = weights - mean
        gram = table @ table.T
    if vectors:
        eigenvalues, ascending = np.linalg.eigh(gram)
        columns = ascending[:, ::-1]
    else:
        eigenvalues, columns = np.linalg.eigvalsh(gram), None
    values = np.sqrt(np.maximum(eigenvalues[::-1], 0.0))
    # Centred rows add up to zero: one dimension fewer than rows.
    return _floored(values, n_rows - 1 if centred else n_rows), columns, mean


def _floored(values: Float64, most: int) -> Float64:
    """Falling singular values with zeros where they are rounding, and at most ``most`` others."""
    kept = np.arange(len(values)) < most
    kept &= values > RESOLUTION * values[0]
    floored: Float64 = np.where(kept, values, 0.0)
    return floored


@dataclass(frozen=True)
class EffectiveRank:
    """Four numbers that all get called "effective rank"; each is 1 for rank one.

    Parameters
    ----------
    singular_entropy : float or None
        exp of the entropy of s / sum(s) (Roy and Vetterli). Counts small values most.
    variance_entropy : float or None
        exp of the entropy of s² / sum(s²).
    participation : float or None
        (sum s²)² / sum s⁴, the participation ratio.
    stable : float or None
        sum s² / max s²: squared Frobenius over squared spectral norm.
    """

    singular_entropy: float | None
    variance_entropy: float | None
    participation: float | None
    stable: float | None


def effective_rank(singular_values: Array) -> EffectiveRank:
    """The four effective ranks of a spectrum; all None when every value is zero.

    Parameters
    ----------
    singular_values : array of shape (k,)
        Not negative, in any order and scale.

    References
    ----------
    Roy and Vetterli (2007), "The effective rank: a measure of effective dimensionality",
    EUSIPCO.
    """
    alive = np.asarray(singular_values, dtype=np.float64)
    alive = alive[alive > 0]
    if not alive.size:
        return EffectiveRank(None, None, None, None)
    alive = alive / alive.max()
    variance = alive**2
    return EffectiveRank(
        singular_entropy=_entropy_rank(alive),
        variance_entropy=_entropy_rank(variance),
        participation=float(variance.sum() ** 2 / (variance**2).sum()),
        stable=float(variance.sum()),
    )


def _entropy_rank(values: Float64) -> float:
    share = values / values.sum()
    share = share[share > 0]  # squares of tiny values underflow to nothing
    return float(np.exp(-(share * np.log(share)).sum()))
