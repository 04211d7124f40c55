"""What curves of positions in the plane and in space have in common: points, ranges, words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.theme import POSITION, position_colours
from posviz.wording import percent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SEGMENTS = 32
"""Pieces of one colour that a two-dimensional curve is drawn in: SVG lines have one colour."""

_GRID = 2048  # no screen shows a curve on more points than this across
_ROOM = 0.08  # free margin round a curve, as a share of its extent


@dataclass(frozen=True)
class Drawn:
    """What both curves draw: points (n, axes), their positions, and the words of the axes."""

    points: NDArray[np.float64]
    positions: NDArray[np.int64]
    titles: tuple[str, ...]
    names: tuple[str, ...]
    shares: tuple[float, ...] | None

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        shares: ArrayLike | None,
        positions: ArrayLike | None,
        components: tuple[int, ...],
    ) -> Drawn:
        """What of the scores is drawn; arguments as of :func:`posviz.figures.curve.curve_2d`."""
        points = chosen(scores, components)
        at = np.arange(len(points)) if positions is None else np.asarray(positions)
        names = tuple(f"component {c + 1}" for c in components)
        held = None
        titles = names
        if shares is not None:
            given = np.atleast_1d(np.asarray(shares, dtype=float))
            held = tuple(float(given[c]) if c < len(given) else 0.0 for c in components)
            titles = tuple(f"{n} · {percent(s)}" for n, s in zip(names, held, strict=True))
        return cls(points, at.astype(np.int64), titles, names, held)

    @property
    def fraction(self) -> NDArray[np.float64]:
        """Where each row lies between the first and the last position, in [0, 1]."""
        since: NDArray[np.float64] = (self.positions - self.positions[0]).astype(np.float64)
        return since / np.float64(max(since[-1], 1.0))

    @property
    def extent(self) -> list[tuple[float, float]]:
        """Lowest and highest score on each axis."""
        low, high = np.min(self.points, axis=0), np.max(self.points, axis=0)
        return list(zip(low.tolist(), high.tolist(), strict=True))


def chosen(scores: ArrayLike, components: tuple[int, ...]) -> NDArray[np.float64]:
    """The wanted columns; a component that the table does not have is 0 everywhere."""
    given = np.asarray(scores, dtype=np.float64)
    points = np.zeros((len(given), len(components)))
    for column, component in enumerate(components):
        if component < given.shape[1]:
            points[:, column] = given[:, component]
    return points


def visible(points: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows to draw: a run of points inside one screen pixel is drawn once.

    Unlike taking every n-th row, this cannot show a slower oscillation than there is.
    """
    low = points.min(axis=0)
    extent = float((points.max(axis=0) - low).max())
    if len(points) <= _GRID or extent == 0:
        return np.arange(len(points))
    cell = np.floor((points - low) / extent * _GRID).astype(np.int64)
    moved = np.any(cell[1:] != cell[:-1], axis=1)
    keep = np.concatenate([[True], moved])
    keep[-1] = True
    return np.flatnonzero(keep)


def segments(
    shown: NDArray[np.intp], fraction: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.intp], str]]:
    """Rows and colour of each piece; a piece ends where the next begins, so no gap shows."""
    if len(shown) == 1:
        yield shown, POSITION[0]
        return
    edges = np.unique(np.linspace(0, len(shown) - 1, min(SEGMENTS, len(shown) - 1) + 1).astype(int))
    middles = (fraction[shown[edges[:-1]]] + fraction[shown[edges[1:]]]) / 2
    for start, stop, colour in zip(edges, edges[1:], position_colours(middles), strict=False):
        yield shown[start : stop + 1], colour


def with_room(extent: tuple[float, float]) -> list[float]:
    """An axis range that holds ``extent`` and some air; ±1 round a single value."""
    low, high = extent
    room = (high - low) * _ROOM or 1.0
    return [low - room, high + room]


def hover(names: tuple[str, ...]) -> str:
    """What stands beside the pointer: the position and its scores."""
    scores = "".join(f"<br>{n}: %{{{a}:.3f}}" for n, a in zip(names, "xyz", strict=False))
    return f"<b>position %{{customdata:,}}</b>{scores}<extra></extra>"


def alt(data: Drawn, name: str, behind: str | None) -> str:
    """The curve in words, for who does not see it; ``behind`` is what stands faintly behind it."""
    first, last = int(data.positions[0]), int(data.positions[-1])
    kind = {2: "Plane", 3: "Space"}[len(data.names)]
    axes = ", ".join(data.titles)
    held = (
        f" Together they hold {percent(sum(data.shares))} of the variance." if data.shares else ""
    )
    faint = f" Faintly behind it: {behind}." if behind else ""
    return (
        f"{kind} curve of {name}: {len(data.points):,} positions joined in order, "
        f"from {first:,} (indigo) to {last:,} (amber), on {axes}.{held}{faint}"
    )
