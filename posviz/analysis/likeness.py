"""How alike two shapes are: arrays of rows with one row a position, of any two widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import unit_rows

if TYPE_CHECKING:
    from posviz.analysis.decomposition import Decomposition

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

SUBSPACE = 10  # leading components whose subspaces are compared
NULL_TURNS = 200_000_000  # multiplications that finding rotations for shuffles may cost


def cka(x: Array, y: Array) -> float | None:
    """Linear centred kernel alignment of two arrays with the same number of rows.

    ||X^T Y||² / (||X^T X|| ||Y^T Y||) with centred columns, in [0, 1]; None where one of them
    has no variance.

    References
    ----------
    Kornblith et al. (2019), arXiv:1905.00414.
    """
    x, y = _unit(x), _unit(y)
    if not x.any() or not y.any():
        return None
    shared = np.square(x.T @ y).sum()
    return float(shared / np.sqrt(np.square(x.T @ x).sum() * np.square(y.T @ y).sum()))


@dataclass(frozen=True, eq=False)
class Alignment:
    """The second shape laid over the first.

    Parameters
    ----------
    residual : float
        1 - (sum of singular values of X^T Y)², both centred and of unit size: in [0, 1].
    aligned : array of shape (n_rows, wider of both)
        The second, rotated (a mirror image is allowed) and scaled to fit the first, about 0.
    reference : array of the same shape
        The first, centred; the narrower of the two is filled up with zeros.
    """

    residual: float
    aligned: Float64
    reference: Float64


def align(x: Array, y: Array) -> Alignment:
    """Rotate and scale ``y`` (n_rows, k) onto ``x`` (n_rows, m): orthogonal Procrustes.

    References
    ----------
    Schönemann (1966), "A generalized solution of the orthogonal Procrustes problem",
    Psychometrika 31(1).
    """
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (x, y))
    reference = x - x.mean(axis=0, dtype=np.float64)
    x, y = _unit(x), _unit(y)
    left, values, right = np.linalg.svd(x.T @ y)
    fit = min(float(values.sum()), 1.0)
    size = np.linalg.norm(reference)
    return Alignment(1 - fit**2, fit * size * (y @ (left @ right).T), reference)


def principal_angles(a: Decomposition, b: Decomposition, *, k: int = SUBSPACE) -> Float64 | None:
    """Angles between the subspaces of the first ``k`` axes, in degrees, smallest first.

    None for tables of different widths: their dimensions have nothing to do with each other. So
    are those of two models trained apart, and 90 is then no surprise.

    References
    ----------
    Björck and Golub (1973), "Numerical methods for computing angles between linear subspaces",
    Mathematics of Computation 27(123).
    """
    if a.axes.shape[1] != b.axes.shape[1]:
        return None
    first, second = a.axes[: min(k, a.rank)], b.axes[: min(k, b.rank)]
    if not len(first) or not len(second):
        return None
    cosines = np.linalg.svd(first @ second.T, compute_uv=False)
    # The cosine is blind below 1e-8 radians, and so to 1e-6 degrees: enough for a screen.
    angles: Float64 = np.degrees(np.arccos(np.clip(cosines, 0.0, 1.0)))
    return angles


def cosine_agreement(x: Array, y: Array) -> float | None:
    """Correlation of the cosines of two arrays with the same number of rows, over pairs i < j.

    In [-1, 1]; not centred. None below three rows or where all cosines of one of them agree.

    References
    ----------
    Kriegeskorte, Mur and Bandettini (2008), "Representational similarity analysis", Frontiers in
    Systems Neuroscience 2.
    """
    u, v = (unit_rows(rows).astype(np.float64) for rows in (x, y))
    return agreement(u, v, moments(u), moments(v))


def agreement(
    u: Float64, v: Float64, of_u: tuple[float, float], of_v: tuple[float, float]
) -> float | None:
    """:func:`cosine_agreement` of unit rows, once their moments are known.

    Parameters
    ----------
    u, v : arrays of shape (n_rows, any width)
        Rows of length 1, or 0; not centred.
    of_u, of_v : (float, float)
        Their :func:`moments`.
    """
    # No pair is looked at: over all of them, Σ (u_i · u_j)(v_i · v_j) = |U'V|².
    (mean_u, spread_u), (mean_v, spread_v) = of_u, of_v
    # Cosines are known to about 1e-6; below that they all agree.
    if min(spread_u, spread_v) <= 1e-12:
        return None
    own = np.einsum("ij,ij->i", u, u) * np.einsum("ij,ij->i", v, v)
    product = _mean_of_pairs(np.square(u.T @ v).sum(), own)
    return float(np.clip((product - mean_u * mean_v) / np.sqrt(spread_u * spread_v), -1.0, 1.0))


def moments(u: Float64) -> tuple[float, float]:
    """Mean and variance of the cosines of unit rows over pairs i < j; zeros below three rows."""
    if len(u) < 3:
        return 0.0, 0.0
    own = np.einsum("ij,ij->i", u, u)  # 1, or 0 for a zero row
    mean = _mean_of_pairs(np.square(u.sum(axis=0)).sum(), own)
    return mean, _mean_of_pairs(np.square(u.T @ u).sum(), own**2) - mean**2


def _mean_of_pairs(everything: float, diagonal: Float64) -> float:
    """Mean over i < j of a symmetric matrix, from the sum of all and its diagonal."""
    n_rows = len(diagonal)
    return float(everything - diagonal.sum()) / (n_rows * (n_rows - 1))


@dataclass(frozen=True)
class Shuffled:
    """The numbers of each shuffle; empty where they do not exist."""

    cka: list[float]
    procrustes: list[float]
    cosine_agreement: list[float]


def shuffled(
    x: Float64, y: Float64, u: Float64, v: Float64, *, repeats: int, seed: int
) -> Shuffled:
    """How alike two shapes are when the rows of the second are shuffled.

    Parameters
    ----------
    x, y : arrays of shape (n_rows, any width)
    u, v : arrays of the same shapes
        Their rows at length 1; not centred.
    repeats, seed : int
        How many shuffles, and where they begin. Wide tables are rotated for fewer of them.
    """
    x, y = _unit(x), _unit(y)
    null = Shuffled([], [], [])
    if not x.any() or not y.any():
        return null
    rng = np.random.default_rng(seed)
    size = float(np.sqrt(np.square(x.T @ x).sum() * np.square(y.T @ y).sum()))
    turns = int(np.clip(NULL_TURNS // max(x.shape[1], y.shape[1]) ** 3, 1, repeats))
    of_u, of_v = moments(u), moments(v)
    for repeat in range(repeats):
        order = rng.permutation(len(y))
        # Both are centred already, and a shuffle keeps them so: only the numerator changes.
        cross = x.T @ y[order]
        null.cka.append(float(np.square(cross).sum()) / size)
        if repeat < turns:
            fit = min(float(np.linalg.svd(cross, compute_uv=False).sum()), 1.0)
            null.procrustes.append(1 - fit**2)
        if (agrees := agreement(u, v[order], of_u, of_v)) is not None:
            null.cosine_agreement.append(agrees)
    return null


def _unit(rows: Array) -> Float64:
    centred: Float64 = rows - rows.mean(axis=0, dtype=np.float64)
    size = float(np.linalg.norm(centred))
    return centred / size if size > 0 else centred
