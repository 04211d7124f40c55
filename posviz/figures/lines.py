"""Lines with their names beside them: what every two-dimensional line figure is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posviz.figures.theme import LIGHT, SMALL_SIZE

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Band:
    """A line with the spread round it.

    Parameters
    ----------
    middle, low, high : arrays of one shape
        Such as the mean of repeats, and their least and greatest.
    """

    middle: ArrayLike
    low: ArrayLike
    high: ArrayLike


Line = ArrayLike | Band


def add_band(
    figure: go.Figure, x: NDArray[np.float64], band: Band, *, colour: str = LIGHT.band
) -> None:
    """Fill between ``band.low`` and ``band.high``; add it before the line that it surrounds."""
    low, high = _gaps(band.low), _gaps(band.high)
    figure.add_scatter(x=x, y=low, mode="lines", line={"width": 0}, hoverinfo="skip")
    figure.add_scatter(
        x=x, y=high, mode="lines", line={"width": 0}, fill="tonexty", fillcolor=colour,
        hoverinfo="skip",
    )  # fmt: skip


def add_line(
    figure: go.Figure,
    x: NDArray[np.float64],
    y: ArrayLike,
    *,
    hover: str,
    name: str = "",
    colour: str = LIGHT.accent,
    width: float = 2.2,
) -> None:
    """The line that matters: one solid stroke that answers to the cursor and the arrow keys."""
    figure.add_scatter(
        x=x, y=_gaps(y), mode="lines", name=name, meta="walk",
        line={"color": colour, "width": width}, hovertemplate=hover,
    )  # fmt: skip


def add_nulls(
    figure: go.Figure,
    x: NDArray[np.float64],
    nulls: Mapping[str, Line] | None,
    *,
    at: float = 0.6,
    above: bool = True,
) -> None:
    """Null models as dotted grey lines, each with its name beside it.

    Parameters
    ----------
    nulls : mapping of name to line or Band
    at : float in [0, 1]
        Where along the axis a name stands.
    above : bool
        Above its line, else below.
    """
    log_x, log_y = (figure.layout[axis].type == "log" for axis in ("xaxis", "yaxis"))
    for index, (name, line) in enumerate((nulls or {}).items()):
        if isinstance(line, Band):
            add_band(figure, x[: len(np.asarray(line.low))], line, colour=LIGHT.null_band)
        values = _gaps(line.middle if isinstance(line, Band) else line)
        figure.add_scatter(
            x=x[: len(values)], y=values, mode="lines", name=name, hoverinfo="skip",
            line={"color": LIGHT.null, "width": 1.4, "dash": "2px,3px"},
        )  # fmt: skip
        drawn = np.flatnonzero(np.isfinite(values))
        if not drawn.size:
            continue
        along = np.log10(x[drawn]) if log_x else x[drawn]
        # Names of several nulls step back from each other, so that they do not overprint.
        wanted = along[0] + (at - 0.22 * index) * (along[-1] - along[0])
        row = drawn[int(np.argmin(np.abs(along - wanted)))]
        label(
            figure,
            np.log10(x[row]) if log_x else x[row],
            np.log10(values[row]) if log_y else values[row],
            name,
            yshift=11 if above else -11,
        )


def label(
    figure: go.Figure,
    x: float,
    y: float,
    text: str,
    *,
    colour: str = LIGHT.ink_soft,
    xanchor: str = "center",
    xshift: float = 0,
    yshift: float = 0,
) -> None:
    """Words beside a line, in axis coordinates (of a log axis: the logarithm)."""
    figure.add_annotation(
        x=float(x), y=float(y), text=text, xanchor=xanchor, xshift=xshift, yshift=yshift,
        font={"color": colour, "size": SMALL_SIZE},
    )  # fmt: skip


def padded(values: ArrayLike, *, room: float = 0.06) -> list[float]:
    """A range that holds all finite values with a little room; for values without range, ±1."""
    found = _gaps(values)
    found = found[np.isfinite(found)]
    if not found.size:
        return [-1.0, 1.0]
    low, high = float(found.min()), float(found.max())
    space = (high - low) * room or abs(high) * 0.5 or 1.0
    return [low - space, high + space]


def _gaps(values: ArrayLike) -> NDArray[np.float64]:
    """As float64, what is not a finite number being a gap in the line."""
    given = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(given), given, np.nan)
