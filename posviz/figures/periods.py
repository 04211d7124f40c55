"""Power by period: which wavelengths along position a table is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.figures.lines import add_line, add_nulls, label, padded
from posviz.figures.names import NARROW, Box, box_of, cut_off, in_shares, overprints
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank
from posviz.wording import significant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from posviz.analysis.waves import PowerLine, PowerSpectrum

_NAMES = 4  # lines that get their period written
_WORTH = 0.04  # share of the power below which a line is not named
_APART = 0.09  # of the axis: lines closer than this are one peak
_BESIDE: tuple[dict[str, Any], ...] = (
    {"xanchor": "left", "xshift": 9, "yshift": 8},
    {"xanchor": "right", "xshift": -9, "yshift": 8},
    {"xanchor": "left", "xshift": 4, "yshift": 25},
    {"xanchor": "right", "xshift": -4, "yshift": 25},
)


def power_by_period(
    spectrum: PowerSpectrum,
    *,
    lines: Sequence[PowerLine] = (),
    nulls: Mapping[str, PowerSpectrum] | None = None,
    name: str = "the table",
) -> Picture:
    """Share of the power at each period, short periods on the left, on a logarithmic axis.

    Parameters
    ----------
    spectrum : PowerSpectrum
        Not empty.
    lines : sequence of PowerLine
        Its strongest lines, largest first; the first few are named.
    nulls : mapping of name to PowerSpectrum, optional
        Of tables of the same number of rows.
    name : str
        What the power is of, for the text alternative.
    """
    period, percent = spectrum.period[::-1], 100 * spectrum.share[::-1]
    beside = {key: 100 * null.share[::-1] for key, null in (nulls or {}).items()}
    drawn = np.concatenate([percent, *beside.values()])
    low, high = np.log10(period[0]), np.log10(period[-1])
    room = 0.03 * (high - low) or 0.3
    top = padded(drawn, room=0.14)[1]
    figure = blank(
        xaxis={
            "title": {"text": "period in positions"},
            "type": "log",
            "range": [low - room, high + room],
            "dtick": 1 if high - low > 1 else "D2",
        },
        yaxis={"title": {"text": "power, %"}, "range": [-0.03 * top, top]},
    )
    named: list[_Named] = []
    for line in _apart([line for line in lines if line.share >= _WORTH], high - low):
        row = int(np.argmin(np.abs(period - line.period)))
        one = _Named.beside(figure, line, (float(period[row]), float(percent[row])), named)
        if one is not None and len(named) < _NAMES:
            named.append(one)
    avoid = [one.box for one in named]
    add_nulls(figure, period, beside, at=0.5, avoid=avoid, line=percent)
    hover = "<b>period %{x:,.4r}</b><br>%{y:.2f} % of the power<extra></extra>"
    add_line(figure, period, percent, hover=hover, name=name)
    for one in named:
        x, y = one.at
        figure.add_scatter(
            x=[x], y=[y], mode="markers", hoverinfo="skip",
            marker={"color": LIGHT.accent, "size": 8},
        )  # fmt: skip
        label(figure, np.log10(x), y, one.text, colour=LIGHT.ink, **one.place)
    told = "; ".join(
        f"{100 * one.line.share:.1f} % near period {significant(one.line.period)}" for one in named
    )
    against = f", beside {' and '.join(beside)}" if beside else ""
    shortest, longest = (significant(float(end), figures=4) for end in (period[0], period[-1]))
    return Picture(
        figure,
        f"Power by period of {name}, {len(period):,} periods from {shortest} to "
        f"{longest} positions{against}: {told or 'no period stands out'}.",
    )


@dataclass(frozen=True)
class _Named:
    """A line that gets its period written, and where: seen whole on the narrowest figure."""

    line: PowerLine
    at: tuple[float, float]
    text: str
    place: dict[str, Any]
    box: Box

    @classmethod
    def beside(
        cls,
        figure: go.Figure,
        line: PowerLine,
        at: tuple[float, float],
        taken: Sequence[_Named],
    ) -> _Named | None:
        """In the first place beside the point that is free and seen whole; None without one."""
        text = f"period {significant(line.period)} · {100 * line.share:.0f} %"
        point = in_shares(figure, *at)
        for place in _BESIDE:
            box = box_of(point, text, size=NARROW, **place)
            if not cut_off(box) and not any(overprints(box, other.box) for other in taken):
                return cls(line, at, text, place, box)
        return None


def _apart(lines: Sequence[PowerLine], decades: float) -> list[PowerLine]:
    """The strongest lines that are peaks of their own."""
    kept: list[PowerLine] = []
    for line in lines:
        gaps = [abs(np.log10(line.period / other.period)) for other in kept]
        if all(gap > _APART * decades for gap in gaps):
            kept.append(line)
    return kept
