"""Rows unlike the rest: odd norms, zero rows, and rows that training never reached.

Two rules, both robust, both stated to the reader:

*Norm.* A row is special when its norm is more than 2.5 times or less than 0.4 times the median
of the rows that are not zero, and lies more than 8 robust standard deviations from it (of log
norms, from the median absolute deviation). GPT-2's rows 0 and 1023 and BERT's [CLS] row are.

*Freshness.* A fresh row is drawn independently, so its squared cosine with any other row is
1 / d on average: the mean of d cos² over the 8 rows on each side, here called likeness, is about
1. Rows of an ordered table reach far more: ordered ones are those above 3, and the table is
called ordered when at least 5 % of its rows are and their median likeness is 12 or more. Then a
row below an eighth of that median (and below 3 in any case) that is no longer than the ordered
rows looks never trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import row_norms, unit_rows
from posviz.analysis.repeats import all_equal, equal_rows
from posviz.wording import significant

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]
Flags = NDArray[np.bool_]

LONG, SHORT = 2.5, 0.4  # of the median norm
ROBUST_DEVIATIONS = 8.0
ENOUGH_ROWS = 8  # fewer give no robust median

NEIGHBOURS = 8  # on each side
FRESH = 3.0
# Beside rows that are all alike a fresh row meets one direction, not sixteen: its likeness is
# then a squared normal, often above 3. Against rows that are much alike it may be.
PART = 1 / 8
ORDERED = 12.0
ORDERED_SHARE = 0.05  # of all rows, before anything is said about the others

RULE = (
    "A position looks trained when its row resembles the 8 rows on each side (mean of d cos²) at "
    "least an eighth as much as rows of this table commonly do, or is longer than 1.5 times their "
    "median, is not shorter than 0.2 times it, and equals no earlier row."
)
UNKNOWN = (
    "The rows of this table do not resemble their neighbours, so trained rows cannot be told "
    "from fresh ones by the table alone."
)

SAME = "Every row of this table is the same, so nothing tells trained rows from others."


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
    return judge_rows(weights, equal_rows(weights))[0]


def usable_length(weights: Array) -> Usable:
    """How many positions look trained, which do not, and by what rule.

    Parameters
    ----------
    weights : array of shape (n_positions, d_model)
    """
    return judge_rows(weights, equal_rows(weights))[1]


def judge_rows(
    weights: Array, first_equal: NDArray[np.intp]
) -> tuple[tuple[SpecialRow, ...], Usable]:
    """Both of the above, from one look at the rows and what :func:`equal_rows` says of them."""
    norms = row_norms(weights)
    repeated = first_equal != np.arange(len(weights))
    ordered = _ordered_rows(weights, norms, repeated)
    special = _special(norms, ordered)
    if all_equal(first_equal):
        return special, Usable(None, _positions(repeated | (norms == 0)), SAME)
    return special, _usable(norms, ordered, repeated)


def _special(norms: Float64, ordered: _Ordered | None) -> tuple[SpecialRow, ...]:
    reasons: dict[int, str] = {}
    if norms.any():
        for position, ratio in _odd_norms(norms):
            reasons[position] = f"norm {significant(ratio, figures=2)} times the median"
        for position in _positions(ordered.fresh) if ordered else ():
            norm = reasons.get(position)
            fresh = "as unlike its neighbours as a row that was never trained"
            reasons[position] = f"{norm}, {fresh}" if norm else fresh
        for position in _positions(norms == 0):
            reasons[position] = "every value is zero"
    return tuple(
        SpecialRow(position, float(norms[position]), reasons[position])
        for position in sorted(reasons)
    )


def _usable(norms: Float64, ordered: _Ordered | None, repeated: Flags) -> Usable:
    if ordered is None:
        return Usable(None, _positions(repeated | (norms == 0)), UNKNOWN)
    failing = _positions(ordered.fresh | repeated | (norms < 0.2 * ordered.norm))
    return Usable(len(norms) - len(failing), failing, RULE)


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


@dataclass(frozen=True, eq=False)
class _Ordered:
    norm: float  # median length of the rows that resemble their neighbours
    fresh: Flags  # rows that do not, and are no longer than those


def _ordered_rows(weights: Array, norms: Float64, repeated: Flags) -> _Ordered | None:
    """Tell fresh rows from ordered ones; None where too few are ordered."""
    likeness = _likeness(weights)
    ordered = (likeness > FRESH) & ~repeated  # equal rows are alike, and in no order
    if len(weights) < ENOUGH_ROWS or ordered.sum() < ORDERED_SHARE * len(weights):
        return None
    typical = float(np.median(likeness[ordered]))
    if typical < ORDERED:
        return None
    norm = float(np.median(norms[ordered]))
    # A class row may be unlike its neighbours and yet trained: it is longer than they are.
    fresh = (likeness < max(FRESH, PART * typical)) & (norms <= 1.5 * norm)
    return _Ordered(norm, fresh)


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
