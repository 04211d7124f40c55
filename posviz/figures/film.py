"""A curve that changes: the frames of a training run, or of a stretch from once to many times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.curve import curve_2d, curve_3d
from posviz.figures.picture import Film, Picture
from posviz.figures.points import chosen, with_room
from posviz.figures.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def curve_film(
    frames: Sequence[ArrayLike],
    labels: Sequence[str],
    shares: ArrayLike | None = None,
    *,
    components: tuple[int, ...] = (0, 1, 2),
    name: str = "the table",
    together: str = "",
    marked: Sequence[int] = (),
) -> Picture:
    """The curve of positions as a film, its axes still and wide enough for every frame.

    Parameters
    ----------
    frames : sequence of arrays of shape (n, k)
        Scores of positions 0 … n - 1, all on the same principal axes; n may differ.
    labels : sequence of str
        What each frame is: ``"step 120"``, ``"1.5 ×"``.
    shares : array of shape (k,), optional
        Explained variance ratio of each component in the table whose axes are used.
    components : two or three int
        Which columns to draw, counted from 0.
    name : str
        What the film is of, for the text alternative.
    together : str
        Films with the same word here run as one; see :class:`posviz.figures.picture.Film`.
    marked : sequence of int
        Rows to mark with a dot, such as rows that were never trained.

    Returns
    -------
    Picture
        The figure is the last frame; the film holds all of them.
    """
    assert len(frames) == len(labels) > 0, "every frame has a label"
    last = curve_frame(
        frames, len(frames) - 1, shares, components=components, name=name, marked=marked
    )
    points = [chosen(frame, components).astype(np.float32) for frame in frames]
    return replace(
        last,
        film=Film(tuple(points), tuple(labels), together),
        alt=f"Film of {len(labels):,} frames, {labels[0]} to {labels[-1]}. Last: {last.alt}",
    )


def curve_frame(
    frames: Sequence[ArrayLike],
    index: int,
    shares: ArrayLike | None = None,
    *,
    components: tuple[int, ...] = (0, 1, 2),
    name: str = "the table",
    marked: Sequence[int] = (),
) -> Picture:
    """One frame of a film, on the axes that are wide enough for every frame.

    Parameters are those of :func:`curve_film`; ``index`` says which frame.
    """
    drawn = [np.asarray(frame, dtype=np.float64) for frame in frames]
    if len(components) == 3:
        x, y, z = components
        picture = curve_3d(drawn[index], shares, components=(x, y, z), name=name)
    else:
        x, y = components
        picture = curve_2d(drawn[index], shares, components=(x, y), name=name)
    points = [chosen(frame, components) for frame in drawn]
    low = np.min([frame.min(axis=0) for frame in points], axis=0)
    high = np.max([frame.max(axis=0) for frame in points], axis=0)
    axes = picture.figure.layout.scene if len(components) == 3 else picture.figure.layout
    for axis, bounds in zip(("xaxis", "yaxis", "zaxis"), zip(low, high, strict=True), strict=False):
        axes[axis].range = with_room((float(bounds[0]), float(bounds[1])))
    _mark(picture, points[index], marked)
    return picture


def _mark(picture: Picture, points: NDArray[np.float64], rows: Sequence[int]) -> None:
    """Dots on some rows, which follow a film as the curve does (``meta`` tells it)."""
    inside = [row for row in rows if row < len(points)]
    if not inside:
        return
    at = dict(zip("xyz", points[inside].T.astype(np.float32), strict=False))
    look = {"color": LIGHT.faint, "size": 3 if points.shape[1] == 3 else 6, "symbol": "circle"}
    add = picture.figure.add_scatter3d if points.shape[1] == 3 else picture.figure.add_scatter
    add(
        **at, mode="markers", meta="marked", customdata=inside, marker=look,
        hovertemplate="<b>position %{customdata}</b><br>never trained<extra></extra>",
    )  # fmt: skip
