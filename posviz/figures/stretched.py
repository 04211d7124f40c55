"""A table before and after a change of length, on the same axes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.film import curve_film, curve_frame
from posviz.figures.lines import add_line, add_nulls, gaps, padded
from posviz.figures.picture import CellFilm, Film, Picture
from posviz.figures.points import chosen
from posviz.figures.theme import LIGHT, blank
from posviz.wording import significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

TOGETHER = "stretch"  # films of one stretch run as one


def stretch_curve(
    frames: Sequence[NDArray[np.float64]], shares: ArrayLike | None, *, name: str
) -> Picture:
    """The new curve, the old one faintly behind; more than two frames make a film of the way.

    Parameters
    ----------
    frames : sequence of arrays of shape (length, 3)
        Scores on the old table's axes, its own first and the new one last.
    shares : array, optional
        Explained variance ratio of each component of the old table.
    name : str
        What the new table is, for the text alternative.
    """
    first = frames[0]
    if len(frames) > 2:
        labels = film_labels([len(frame) for frame in frames])
        picture = curve_film(frames, labels, shares, name=name)
    else:
        picture = curve_frame(frames, len(frames) - 1, shares, name=name)
    x, y, z = chosen(first, (0, 1, 2)).astype(np.float32).T
    picture.figure.add_scatter3d(
        x=x, y=y, z=z, mode="lines", hoverinfo="skip", name="before",
        line={"color": LIGHT.faint, "width": 2},
    )  # fmt: skip
    return picture


def line_film(
    picture: Picture, frames: Sequence[NDArray[np.float64]], labels: Sequence[str]
) -> Picture:
    """A figure of one line as a film of that line, its value axis wide enough for every frame.

    Parameters
    ----------
    picture : Picture
        With one line that answers to the cursor; a spread round it is left out, since it is that
        of one moment only.
    frames : sequence of arrays of shape (n, 2)
        Points of the line, as on its axes; n may differ.
    labels : sequence of str
        What each frame is.
    """
    figure = picture.figure
    figure.data = tuple(trace for trace in figure.data if trace.line.width != 0)
    ends = frames[-1][[0, -1]]
    figure.add_scatter(
        x=ends[:, 0], y=ends[:, 1], mode="markers", hoverinfo="skip", meta="ends",
        marker={"color": LIGHT.accent, "size": 5},
    )  # fmt: skip
    values = np.concatenate([frame[:, 1] for frame in frames])
    if figure.layout.yaxis.type == "log":
        values = np.log10(values[values > 0])
    low, high = figure.layout.yaxis.range
    figure.layout.yaxis.range = [min(low, padded(values)[0]), max(high, padded(values)[1])]
    points = tuple(frame.astype(np.float32) for frame in frames)
    alt = f"Film of {len(labels):,} frames, {labels[0]} to {labels[-1]}. Last: {picture.alt}"
    return replace(picture, film=Film(points, tuple(labels), TOGETHER), alt=alt)


def heatmap_film(pictures: Sequence[Picture], labels: Sequence[str]) -> Picture:
    """Heatmaps of a table at several lengths as one film, on axes that hold the longest.

    Parameters
    ----------
    pictures : sequence of Picture
        As :func:`posviz.figures.heatmap.heatmap` gives them, all with the same limits.
    labels : sequence of str
        What each frame is.
    """
    last, rasters = pictures[-1], [one.raster for one in pictures if one.raster is not None]
    assert len(rasters) == len(labels), "every frame has cells and a label"
    edges = [-0.5, max(raster.n_rows for raster in rasters) - 0.5]
    last.figure.layout.xaxis.range, last.figure.layout.yaxis.range = edges, edges[::-1]
    alt = f"Film of {len(labels):,} frames, {labels[0]} to {labels[-1]}. Last: {last.alt}"
    return replace(last, film=CellFilm(tuple(rasters), tuple(labels), TOGETHER), alt=alt)


def film_labels(lengths: Sequence[int]) -> list[str]:
    """What the frames of a stretch are called: ``1.5 × · 192``."""
    return [f"{length / lengths[0]:.3g} × · {length:,}" for length in lengths]


def before_and_after(
    before: ArrayLike, after: ArrayLike, *, quantity: str, names: tuple[str, str]
) -> Picture:
    """One number a row, of the old table and of the new one, over the share of the way.

    Parameters
    ----------
    before, after : arrays of shape (n,) and (n',)
        Such as the norm of each row.
    quantity : str
        What they are, with their unit.
    names : (str, str)
        Of the two tables.

    Returns
    -------
    Picture
        The horizontal axis runs from the first row (0) to the last (1) of either table, so that
        a resampled table lies on its original.
    """
    old, new = gaps(before), gaps(after)
    figure = blank(
        xaxis={"title": {"text": "share of the way through the table"}, "range": [-0.02, 1.02]},
        yaxis={"title": {"text": quantity}, "range": padded(np.concatenate([old, new]), room=0.1)},
    )
    add_nulls(figure, np.linspace(0, 1, max(len(old), 2)), {names[0]: old}, at=0.6)
    hover = f"{names[1]}, %{{x:.3f}} of the way<br>{quantity}: %{{y:.4g}}<extra></extra>"
    add_line(
        figure, np.linspace(0, 1, max(len(new), 2))[: len(new)], new, hover=hover, name=names[1]
    )
    return Picture(figure, _alt(old, new, quantity, names))


def _alt(old: np.ndarray, new: np.ndarray, quantity: str, names: tuple[str, str]) -> str:
    def told(values: np.ndarray, name: str) -> str:
        found = values[np.isfinite(values)]
        if not found.size:
            return f"{name} has none"
        ends = (found.min(), found.max(), np.median(found))
        low, high, median = (significant(float(value)) for value in ends)
        return f"{name} from {low} to {high}, median {median}"

    return f"{quantity}, row by row: {told(old, names[0])}; {told(new, names[1])}."
