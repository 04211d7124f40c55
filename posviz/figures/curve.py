"""The curve of positions in two or three principal components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.figures.camera import WIDE, first_view
from posviz.figures.colourbar import ROOM, add_colour_bar
from posviz.figures.picture import Picture
from posviz.figures.theme import (
    LIGHT,
    POSITION,
    blank,
    colourscale,
    position_colours,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

SEGMENTS = 32
"""Pieces of one colour that a two-dimensional curve is drawn in: SVG lines have one colour."""

_ENDS = {"first": 0, "last": -1}  # names of the labels at the ends, and the rows they stand at
_GRID = 2048  # no screen shows a curve on more points than this across
_ROOM = 0.08  # free margin round a curve, as a share of its extent


@dataclass(frozen=True)
class Behind:
    """A second curve, drawn faintly behind the first: a null, or the original of a stretch.

    Parameters
    ----------
    scores : array of shape (n, k)
        On the same axes as the first curve.
    label : str
        Its name, written at its last point.
    """

    scores: ArrayLike
    label: str


def curve_2d(
    scores: ArrayLike,
    shares: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    *,
    components: tuple[int, int] = (0, 1),
    behind: Behind | None = None,
    name: str = "the table",
) -> Picture:
    """The curve of positions in two principal components, equal scales on both axes.

    Parameters
    ----------
    scores : array of shape (n, k)
        Scores of each position, best component first. With k = 1 the missing component is 0.
    shares : array of shape (k,), optional
        Explained variance ratio of each component, in [0, 1].
    positions : array of shape (n,), optional
        Position of each row, rising; 0, 1, … if absent.
    components : (int, int)
        Which columns to draw, counted from 0.
    behind : Behind, optional
    name : str
        What the curve is of, for the text alternative.

    Returns
    -------
    Picture
        One line trace a coloured segment; ``customdata`` holds positions.
    """
    data = _Drawn.of(scores, shares, positions, components)
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={"title": {"text": data.titles[0]}, "range": with_room(data.extent[0])},
        yaxis={
            "title": {"text": data.titles[1]},
            "range": with_room(data.extent[1]),
            "scaleanchor": "x",
            "scaleratio": 1,
        },
    )
    if behind is not None:
        back = chosen(behind.scores, components)
        figure.add_scatter(
            x=_f32(back[:, 0]), y=_f32(back[:, 1]), mode="lines", hoverinfo="skip",
            line={"color": LIGHT.faint, "width": 1.5}, name=behind.label,
        )  # fmt: skip
        _note(figure, back[-1], behind.label, (0, -12), LIGHT.ink_soft)
    shown = _visible(data.points)
    hover = _hover(data.names)
    for rows, colour in segments(shown, data.fraction):
        figure.add_scatter(
            x=_f32(data.points[rows, 0]),
            y=_f32(data.points[rows, 1]),
            customdata=data.positions[rows],
            mode="lines",
            line={"color": colour, "width": 3},
            hovertemplate=hover,
            meta="walk",
        )
    _ends_2d(figure, data)
    _colour_bar(figure, data.positions)
    return Picture(figure, _alt(data, name, behind))


def curve_3d(
    scores: ArrayLike,
    shares: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    *,
    components: tuple[int, int, int] = (0, 1, 2),
    behind: Behind | None = None,
    name: str = "the table",
) -> Picture:
    """The curve of positions in three principal components, equal scales on all axes.

    Parameters are those of :func:`curve_2d`, with three components.

    Returns
    -------
    Picture
        One ``scatter3d`` line whose colour is the position; ``customdata`` holds positions.
    """
    data = _Drawn.of(scores, shares, positions, components)
    ranges = [with_room(extent) for extent in data.extent]
    axes = zip(("xaxis", "yaxis", "zaxis"), data.titles, ranges, strict=True)
    scene: dict[str, Any] = {
        axis: {"title": {"text": title}, "range": ends} for axis, title, ends in axes
    }
    figure = blank(
        margin={"l": 0, "r": 0, "t": ROOM, "b": 0},
        meta={"wide": first_view(ranges, data.points, WIDE)},  # for the component to choose
        scene={
            **scene,
            "aspectmode": "data",
            "camera": first_view(ranges, data.points),
            "annotations": [*_ends_3d(data), *_behind_3d(behind, components)],
            "dragmode": "turntable",
        },
    )
    if behind is not None:
        back = _f32(chosen(behind.scores, components))
        figure.add_scatter3d(
            x=back[:, 0], y=back[:, 1], z=back[:, 2], mode="lines", hoverinfo="skip",
            line={"color": LIGHT.faint, "width": 2}, name=behind.label,
        )  # fmt: skip
    shown = _visible(data.points)
    points = _f32(data.points[shown])
    figure.add_scatter3d(
        x=points[:, 0],
        y=points[:, 1],
        z=points[:, 2],
        customdata=data.positions[shown],
        mode="lines",
        line={
            "color": data.positions[shown],
            "colorscale": colourscale(POSITION),
            "cmin": int(data.positions[0]),
            "cmax": int(max(data.positions[-1], data.positions[0] + 1)),
            "width": 6,
        },
        hovertemplate=_hover(data.names),
        meta="walk",
    )
    ends = _f32(data.points[[0, -1]])
    figure.add_scatter3d(
        x=ends[:, 0], y=ends[:, 1], z=ends[:, 2], mode="markers", hoverinfo="skip", meta="ends",
        marker={"color": [POSITION[0], POSITION[-1]], "size": 5, "line": {"width": 0}},
    )  # fmt: skip
    _colour_bar(figure, data.positions, space=True)
    return Picture(figure, _alt(data, name, behind))


@dataclass(frozen=True)
class _Drawn:
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
    ) -> _Drawn:
        points = chosen(scores, components)
        at = np.arange(len(points)) if positions is None else np.asarray(positions)
        names = tuple(f"component {c + 1}" for c in components)
        held = None
        titles = names
        if shares is not None:
            given = np.atleast_1d(np.asarray(shares, dtype=float))
            held = tuple(float(given[c]) if c < len(given) else 0.0 for c in components)
            titles = tuple(f"{n} · {_percent(s)}" for n, s in zip(names, held, strict=True))
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


def _visible(points: NDArray[np.float64]) -> NDArray[np.intp]:
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


def _ends_2d(figure: go.Figure, data: _Drawn) -> None:
    """A dot and the number of the position at both ends of the curve."""
    ends = data.points[[0, -1]]
    figure.add_scatter(
        x=_f32(ends[:, 0]), y=_f32(ends[:, 1]), mode="markers", hoverinfo="skip", meta="ends",
        marker={"color": [POSITION[0], POSITION[-1]], "size": 9},
    )  # fmt: skip
    outward = _outward(data.points)
    for (name, row), shift in zip(_ENDS.items(), outward, strict=True):
        _note(figure, data.points[row], f"{data.positions[row]:,}", shift, LIGHT.ink, name)


def _outward(points: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Shift in pixels of the first and last label, away from the middle of the curve."""
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    if float(np.abs(points[0] - points[-1]).max()) < 0.04 * extent:
        return [(-16, 0), (22, 0)]  # the ends meet: one label on each side
    middle = points.mean(axis=0)
    shifts = []
    for end in (points[0], points[-1]):
        away = (end - middle) / (float(np.hypot(*(end - middle))) or 1.0)
        shifts.append((float(away[0]) * 20, float(away[1]) * 16))
    return shifts


def _ends_3d(data: _Drawn) -> list[dict[str, Any]]:
    return [
        {
            "x": float(data.points[row, 0]),
            "y": float(data.points[row, 1]),
            "z": float(data.points[row, 2]),
            "text": f"{data.positions[row]:,}",
            "name": name,
            "showarrow": False,
            "yshift": 17,
            "font": {"color": LIGHT.ink, "size": 13},
        }
        for name, row in _ENDS.items()
    ]


def _behind_3d(behind: Behind | None, components: tuple[int, ...]) -> list[dict[str, Any]]:
    """The name of the curve behind, at its last point."""
    if behind is None:
        return []
    end = chosen(behind.scores, components)[-1].tolist()
    place = dict(zip("xyz", end, strict=True))
    look = {"showarrow": False, "yshift": -14, "font": {"color": LIGHT.ink_soft, "size": 12}}
    return [place | {"text": behind.label} | look]


def _note(
    figure: go.Figure,
    at: NDArray[np.float64],
    text: str,
    shift: tuple[float, float],
    colour: str,
    name: str | None = None,
) -> None:
    figure.add_annotation(
        x=float(at[0]), y=float(at[1]), text=text, xshift=shift[0], yshift=shift[1],
        font={"color": colour}, name=name,
    )  # fmt: skip


def _colour_bar(figure: go.Figure, positions: NDArray[np.int64], *, space: bool = False) -> None:
    first, last = int(positions[0]), int(positions[-1])
    words = (f"position {first:,}", f"{last:,}")
    add_colour_bar(figure, POSITION, (first, last), words, space=space)


def with_room(extent: tuple[float, float]) -> list[float]:
    """An axis range that holds ``extent`` and some air; ±1 round a single value."""
    low, high = extent
    room = (high - low) * _ROOM or 1.0
    return [low - room, high + room]


def _hover(names: tuple[str, ...]) -> str:
    scores = "".join(f"<br>{n}: %{{{a}:.3f}}" for n, a in zip(names, "xyz", strict=False))
    return f"<b>position %{{customdata:,}}</b>{scores}<extra></extra>"


def _alt(data: _Drawn, name: str, behind: Behind | None) -> str:
    first, last = int(data.positions[0]), int(data.positions[-1])
    kind = {2: "Plane", 3: "Space"}[len(data.names)]
    axes = ", ".join(data.titles)
    held = (
        f" Together they hold {_percent(sum(data.shares))} of the variance." if data.shares else ""
    )
    faint = f" Faintly behind it: {behind.label}." if behind else ""
    return (
        f"{kind} curve of {name}: {len(data.points):,} positions joined in order, "
        f"from {first:,} (indigo) to {last:,} (amber), on {axes}.{held}{faint}"
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _f32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    return values.astype(np.float32)
