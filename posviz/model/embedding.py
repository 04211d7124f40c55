"""What enters the first layer: a token row, a position row, a segment row, and their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import row_norms
from posviz.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.model.weights import Norm, Weights

Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows that a text is made of, one a token.

    Parameters
    ----------
    tokens : array of shape (T,)
        Numbers in the vocabulary.
    start : int
        The position of the first token.
    token, position : arrays of shape (T, d_model)
        In the units of the weights, not centred.
    segment : array of the same shape, or None
        None where the model adds none.
    norm : Norm or None
        The layer norm between the sum and the first attention.
    """

    tokens: NDArray[np.int64]
    start: int
    token: Float64
    position: Float64
    segment: Float64 | None
    norm: Norm | None

    @property
    def total(self) -> Float64:
        """Their sum, (T, d_model): what the model calls its embedding."""
        summed: Float64 = self.token + self.position
        return summed if self.segment is None else summed + self.segment

    @property
    def normed(self) -> Float64 | None:
        """The sum after the layer norm, (T, d_model): what the first attention reads."""
        return None if self.norm is None else self.norm(self.total)

    @property
    def rows(self) -> dict[str, Float64]:
        """The parts by name, in the order in which they are added, then their sum."""
        added = {"token": self.token, "position": self.position}
        if self.segment is not None:
            added["segment"] = self.segment
        return added | {"sum": self.total}

    def norms(self, part: str) -> Float64:
        """Euclidean length of each row of a part, shape (T,)."""
        return row_norms(self.rows[part])

    def cosines(self, one: str, other: str) -> Float64:
        """Cosine of two parts at each token, shape (T,); 0 where one of them is zero."""
        return cosines(self.rows[one], self.rows[other])


def parts(
    weights: Weights,
    tokens: Sequence[int],
    segments: Sequence[int] | None = None,
    *,
    start: int = 0,
) -> Parts:
    """What the model adds up for a text; only the rows of its tokens are read.

    Parameters
    ----------
    weights : Weights
    tokens : sequence of T int
    segments : sequence of T int, optional
        0 or 1; all 0 if absent, as in the model.
    start : int
        Move the text: its first token stands at this position.

    Raises
    ------
    ModelError
        No token, a token that is not in the vocabulary, or a place beyond the table.
    """
    wanted = np.asarray(tokens, dtype=np.int64)
    rows = weights.table.weights
    if not wanted.size:
        raise ModelError("There is no token in the text. Type something, or take the example.")
    if not 0 <= start <= len(rows) - len(wanted):
        raise ModelError(
            f"{weights.checkpoint.name} has a row for {len(rows):,} positions, 0 to "
            f"{len(rows) - 1:,}; {len(wanted):,} tokens from position {start:,} on need row "
            f"{start + len(wanted) - 1:,}. Type less, or move it less far."
        )
    which = np.zeros(len(wanted), np.int64) if segments is None else np.asarray(segments)
    segment = weights.segment_rows(which)
    return Parts(
        tokens=wanted,
        start=start,
        token=weights.token_rows(wanted).astype(np.float64),
        position=rows[start : start + len(wanted)].astype(np.float64),
        segment=None if segment is None else segment.astype(np.float64),
        norm=weights.sum_norm(),
    )


def cosines(rows: NDArray[np.floating], others: NDArray[np.floating]) -> Float64:
    """Cosine of every row with its counterpart, shape (n,); 0 where one of them is zero."""
    lengths = row_norms(rows) * row_norms(others)
    dots = np.einsum("ij,ij->i", rows, others, dtype=np.float64)
    found: Float64 = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return np.clip(found, -1.0, 1.0, out=found)


def angles(cosine: Float64) -> Float64:
    """The angle in degrees of each cosine."""
    found: Float64 = np.degrees(np.arccos(cosine))
    return found


def swapped(tokens: Sequence[int], one: int, other: int) -> list[int]:
    """The tokens with those at two places exchanged."""
    moved = list(tokens)
    moved[one], moved[other] = moved[other], moved[one]
    return moved
