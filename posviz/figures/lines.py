"""Lines with their names beside them: what every two-dimensional line figure is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posviz.figures.names import Box, around, box_of, crowding, gaps, inside, padded
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

__all__ = ["Band", "Line", "add_band", "add_line", "add_nulls", "gaps", "label", "padded"]

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
    avoid: Sequence[Box] = (),
    line: ArrayLike | None = None,
) -> None:
    """Null models as dotted grey lines, each with its name beside it.

    Parameters
    ----------
    x : array
        Long enough for the longest of them.
    nulls : mapping of name to line or Band
    at : float in [0, 1]
        Where along the axis the first name would best stand; it steps aside for other words.
    above : bool
        Above its line, else on its right.
    avoid : sequence of Box
        Words that stand on the figure, or will.
    line : array, optional
        The line that matters, over ``x``: names keep off it where they can.
    """
    taken = list(avoid)
    main = None if line is None else inside(figure, x, gaps(line))
    for name, null in (nulls or {}).items():
        values = gaps(null.middle if isinstance(null, Band) else null)
        own = x[: len(values)]
        if isinstance(null, Band):
            add_band(figure, own, null, colour=LIGHT.null_band)
        rows = _visible(values)
        figure.add_scatter(
            x=own[rows], y=values[rows], mode="lines", name=name, hoverinfo="skip",
            line={"color": LIGHT.null, "width": 1.4, "dash": "2px,3px"},
        )  # fmt: skip
        drawn = np.flatnonzero(np.isfinite(values))
        if not drawn.size:
            continue
        place: dict[str, Any] = (
            {"yshift": 11} if above else {"xanchor": "left", "xshift": 10, "yshift": -4}
        )
        points = inside(figure, own[drawn], values[drawn])
        boxes = [
            box_of(points[int(np.argmin(np.abs(points[:, 0] - where)))], name, **place)
            for where in around(at)
        ]
        box = min(boxes, key=lambda box: crowding(box, taken, main))
        taken.append(box)
        row = drawn[int(np.argmin(np.abs(points[:, 0] - box.at)))]
        log_x, log_y = (figure.layout[axis].type == "log" for axis in ("xaxis", "yaxis"))
        label(
            figure,
            np.log10(own[row]) if log_x else own[row],
            np.log10(values[row]) if log_y else values[row],
            name,
            **place,
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
