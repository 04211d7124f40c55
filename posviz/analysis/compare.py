"""Two tables side by side: whether they hold the same structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import Decomposition, decompose
from posviz.analysis.measures import Measures, Scalars, measure, nested
from posviz.analysis.pairs import unit_rows
from posviz.analysis.waves import Helix, helix
from posviz.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Collection

    from posviz.table import PositionTable

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

SUBSPACE = 10  # leading components whose subspaces are compared
CURVE = 3  # components that the aligned curves are kept in
NULL_REPEATS = 20  # shuffles at most, and what they may cost together in multiplications
NULL_WORK = 20_000_000_000
NULL_TURNS = 200_000_000  # the same of the shuffles that a rotation is found for


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
    procrustes_null : float or None
        5th percentile of the same with the second table's rows shuffled.
    cosine_agreement : float or None
        Correlation of the two cosine matrices (not centred) over pairs i < j, in [-1, 1].
    cosine_agreement_null : float or None
        95th percentile of the same with the second table's rows shuffled.
    principal_angles : array of shape (k,), or None
        Angles in degrees between the leading subspaces, smallest first; None when the tables have
        different widths.
    positions : array of shape (rows_compared,)
    repeats, seed : int
        Of the nulls.
    first, second : Measures
        The numbers of each table's compared rows.
    helix_first, helix_second : Helix
        How each curve turns, on its own first two components.
    curve_first, curve_second : arrays of shape (rows_compared, at most 3)
        Both on the first table's principal axes, centred, the second rotated and scaled onto the
        first.
    """

    cka: float | None
    cka_null: float | None
    procrustes: float | None
    procrustes_null: float | None
    cosine_agreement: float | None
    cosine_agreement_null: float | None
    principal_angles: Float64 | None
    positions: NDArray[np.int64]
    repeats: int
    seed: int
    first: Measures
    second: Measures
    helix_first: Helix
    helix_second: Helix
    curve_first: Float64
    curve_second: Float64

    @property
    def rows_compared(self) -> int:
        """How many positions were compared."""
        return len(self.positions)

    @property
    def a(self) -> Scalars:
        """The single numbers of the first table, by dotted name."""
        return self.first.scalars()

    @property
    def b(self) -> Scalars:
        """The single numbers of the second table, by dotted name."""
        return self.second.scalars()

    def as_dict(self) -> dict[str, Any]:
        """The strict-JSON object of ``posviz compare``."""
        angles = self.principal_angles
        return {
            "cka": self.cka,
            "cka_null": self.cka_null,
            "procrustes": self.procrustes,
            "procrustes_null": self.procrustes_null,
            "cosine_agreement": self.cosine_agreement,
            "cosine_agreement_null": self.cosine_agreement_null,
            "principal_angles": None if angles is None else angles.tolist(),
            "rows_compared": self.rows_compared,
            "repeats": self.repeats,
            "seed": self.seed,
            "a": nested(self.a),
            "b": nested(self.b),
        }


def compare(
    a: PositionTable,
    b: PositionTable,
    *,
    exclude: Collection[int] = (),
    repeats: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two tables of any widths, position by position, over the shorter one's length.

    Parameters
    ----------
    a, b : PositionTable
    exclude : collection of int
        Positions to leave out of both, such as special rows.
    repeats, seed : int
        Shuffles of the nulls, and their seed; None takes as many as stay cheap at this size.

    Raises
    ------
    TableError
        Every position that both tables have is excluded.
    """
    both = min(a.n_positions, b.n_positions)
    positions = np.setdiff1d(np.arange(both), np.asarray(list(exclude), dtype=np.int64))
    if not positions.size:
        raise TableError(
            f"{a.name} and {b.name}: at least one position must be left; all {both} that both "
            f"have are left out. Keep the special rows."
        )
    weights, others = a.weights[positions], b.weights[positions]
    first, second = decompose(weights), decompose(others)
    x, y = first.scores(first.rank), second.scores(second.rank)  # centred, rotated, nothing lost
    alignment = align(x, y)
    units, other_units = (unit_rows(rows).astype(np.float64) for rows in (weights, others))
    if repeats is None:
        work = max(len(x) * x.shape[1] * y.shape[1], 1)
        repeats = int(np.clip(NULL_WORK // work, 3, NULL_REPEATS))
    null = _null(x, y, units, other_units, repeats=repeats, seed=seed)
    return Comparison(
        cka=cka(x, y),
        cka_null=_percentile(null.cka, 95),
        procrustes=alignment.residual if x.any() and y.any() else None,
        procrustes_null=_percentile(null.procrustes, 5),
        cosine_agreement=_agreement(units, other_units, _moments(units), _moments(other_units)),
        cosine_agreement_null=_percentile(null.cosine_agreement, 95),
        principal_angles=principal_angles(first, second),
        positions=positions,
        repeats=repeats,
        seed=seed,
        first=measure(weights, singular_values=first.singular_values),
        second=measure(others, singular_values=second.singular_values),
        helix_first=helix(first),
        helix_second=helix(second),
        curve_first=alignment.reference[:, :CURVE],
        curve_second=alignment.aligned[:, :CURVE],
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


def cosine_agreement(x: Array, y: Array) -> float | None:
    """Correlation of the cosines of two arrays with the same number of rows, over pairs i < j.

    In [-1, 1]; not centred. None below three rows or where all cosines of one of them agree.

    References
    ----------
    Kriegeskorte, Mur and Bandettini (2008), "Representational similarity analysis", Frontiers in
    Systems Neuroscience 2.
    """
    u, v = (unit_rows(rows).astype(np.float64) for rows in (x, y))
    return _agreement(u, v, _moments(u), _moments(v))


def _agreement(
    u: Float64, v: Float64, of_u: tuple[float, float], of_v: tuple[float, float]
) -> float | None:
    """The same of unit rows and their moments, without looking at pairs: Σ (uu')(vv') = |U'V|²."""
    (mean_u, spread_u), (mean_v, spread_v) = of_u, of_v
    # Cosines are known to about 1e-6; below that they all agree.
    if min(spread_u, spread_v) <= 1e-12:
        return None
    own = np.einsum("ij,ij->i", u, u) * np.einsum("ij,ij->i", v, v)
    product = _mean_of_pairs(np.square(u.T @ v).sum(), own)
    return float(np.clip((product - mean_u * mean_v) / np.sqrt(spread_u * spread_v), -1.0, 1.0))


def _moments(u: Float64) -> tuple[float, float]:
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
class _Null:
    """The numbers of each shuffle; empty where they do not exist."""

    cka: list[float]
    procrustes: list[float]
    cosine_agreement: list[float]


def _null(x: Float64, y: Float64, u: Float64, v: Float64, *, repeats: int, seed: int) -> _Null:
    """Everything again with the rows of the second table shuffled."""
    x, y = _unit(x), _unit(y)
    null = _Null([], [], [])
    if not x.any() or not y.any():
        return null
    rng = np.random.default_rng(seed)
    size = float(np.sqrt(np.square(x.T @ x).sum() * np.square(y.T @ y).sum()))
    turns = int(np.clip(NULL_TURNS // max(x.shape[1], y.shape[1]) ** 3, 1, repeats))
    of_u, of_v = _moments(u), _moments(v)
    for repeat in range(repeats):
        order = rng.permutation(len(y))
        # Both are centred already, and a shuffle keeps them so: only the numerator changes.
        cross = x.T @ y[order]
        null.cka.append(float(np.square(cross).sum()) / size)
        if repeat < turns:
            fit = min(float(np.linalg.svd(cross, compute_uv=False).sum()), 1.0)
            null.procrustes.append(1 - fit**2)
        if (agreement := _agreement(u, v[order], of_u, of_v)) is not None:
            null.cosine_agreement.append(agreement)
    return null


def _percentile(values: list[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None


def _unit(rows: Array) -> Float64:
    centred: Float64 = rows - rows.mean(axis=0, dtype=np.float64)
    size = float(np.linalg.norm(centred))
    return centred / size if size > 0 else centred
