"""Where names stand on a figure: estimated in advance, so that they do not overprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

LETTER = 6.4  # pixels
SMALL, MIDDLE, LARGE = (360.0, 170.0), (560.0, 300.0), (900.0, 420.0)  # pixels: axes of our figures
NARROW = (270.0, 160.0)  # pixels: the axes of a small figure in a card, or on a telephone
_EDGE = 12.0  # pixels that words may reach beyond the axes and still be seen whole
_POINTS = 500
_MARGIN = 0.04  # of an axis: words may reach so far beyond it


@dataclass(frozen=True)
class Box:
    """Where words stand on a figure, in shares of its axes; ``at`` is the point they name."""

    left: float
    right: float
    low: float
    high: float
    at: float


def box_of(
    point: ArrayLike,
    text: str,
    *,
    xanchor: str = "center",
    xshift: float = 0,
    yshift: float = 0,
    size: tuple[float, float] = SMALL,
) -> Box:
    """The place that words take beside a point.

    Parameters
    ----------
    point : (float, float)
        In shares of the axes, from the bottom left.
    text, xanchor, xshift, yshift
        As the annotation has them.
    size : (float, float)
        Of the axes in pixels; the smallest of our figures, if absent.
    """
    x, y = np.asarray(point, dtype=np.float64)
    width = LETTER * len(text)
    left = xshift - {"left": 0.0, "center": width / 2, "right": width}[xanchor]
    return Box(
        left=float(x + left / size[0]),
        right=float(x + (left + width) / size[0]),
        low=float(y + (yshift - 8) / size[1]),
        high=float(y + (yshift + 8) / size[1]),
        at=float(x),
    )


def clear_place(
    figure: go.Figure,
    at: tuple[float, float],
    text: str,
    places: Sequence[dict[str, Any]],
    lines: Sequence[tuple[NDArray[np.float64], ArrayLike]],
) -> dict[str, Any]:
    """The first of several places beside a point whose words are seen whole and least crossed.

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
    drawn = [_dense(inside(figure, x, gaps(y))) for x, y in lines]
    point = in_shares(figure, *at)

    def met(place: dict[str, Any]) -> tuple[float, int]:
        boxes = [box_of(point, text, size=size, **place) for size in (MIDDLE, LARGE)]
        crossed = sum(sum(crowding(box, (), line)) for box in boxes for line in drawn)
        return cut_off(box_of(point, text, size=NARROW, **place)), crossed

    return min(places, key=met)


def whole_place(point: ArrayLike, text: str, places: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first of several places beside a point whose words are seen whole, or least cut.

    ``point`` is in shares of the axes; the rest as for :func:`clear_place`.
    """
    return min(places, key=lambda place: cut_off(box_of(point, text, size=NARROW, **place)))


def cut_off(box: Box) -> float:
    """How many pixels of words in this place lie off the narrowest of our figures."""
    width, height = NARROW
    beyond = (
        -box.left * width,
        (box.right - 1) * width,
        -box.low * height,
        (box.high - 1) * height,
    )
    return max(0.0, *(pixels - _EDGE for pixels in beyond))


def in_shares(figure: go.Figure, x: float, y: float) -> NDArray[np.float64]:
    """A point of a figure whose axes have ranges, in shares of them from the bottom left."""
    share: NDArray[np.float64] = inside(figure, np.array([x]), np.array([y]))[0]
    return share


def inside(
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


def around(at: float) -> list[float]:
    """Shares of the axis at which a name may stand, the best first."""
    steps = np.arange(1, 10) * 0.08
    return [at, *(float(at + sign * step) for step in steps for sign in (-1, 1))]


def overprints(box: Box, other: Box) -> bool:
    """Whether two places share ground."""
    across = box.left < other.right and other.left < box.right
    return across and box.low < other.high and other.low < box.high


def crowding(box: Box, taken: Sequence[Box], main: NDArray[np.float64] | None) -> tuple[int, int]:
    """How much a name would overprint: words and borders first, then points of the main line."""
    words = sum(overprints(box, other) for other in taken)
    # Off the figure it would not be seen at all.
    inside_x = box.left > -_MARGIN and box.right < 1 + _MARGIN
    outside = 9 * (not inside_x or box.low < 0 or box.high > 1 + _MARGIN)
    if main is None:
        return words + outside, 0
    x, y = main.T
    crossed = (x > box.left) & (x < box.right) & (y > box.low) & (y < box.high)
    return words + outside, int(crossed.any())


def _dense(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points along a line that are close enough to tell what it runs through."""
    if not 2 <= len(points) < _POINTS:
        return points
    place = np.linspace(0, len(points) - 1, _POINTS)
    return np.stack([np.interp(place, np.arange(len(points)), axis) for axis in points.T], axis=1)


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
