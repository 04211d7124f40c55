"""The curve of positions in two or three principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.figures.camera import WIDE, first_view
from posviz.figures.colourbar import ROOM, add_colour_bar
from posviz.figures.picture import Picture
from posviz.figures.points import Drawn, alt, chosen, hover, segments, visible, with_room
from posviz.figures.theme import (
    LIGHT,
    POSITION,
    blank,
    colourscale,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

_ENDS = {"first": 0, "last": -1}  # names of the labels at the ends, and the rows they stand at


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
    data = Drawn.of(scores, shares, positions, components)
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
    shown = visible(data.points)
    words = hover(data.names)
    for rows, colour in segments(shown, data.fraction):
        figure.add_scatter(
            x=_f32(data.points[rows, 0]),
            y=_f32(data.points[rows, 1]),
            customdata=data.positions[rows],
            mode="lines",
            line={"color": colour, "width": 3},
            hovertemplate=words,
            meta="walk",
        )
    _ends_2d(figure, data)
    _colour_bar(figure, data.positions)
    return Picture(figure, alt(data, name, behind.label if behind else None))


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
    data = Drawn.of(scores, shares, positions, components)
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
    shown = visible(data.points)
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
        hovertemplate=hover(data.names),
        meta="walk",
    )
    ends = _f32(data.points[[0, -1]])
    figure.add_scatter3d(
        x=ends[:, 0], y=ends[:, 1], z=ends[:, 2], mode="markers", hoverinfo="skip", meta="ends",
        marker={"color": [POSITION[0], POSITION[-1]], "size": 5, "line": {"width": 0}},
    )  # fmt: skip
    _colour_bar(figure, data.positions, space=True)
    return Picture(figure, alt(data, name, behind.label if behind else None))


def _ends_2d(figure: go.Figure, data: Drawn) -> None:
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


def _ends_3d(data: Drawn) -> list[dict[str, Any]]:
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


def _f32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    return values.astype(np.float32)
