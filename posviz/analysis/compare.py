"""Two tables side by side: whether they hold the same structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import Decomposition, decompose
from posviz.analysis.measures import Scalars, measure, nested

if TYPE_CHECKING:
    from posviz.table import PositionTable

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

SUBSPACE = 10  # leading components whose subspaces are compared
NULL_REPEATS = 20


@dataclass(frozen=True, eq=False)
class Comparison:
    """How alike two tables are, over the positions that both have.

    Parameters
    ----------
    cka : float or None
        Linear centred kernel alignment, in [0, 1]: 1 when the rows lie alike up to rotation and
        scale. Biased upwards where there are fewer rows than dimensions: read it beside the null.
    cka_null : float or None
        95th percentile of the same with the second table's rows shuffled.
    procrustes : float or None
        What of the shape is left different after the best rotation and scaling, in [0, 1].
    principal_angles : array of shape (k,), or None
        Angles in degrees between the leading subspaces, smallest first; None when the tables have
        different widths.
    rows_compared : int
    repeats, seed : int
        Of the null.
    a, b : dict
        The scalars of each table's compared rows, by dotted name.
    """

    cka: float | None
    cka_null: float | None
    procrustes: float | None
    principal_angles: Float64 | None
    rows_compared: int
    repeats: int
    seed: int
    a: Scalars
    b: Scalars

    def as_dict(self) -> dict[str, Any]:
        """The strict-JSON object of ``posviz compare``."""
        angles = self.principal_angles
        return {
            "cka": self.cka,
            "cka_null": self.cka_null,
            "procrustes": self.procrustes,
            "principal_angles": None if angles is None else angles.tolist(),
            "rows_compared": self.rows_compared,
            "repeats": self.repeats,
            "seed": self.seed,
            "a": nested(self.a),
            "b": nested(self.b),
        }


def compare(
    a: PositionTable, b: PositionTable, *, repeats: int = NULL_REPEATS, seed: int = 0
) -> Comparison:
    """Compare two tables of any widths, position by position, over the shorter one's length.

    Parameters
    ----------
    a, b : PositionTable
    repeats, seed : int
        Shuffles of the null of CKA, and their seed.
    """
    rows = min(a.n_positions, b.n_positions)
    first, second = decompose(a.weights[:rows]), decompose(b.weights[:rows])
    x, y = first.scores(first.rank), second.scores(second.rank)  # centred, rotated, nothing lost
    null = _cka_null(x, y, repeats=repeats, seed=seed)
    return Comparison(
        cka=cka(x, y),
        cka_null=None if null is None else float(np.percentile(null, 95)),
        procrustes=None if null is None else align(x, y).residual,
        principal_angles=principal_angles(first, second),
        rows_compared=rows,
        repeats=repeats,
        seed=seed,
        a=measure(a.weights[:rows], singular_values=first.singular_values).scalars(),
        b=measure(b.weights[:rows], singular_values=second.singular_values).scalars(),
    )


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


def _cka_null(x: Float64, y: Float64, *, repeats: int, seed: int) -> list[float] | None:
    x, y = _unit(x), _unit(y)
    if not x.any() or not y.any():
        return None
    rng = np.random.default_rng(seed)
    size = np.sqrt(np.square(x.T @ x).sum() * np.square(y.T @ y).sum())
    # Both are centred already, and a shuffle keeps them so: only the numerator changes.
    return [float(np.square(x.T @ rng.permutation(y)).sum() / size) for _ in range(repeats)]


def _unit(rows: Array) -> Float64:
    centred: Float64 = rows - rows.mean(axis=0, dtype=np.float64)
    size = float(np.linalg.norm(centred))
    return centred / size if size > 0 else centred
