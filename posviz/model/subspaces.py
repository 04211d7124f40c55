"""Whether tokens and positions live in different directions of the model's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.decomposition import Decomposition, decompose
from posviz.analysis.likeness import principal_angles
from posviz.analysis.nulls import NULLS
from posviz.analysis.pairs import unit_rows

if TYPE_CHECKING:
    from posviz.model.weights import Weights

Float64 = NDArray[np.float64]

HELD = 0.95  # of the size of the position table, which its leading directions hold
MOST_DIRECTIONS = 30  # and no more than these
MOST_POSITIONS = 1024  # that every token is held against; of a longer table, evenly spaced rows
DRAWS = 20  # random subspaces


@dataclass(frozen=True)
class Closest:
    """The token and the position whose rows are most nearly parallel, of either sign."""

    cosine: float
    token: int
    position: int


@dataclass(frozen=True, eq=False)
class TokenSpace:
    """What the whole token table says, kept without the table.

    Parameters
    ----------
    directions : Decomposition
        Of the table, not centred.
    energy : array of shape (d,)
        Sum of the squares in each dimension.
    closest, null_closest : Closest
        Over every token and position; the null has random rows as positions.
    """

    directions: Decomposition
    energy: Float64
    closest: Closest
    null_closest: Closest


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Directions of the token table beside those of the position table, neither centred.

    Parameters
    ----------
    k : int
        Leading directions of positions that are looked at.
    held : float
        Share of the size of the position table that they hold.
    projection : array of shape (rank,)
        Of each direction of the token table, largest singular value first: the share of it, in
        [0, 1], that lies in the space of the leading k directions of positions.
    null : array of shape (DRAWS, rank)
        The same for random spaces of k directions.
    angles : array of shape (at most k,)
        Principal angles in degrees between the leading k directions of both, smallest first.
    null_angles : array of shape (DRAWS, at most k)
    dimensions : int or None
        Dimensions that hold 90 % of the variance of positions.
    token_share : float or None
        Share of the tokens' energy in those dimensions; an even one is dimensions / d.

    References
    ----------
    Simon (2024), on GPT-2's token and position embeddings: the projection.
    """

    k: int
    held: float
    projection: Float64
    null: Float64
    angles: Float64
    null_angles: Float64
    dimensions: int | None
    token_share: float | None

    @property
    def overlap(self) -> float:
        """Mean squared cosine of the principal angles: 0 orthogonal, 1 the same space."""
        return float(np.mean(np.cos(np.radians(self.angles)) ** 2)) if self.angles.size else 0.0

    @property
    def null_overlap(self) -> float:
        """The same of random spaces, median of the draws; about k / d."""
        if not self.null_angles.size:
            return 0.0
        drawn = np.mean(np.cos(np.radians(self.null_angles)) ** 2, axis=1)
        return float(np.median(drawn))


def token_space(
    weights: Weights,
    positions: NDArray[np.integer] | None = None,
    *,
    tell: Callable[[float], None] | None = None,
) -> TokenSpace:
    """Read the whole token table, strip by strip, and hold every row against the positions.

    Parameters
    ----------
    weights : Weights
    positions : array of int, optional
        Those that count; all if absent.
    tell : function, optional
        Called with the share of the table that is done.
    """
    table = weights.table.weights
    which = np.arange(len(table)) if positions is None else positions
    which = which[:: -(-len(which) // MOST_POSITIONS)]
    rows = unit_rows(table[which])
    random = unit_rows(NULLS["gaussian"].make(table[which], np.random.default_rng(0)))
    gram = np.zeros((weights.d_model, weights.d_model))
    best, null_best, start = Closest(0.0, 0, 0), Closest(0.0, 0, 0), 0
    for strip in weights.token_strips():
        wide = strip.astype(np.float64)
        gram += wide.T @ wide
        units = unit_rows(strip)
        best = _closer(best, units, rows, start, which)
        null_best = _closer(null_best, units, random, start, which)
        start += len(strip)
        if tell is not None:
            tell(start / weights.n_tokens)
    values, vectors = np.linalg.eigh(gram)
    # A small matrix with the token table's own Gram matrix has its directions and sizes too.
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return TokenSpace(
        decompose(root, centred=False), np.einsum("ii->i", gram).copy(), best, null_best
    )


def subspaces(tokens: TokenSpace, rows: NDArray[np.floating], *, k: int | None = None) -> Subspaces:
    """Hold the directions of tokens against those of positions.

    Parameters
    ----------
    tokens : TokenSpace
    rows : array of shape (n, d)
        Position rows.
    k : int, optional
        Leading directions of positions; as many as hold HELD of the table if absent.
    """
    width = rows.shape[1]
    positions = decompose(rows, centred=False)
    if k is None:
        k = min(positions.components_for(HELD) or 1, MOST_DIRECTIONS)
    k = max(1, min(k, positions.rank or 1, max(width // 2, 1)))
    space, directions = positions.axes[:k], tokens.directions.axes[: tokens.directions.rank]
    rng = np.random.default_rng(1)
    drawn = [np.linalg.qr(rng.standard_normal((width, k)))[0].T for _ in range(DRAWS)]
    energy = coordinate_energy(rows)
    dimensions, size = energy.dimensions_for(0.9), float(tokens.energy.sum())
    known = dimensions is not None and size > 0
    shares = positions.explained_variance_ratio
    return Subspaces(
        k=k,
        held=0.0 if shares is None else float(shares[:k].sum()),
        projection=_projection(directions, space),
        null=np.stack([_projection(directions, one) for one in drawn]),
        angles=_angles(tokens.directions, space, k),
        null_angles=np.stack([_angles(tokens.directions, one, k) for one in drawn]),
        dimensions=dimensions,
        token_share=float(tokens.energy[energy.order[:dimensions]].sum()) / size if known else None,
    )


def _closer(
    so_far: Closest,
    units: NDArray[np.float32],
    rows: NDArray[np.float32],
    start: int,
    which: NDArray[np.integer],
) -> Closest:
    cosines = units @ rows.T  # (strip, positions)
    at = int(np.argmax(np.abs(cosines)))
    token, position = divmod(at, cosines.shape[1])
    found = float(np.clip(cosines[token, position], -1.0, 1.0))
    if abs(found) <= abs(so_far.cosine):
        return so_far
    return Closest(found, start + token, int(which[position]))


def _projection(directions: Float64, space: Float64) -> Float64:
    """Of each direction v its v' Π v: how much of it lies in the space of orthonormal rows."""
    found: Float64 = np.square(directions @ space.T).sum(axis=1)
    return found


def _angles(tokens: Decomposition, space: Float64, k: int) -> Float64:
    found = principal_angles(tokens, decompose(space, centred=False), k=k)
    return np.zeros(0) if found is None else found
