"""Similarity as a function of how far apart two positions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.analysis.similarity import OffsetProfile
from posviz.figures.lines import Band, Line, add_band, add_line, add_nulls, gaps, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import blank
from posviz.wording import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def offset_profile(
    profile: OffsetProfile,
    *,
    nulls: Mapping[str, Line | OffsetProfile] | None = None,
    label: str = "cosine",
    name: str = "the table",
) -> Picture:
    """Mean similarity of the pairs at every offset, with the spread round it.

    Parameters
    ----------
    profile : OffsetProfile
        Its spread is drawn as one standard deviation on both sides, where it is known.
    nulls : mapping of name to line, Band or OffsetProfile, optional
        What to compare with: shuffled rows, the original of a stretch, the law it should obey.
    label : str
        What the similarity is, for the axis.
    name : str
        What the profile is of, for the text alternative.
    """
    mean = np.asarray(profile.mean, dtype=np.float64)
    beside = {
        key: line.mean if isinstance(line, OffsetProfile) else line
        for key, line in (nulls or {}).items()
    }
    drawn = [mean, *(part for line in beside.values() for part in _parts(line))]
    longest = max(len(part) for part in drawn)
    x = np.arange(longest, dtype=np.float64)
    band = None
    if profile.std is not None:
        band = Band(mean, mean - profile.std, mean + profile.std)
        drawn += _parts(band)
    figure = blank(
        xaxis={
            "title": {"text": "offset between positions"},
            "range": [-0.01 * longest, 1.01 * longest - 1],
        },
        yaxis={
            "title": {"text": f"mean {label}"},
            "range": padded(np.concatenate(drawn)),
        },
    )
    if band is not None:
        add_band(figure, x, band)
    add_nulls(figure, x, beside, at=0.7)
    hover = f"<b>offset %{{x}}</b><br>mean {label}: %{{y:.4f}}<extra></extra>"
    add_line(figure, x, mean, hover=hover, name=name)
    return Picture(figure, _alt(mean, label, name, list(beside)))


def _parts(line: Line) -> list[NDArray[np.float64]]:
    parts = (line.middle, line.low, line.high) if isinstance(line, Band) else (line,)
    return [gaps(part) for part in parts]


def _alt(mean: np.ndarray, label: str, name: str, beside: list[str]) -> str:
    finite = np.flatnonzero(np.isfinite(mean))
    if not finite.size:
        return f"Mean {label} of {name} by offset: no offset has a value."
    lowest = int(finite[np.argmin(mean[finite])])
    near = (
        f"{decimal(float(mean[1]))} at offset 1, " if len(mean) > 1 and np.isfinite(mean[1]) else ""
    )
    with_them = f", beside {' and '.join(beside)}" if beside else ""
    least, last = (decimal(float(mean[row])) for row in (lowest, finite[-1]))
    return (
        f"Mean {label} of {name} by offset, {len(mean):,} offsets{with_them}: {near}lowest "
        f"{least} at offset {lowest:,}, {last} at the last."
    )
