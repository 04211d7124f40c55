"""A table before and after a change of length, on the same axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.curve import chosen
from posviz.figures.film import curve_film
from posviz.figures.lines import add_line, add_nulls, gaps, label, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def stretch_film(
    frames: Sequence[NDArray[np.float64]], shares: ArrayLike | None, *, name: str
) -> Picture:
    """The curve from the old length to the new one, the old curve faintly behind.

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
    labels = [f"{len(frame) / len(first):.3g} × · {len(frame):,}" for frame in frames]
    picture = curve_film(frames, labels, shares, name=name)
    x, y, z = chosen(first, (0, 1, 2)).astype(np.float32).T
    picture.figure.add_scatter3d(
        x=x, y=y, z=z, mode="lines", hoverinfo="skip", name="before",
        line={"color": LIGHT.faint, "width": 2},
    )  # fmt: skip
    return picture


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
    known = np.flatnonzero(np.isfinite(new))
    if known.size:
        row = known[len(known) // 3]
        at = row / max(len(new) - 1, 1)
        label(figure, at, new[row], names[1], colour=LIGHT.accent, yshift=12)
    return Picture(figure, _alt(old, new, quantity, names))


def _alt(old: np.ndarray, new: np.ndarray, quantity: str, names: tuple[str, str]) -> str:
    def told(values: np.ndarray, name: str) -> str:
        found = values[np.isfinite(values)]
        if not found.size:
            return f"{name} has none"
        return f"{name} from {found.min():.3g} to {found.max():.3g}, median {np.median(found):.3g}"

    return f"{quantity}, row by row: {told(old, names[0])}; {told(new, names[1])}."
