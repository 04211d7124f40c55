"""A number for each of many directions, beside the same of random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.lines import Band, add_line, add_nulls
from posviz.figures.picture import Picture
from posviz.figures.theme import blank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def against_random(
    values: ArrayLike,
    draws: ArrayLike,
    *,
    along: str,
    quantity: str,
    limits: tuple[float, float],
    name: str = "the model",
) -> Picture:
    """A line over 1, 2, … with the middle and the range of random draws behind it.

    Parameters
    ----------
    values : array of shape (n,)
    draws : array of shape (k, n)
        The same number of k random models.
    along, quantity : str
        Titles of the axes.
    limits : (float, float)
        Range of the values.
    name : str
        What the line is of, for the text alternative.
    """
    y, random = np.asarray(values, np.float64), np.asarray(draws, np.float64)
    x = np.arange(1, len(y) + 1, dtype=np.float64)
    room = 0.04 * (limits[1] - limits[0])
    figure = blank(
        xaxis={"title": {"text": along}, "range": [1 - 0.02 * len(y), 1.02 * len(y)]},
        yaxis={"title": {"text": quantity}, "range": [limits[0] - room, limits[1] + room]},
    )
    band = Band(np.median(random, axis=0), random.min(axis=0), random.max(axis=0))
    add_nulls(figure, x, {"random directions": band}, at=0.5)
    add_line(figure, x, y, hover="no. %{x}: %{y:.3f}<extra></extra>", name=name)
    half = max(len(y) // 2, 1)
    return Picture(
        figure,
        f"{quantity} of {name}, {len(y):,} values: on average {y[:half].mean():.3f} in the first "
        f"half and {y[-half:].mean():.3f} in the last; random directions {random.mean():.3f}.",
    )
