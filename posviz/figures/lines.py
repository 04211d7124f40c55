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

_COLUMNS = 4096  # no screen shows a line on more columns than this


def add_band(
    figure: go.Figure, x: NDArray[np.float64], band: Band, *, colour: str = LIGHT.band
) -> None:
    """Fill between ``band.low`` and ``band.high``; add it before the line that it surrounds."""
    for values, fill in ((gaps(band.low), "none"), (gaps(band.high), "tonexty")):
        rows = _visible(values)
        figure.add_scatter(
            x=x[rows], y=values[rows], mode="lines", line={"width": 0}, hoverinfo="skip",
            fill=fill, fillcolor=colour,
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
    values = gaps(y)
    rows = _visible(values)
    figure.add_scatter(
        x=x[rows], y=values[rows], mode="lines", name=name, meta="walk",
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
    x : array
        Long enough for the longest of them.
    nulls : mapping of name to line or Band
    at : float in [0, 1]
        Where along the axis the first name stands; the next ones step back, so that they do
        not overprint.
    above : bool
        Above its line, else on its right.
    """
    log_x, log_y = (figure.layout[axis].type == "log" for axis in ("xaxis", "yaxis"))
    for index, (name, line) in enumerate((nulls or {}).items()):
        values = gaps(line.middle if isinstance(line, Band) else line)
        own = x[: len(values)]
        if isinstance(line, Band):
            add_band(figure, own, line, colour=LIGHT.null_band)
        rows = _visible(values)
        figure.add_scatter(
            x=own[rows], y=values[rows], mode="lines", name=name, hoverinfo="skip",
            line={"color": LIGHT.null, "width": 1.4, "dash": "2px,3px"},
        )  # fmt: skip
        drawn = np.flatnonzero(np.isfinite(values))
        if not drawn.size:
            continue
        along = np.log10(own[drawn]) if log_x else own[drawn]
        wanted = along[0] + (at - 0.22 * index) * (along[-1] - along[0])
        row = drawn[int(np.argmin(np.abs(along - wanted)))]
        label(
            figure,
            np.log10(own[row]) if log_x else own[row],
            np.log10(values[row]) if log_y else values[row],
            name,
            **({"yshift": 11} if above else {"xanchor": "left", "xshift": 10, "yshift": -4}),
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
    found = gaps(values)
    found = found[np.isfinite(found)]
    if not found.size:
        return [-1.0, 1.0]
    low, high = float(found.min()), float(found.max())
    space = (high - low) * room or abs(high) * 0.5 or 1.0
    return [low - space, high + space]


def gaps(values: ArrayLike) -> NDArray[np.float64]:
    """As float64, what is not a finite number being a gap in the line."""
    given = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(given), given, np.nan)


def _visible(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows to draw of a long line: the lowest and highest of every run narrower than a pixel."""
    width = -(-len(values) // _COLUMNS)
    if width <= 2:
        return np.arange(len(values))
    short = -len(values) % width
    runs = np.pad(values, (0, short), constant_values=np.nan).reshape(-1, width)
    starts = np.arange(len(runs)) * width
    lowest = np.where(np.isnan(runs), np.inf, runs).argmin(axis=1)
    highest = np.where(np.isnan(runs), -np.inf, runs).argmax(axis=1)
    rows = np.concatenate([[0], starts + lowest, starts + highest, [len(values) - 1]])
    return np.unique(rows[rows < len(values)])
