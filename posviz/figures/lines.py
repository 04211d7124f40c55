"""Lines with their names beside them: what every two-dimensional line figure is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

_LETTER, _WIDTH, _HEIGHT = 6.4, 360.0, 170.0  # pixels: a letter, and a small figure's axes
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
    main = None if line is None else _inside(figure, x, gaps(line))
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
        points = _inside(figure, own[drawn], values[drawn])
        boxes = [
            box_of(points[int(np.argmin(np.abs(points[:, 0] - where)))], name, **place)
            for where in _around(at)
        ]
        box = min(boxes, key=lambda box: _crowding(box, taken, main))
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


@dataclass(frozen=True)
class Box:
    """Where words stand on a figure, in shares of its axes; ``at`` is the point they name."""

    left: float
    right: float
    low: float
    high: float
    at: float


def box_of(
    point: ArrayLike, text: str, *, xanchor: str = "center", xshift: float = 0, yshift: float = 0
) -> Box:
    """The place that :func:`label` would take, on the narrowest and lowest of our figures.

    Parameters
    ----------
    point : (float, float)
        In shares of the axes, from the bottom left.
    """
    x, y = np.asarray(point, dtype=np.float64)
    width = _LETTER * len(text)
    left = xshift - {"left": 0.0, "center": width / 2, "right": width}[xanchor]
    return Box(
        left=float(x + left / _WIDTH),
        right=float(x + (left + width) / _WIDTH),
        low=float(y + (yshift - 8) / _HEIGHT),
        high=float(y + (yshift + 8) / _HEIGHT),
        at=float(x),
    )


def clear_place(
    figure: go.Figure,
    at: tuple[float, float],
    text: str,
    places: Sequence[dict[str, Any]],
    lines: Sequence[tuple[NDArray[np.float64], ArrayLike]],
) -> dict[str, Any]:
    """The first of several places beside a point whose words the fewest lines run through.

    Parameters
    ----------
    figure : go.Figure
        Its axes have ranges.
    at : (float, float)
        The point in the units of the axes.
    text : str
    places : sequence of dict
        Keywords of :func:`label`, the best first.
    lines : sequence of (x, y)
    """
    drawn = [_inside(figure, x, gaps(y)) for x, y in lines]
    point = in_shares(figure, *at)

    def crowding(place: dict[str, Any]) -> int:
        box = box_of(point, text, **place)
        return sum(sum(_crowding(box, (), line)) for line in drawn)

    return min(places, key=crowding)


def in_shares(figure: go.Figure, x: float, y: float) -> NDArray[np.float64]:
    """A point of a figure whose axes have ranges, in shares of them from the bottom left."""
    share: NDArray[np.float64] = _inside(figure, np.array([x]), np.array([y]))[0]
    return share


def _inside(
    figure: go.Figure, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Points in shares of the axes, shape (n, 2)."""
    columns = []
    for name, values in (("xaxis", x), ("yaxis", y[: len(x)])):
        axis = figure.layout[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            placed = np.log10(values) if axis.type == "log" else values
        low, high = axis.range or padded(placed)
        columns.append((placed - low) / (high - low))
    return np.stack([columns[0][: len(columns[1])], columns[1]], axis=1)


def _around(at: float) -> list[float]:
    """Shares of the axis at which a name may stand, the best first."""
    steps = np.arange(1, 10) * 0.08
    return [at, *(float(at + sign * step) for step in steps for sign in (-1, 1))]


def _crowding(box: Box, taken: Sequence[Box], main: NDArray[np.float64] | None) -> tuple[int, int]:
    """How much a name would overprint: words and borders first, then points of the main line."""
    words = sum(
        box.left < other.right
        and other.left < box.right
        and box.low < other.high
        and other.low < box.high
        for other in taken
    )
    # Off the figure it would not be seen at all.
    outside = 9 * (box.left < 0 or box.right > 1 or box.low < 0 or box.high > 1)
    if main is None:
        return words + outside, 0
    x, y = main.T
    crossed = (x > box.left) & (x < box.right) & (y > box.low) & (y < box.high)
    return words + outside, int(crossed.any())


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
