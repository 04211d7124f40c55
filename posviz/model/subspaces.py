"""Whether tokens and positions live in different directions of the model's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.compare import principal_angles
from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.decomposition import Decomposition, decompose
from posviz.analysis.nulls import NULLS
from posviz.analysis.pairs import unit_rows

if TYPE_CHECKING:
    from posviz.model.weights import Weights

Float64 = NDArray[np.float64]

MOST_DIRECTIONS = 30  # of the position table, as in the source below
MOST_POSITIONS = 1024  # that every token is held against; of a longer table, evenly spaced rows
DRAWS = 20  # random subspaces


@dataclass(frozen=True)
class Closest:
    """The token and the position whose rows are most nearly parallel, of either sign."""

    cosine: float
    token: int
    position: int


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Directions of the token table beside those of the position table, neither centred.

    Parameters
    ----------
    k : int
        Leading directions of positions that are looked at.
    projection : array of shape (rank,)
        Of each direction of the token table, largest singular value first: the share of it, in
        [0, 1], that lies in the space of the leading k directions of positions.
    null : array of shape (DRAWS, rank)
        The same for random spaces of k directions.
    angles : array of shape (at most k,)
        Principal angles in degrees between the leading k directions of both, smallest first.
    null_angles : array of shape (DRAWS, at most k)
    closest, null_closest : Closest
        Over every token and position; the null has random rows as positions.
    dimensions : int or None
        Dimensions that hold 90 % of the variance of positions.
    token_share : float or None
        Share of the tokens' energy in those dimensions; an even one is dimensions / d.
    tokens : Decomposition
        Of the token table.

    References
    ----------
    Simon (2024), on GPT-2's token and position embeddings: the projection and its 30 directions.
    """

    k: int
    projection: Float64
    null: Float64
    angles: Float64
    null_angles: Float64
    closest: Closest
    null_closest: Closest
    dimensions: int | None
    token_share: float | None
    tokens: Decomposition

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


def subspaces(weights: Weights, *, tell: Callable[[float], None] | None = None) -> Subspaces:
    """Read the whole token table, strip by strip, and hold it against the positions.

    Parameters
    ----------
    weights : Weights
    tell : function, optional
        Called with the share of the table that is done.
    """
    table = weights.table.weights
    step = -(-len(table) // MOST_POSITIONS)
    rng = np.random.default_rng(0)
    rows = unit_rows(table[::step])
    random = unit_rows(NULLS["gaussian"].make(table[::step], rng))
    gram = np.zeros((weights.d_model, weights.d_model))
    best, null_best, start = Closest(0.0, 0, 0), Closest(0.0, 0, 0), 0
    for strip in weights.token_strips():
        wide = strip.astype(np.float64)
        gram += wide.T @ wide
        units = unit_rows(strip)
        best = _closer(best, units, rows, start, step)
        null_best = _closer(null_best, units, random, start, step)
        start += len(strip)
        if tell is not None:
            tell(start / weights.n_tokens)
    return _compared(weights, gram, best, null_best, rng)


def _closer(
    so_far: Closest, units: NDArray[np.float32], rows: NDArray[np.float32], start: int, step: int
) -> Closest:
    cosines = units @ rows.T  # (strip, positions)
    at = int(np.argmax(np.abs(cosines)))
    token, position = divmod(at, cosines.shape[1])
    found = float(np.clip(cosines[token, position], -1.0, 1.0))
    if abs(found) <= abs(so_far.cosine):
        return so_far
    return Closest(found, start + token, position * step)


def _compared(
    weights: Weights, gram: Float64, best: Closest, null_best: Closest, rng: np.random.Generator
) -> Subspaces:
    table, width = weights.table.weights, weights.d_model
    values, vectors = np.linalg.eigh(gram)
    # A small matrix with the token table's own Gram matrix has its directions and sizes too.
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    tokens, positions = decompose(root, centred=False), decompose(table, centred=False)
    k = max(1, min(MOST_DIRECTIONS, width // 8, positions.rank))
    space = positions.axes[:k]
    drawn = [np.linalg.qr(rng.standard_normal((width, k)))[0].T for _ in range(DRAWS)]
    energy = coordinate_energy(table)
    dimensions = energy.dimensions_for(0.9)
    size = np.einsum("ii->i", gram)
    inside = None if dimensions is None else float(size[energy.order[:dimensions]].sum())
    directions = tokens.axes[: tokens.rank]
    return Subspaces(
        k=k,
        projection=_projection(directions, space),
        null=np.stack([_projection(directions, one) for one in drawn]),
        angles=_angles(tokens, space, k),
        null_angles=np.stack([_angles(tokens, one, k) for one in drawn]),
        closest=best,
        null_closest=null_best,
        dimensions=dimensions,
        token_share=None if inside is None or not size.any() else inside / float(size.sum()),
        tokens=tokens,
    )


def _projection(directions: Float64, space: Float64) -> Float64:
    """Of each direction v its v' Π v: how much of it lies in the space of orthonormal rows."""
    found: Float64 = np.square(directions @ space.T).sum(axis=1)
    return found


def _angles(tokens: Decomposition, space: Float64, k: int) -> Float64:
    found = principal_angles(tokens, decompose(space, centred=False), k=k)
    return np.zeros(0) if found is None else found
