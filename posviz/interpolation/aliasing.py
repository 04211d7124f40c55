"""What becomes of a table's waves when it is sampled anew: which shrink, which turn into others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.analysis.waves import PowerLine, PowerSpectrum


@dataclass(frozen=True)
class Wave:
    """One wave of a table and what a new length makes of it.

    Parameters
    ----------
    period : float
        In old positions.
    share : float
        Of the power along position, in [0, 1].
    kept : bool
        Whether new rows stand close enough to carry it: two or more a period.
    appears : float or None
        Its period in new positions: the slower wave it is mistaken for where it is not kept;
        None where it becomes a constant.
    linear_height : float
        What a straight line between rows leaves of its height halfway, cos(π f), in [0, 1].
    """

    period: float
    share: float
    kept: bool
    appears: float | None
    linear_height: float


def sampling_step(old: int, new: int) -> float:
    """Old positions from one new row to the next, ends aligned: (L - 1) / (L' - 1)."""
    return (old - 1) / (new - 1) if new > 1 else math.inf


def sampling_limit(old: int, new: int) -> float:
    """The shortest period, in old positions, that the new rows can carry.

    Two rows a period are the least (Nyquist), and no table has waves under 2.
    """
    return 2 * max(sampling_step(old, new), 1.0)


def linear_height(period: float) -> float:
    """Height of a sampled wave halfway between its samples on straight lines: cos(π / period).

    Two samples around a crest lie half a row to its left and right, so their mean is lower by the
    cosine of half a row's turn.
    """
    return math.cos(math.pi / period)


def appears_as(period: float, step: float) -> float | None:
    """Period, in new rows, of a wave sampled every ``step`` old rows; None if it looks constant."""
    turns = step / period
    folded = abs(turns - round(turns))
    return 1 / folded if folded > 1e-9 else None


def waves(lines: Sequence[PowerLine], old: int, new: int) -> tuple[Wave, ...]:
    """The strongest waves of a table at a new length.

    Parameters
    ----------
    lines : sequence of PowerLine
        Of the old table.
    old, new : int
        Positions before and after.
    """
    step, limit = sampling_step(old, new), sampling_limit(old, new)
    return tuple(
        Wave(
            period=line.period,
            share=line.share,
            kept=line.period >= limit,
            appears=appears_as(line.period, step) if math.isfinite(step) else None,
            linear_height=linear_height(line.period),
        )
        for line in lines
    )


def share_lost(spectrum: PowerSpectrum, old: int, new: int) -> float | None:
    """Share of the power along position in periods too short for the new rows.

    None for a table too short to have a spectrum.
    """
    if not len(spectrum.share):
        return None
    return float(np.sum(spectrum.share[spectrum.period < sampling_limit(old, new)]))
