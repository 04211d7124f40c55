"""Two tables side by side: whether they hold the same structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import decompose
from posviz.analysis.likeness import agreement, align, cka, moments, principal_angles, shuffled
from posviz.analysis.measures import Measures, Scalars, measure, nested
from posviz.analysis.pairs import unit_rows
from posviz.analysis.waves import Helix, helix
from posviz.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Collection

    from posviz.table import PositionTable

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

CURVE = 3  # components that the aligned curves are kept in
NULL_REPEATS = 20  # shuffles at most, and what they may cost together in multiplications
NULL_WORK = 20_000_000_000


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
    null = shuffled(x, y, units, other_units, repeats=repeats, seed=seed)
    return Comparison(
        cka=cka(x, y),
        cka_null=_percentile(null.cka, 95),
        procrustes=alignment.residual if x.any() and y.any() else None,
        procrustes_null=_percentile(null.procrustes, 5),
        cosine_agreement=agreement(units, other_units, moments(units), moments(other_units)),
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


def _percentile(values: list[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None
