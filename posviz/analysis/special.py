"""Rows unlike the rest: odd norms, zero rows, and rows that training never reached.

Two rules, both robust, both stated to the reader:

*Norm.* A row is special when its norm is more than 2.5 times or less than 0.4 times the median
of the rows that are not zero, and lies more than 8 robust standard deviations from it (of log
norms, from the median absolute deviation). GPT-2's rows 0 and 1023 and BERT's [CLS] row are.

*Freshness.* A fresh row is drawn independently, so the squared cosine with any other row is
1 / d on average. The mean of d cos² over the 8 rows on each side is then about 1, and above 3
once in some ten thousand rows; rows of an ordered table reach far more. Where the table is
ordered at all (the median of the rows above 3 reaches 12), a row at or below 3 that is not
longer than the ordered rows looks never trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import row_norms, unit_rows

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]
Flags = NDArray[np.bool_]

LONG, SHORT = 2.5, 0.4  # of the median norm
ROBUST_DEVIATIONS = 8.0
ENOUGH_ROWS = 8  # fewer give no robust median

NEIGHBOURS = 8  # on each side
FRESH = 3.0
ORDERED = 12.0
ORDERED_SHARE = 0.05  # of all rows, before anything is said about the others

RULE = (
    "A position looks trained when its row resembles the 8 rows on each side more than a fresh "
    "row would (mean of d cos² above 3), or is longer than 1.5 times the median of those that "
    "do, and is not shorter than 0.2 times it."
)
UNKNOWN = (
    "The rows of this table do not resemble their neighbours, so trained rows cannot be told "
    "from fresh ones by the table alone."
)


@dataclass(frozen=True)
class SpecialRow:
    """A row unlike the rest: its position, its norm in the units of the weights, and why."""

    position: int
    norm: float
    reason: str


@dataclass(frozen=True)
class Usable:
    """How many positions look trained.

    Parameters
    ----------
    length : int or None
        Positions that pass the rule; None where the rows alone cannot tell.
    failing : tuple of int
        The positions that fail it.
    rule : str
        The rule in words, or why it cannot be applied.
    """

    length: int | None
    failing: tuple[int, ...]
    rule: str


def special_rows(weights: Array) -> tuple[SpecialRow, ...]:
    """Rows to look at by themselves, in the order of their positions, each with its reason.

    In a table of zeros no row is special: special means unlike the rest.

    Parameters
    ----------
    weights : array of shape (n_positions, d_model)
    """
    norms = row_norms(weights)
    reasons: dict[int, str] = {}
    if norms.any():
        for position, ratio in _odd_norms(norms):
            reasons[position] = f"norm {ratio:.2g} times the median"
        for position in _positions(_untrained(weights, norms)):
            norm = reasons.get(position)
            fresh = "as unlike its neighbours as a row that was never trained"
            reasons[position] = f"{norm}, {fresh}" if norm else fresh
        for position in _positions(norms == 0):
            reasons[position] = "every value is zero"
    return tuple(
        SpecialRow(position, float(norms[position]), reasons[position])
        for position in sorted(reasons)
    )


def usable_length(weights: Array) -> Usable:
    """How many positions look trained, which do not, and by what rule.

    Parameters
    ----------
    weights : array of shape (n_positions, d_model)
    """
    norms = row_norms(weights)
    alike = _likeness(weights)
    if not _is_ordered(alike):
        return Usable(None, _positions(norms == 0), UNKNOWN)
    typical = float(np.median(norms[alike > FRESH]))
    fails: Flags = _untrained(weights, norms, alike) | (norms < 0.2 * typical)
    failing = _positions(fails)
    return Usable(len(weights) - len(failing), failing, RULE)


def _positions(flags: Flags) -> tuple[int, ...]:
    return tuple(int(position) for position in np.flatnonzero(flags))


def _odd_norms(norms: Float64) -> list[tuple[int, float]]:
    positions = np.flatnonzero(norms)
    if len(positions) < ENOUGH_ROWS:
        return []
    logs = np.log(norms[positions])
    away = logs - np.median(logs)
    spread = 1.4826 * np.median(np.abs(away))
    odd = ((away > np.log(LONG)) | (away < np.log(SHORT))) & (
        np.abs(away) > ROBUST_DEVIATIONS * spread
    )
    return [
        (int(position), float(np.exp(distance)))
        for position, distance in zip(positions[odd], away[odd], strict=True)
    ]


def _untrained(weights: Array, norms: Float64, alike: Float64 | None = None) -> Flags:
    alike = _likeness(weights) if alike is None else alike
    if not _is_ordered(alike):
        return np.zeros(len(weights), dtype=np.bool_)
    # A class row may be unlike its neighbours and yet trained: it is longer than they are.
    longest: float = 1.5 * float(np.median(norms[alike > FRESH]))
    flags: Flags = (alike <= FRESH) & (norms <= longest)
    return flags


def _is_ordered(alike: Float64) -> bool:
    ordered = alike[alike > FRESH]
    return (
        len(alike) >= ENOUGH_ROWS
        and len(ordered) >= ORDERED_SHARE * len(alike)
        and float(np.median(ordered)) >= ORDERED
    )


def _likeness(weights: Array) -> Float64:
    """Mean of d cos² with the rows up to NEIGHBOURS away, per row; about 1 for fresh rows."""
    rows = unit_rows(weights)
    total, count = np.zeros(len(rows)), np.zeros(len(rows))
    for offset in range(1, min(NEIGHBOURS, len(rows) - 1) + 1):
        squares = np.einsum("ij,ij->i", rows[:-offset], rows[offset:]).astype(np.float64) ** 2
        for side in (slice(None, -offset), slice(offset, None)):
            total[side] += squares
            count[side] += 1
    likeness: Float64 = weights.shape[1] * total / np.maximum(count, 1)
    return likeness
