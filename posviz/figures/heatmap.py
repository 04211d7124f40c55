"""A matrix as a picture: axes and colour bar by Plotly, the pixels as raw bytes beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.colourbar import ROOM, add_colour_bar
from posviz.figures.picture import Picture, Raster, beyond, quantise
from posviz.figures.theme import PALETTES, blank
from posviz.wording import decimal, significant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_COUNTED = 6  # positions, each with its number on the axes


def heatmap(
    values: ArrayLike,
    *,
    limits: tuple[float, float],
    diverging: bool = True,
    label: str = "cosine",
    n_positions: int | None = None,
    first: int = 0,
    name: str = "the table",
) -> Picture:
    """Every pair of positions as one coloured cell, position 0 in the top left corner.

    Parameters
    ----------
    values : array of shape (rows, rows)
        One value a pair, or a mean a square block of pairs, the last block being smaller where
        it does not fit. Not finite: left unpainted.
    limits : (float, float)
        The values that the ends of the palette stand for, and all beyond them.
    diverging : bool
        Centre the palette on zero: the wider limit counts on both sides.
    label : str
        What the values are, beside the colour bar and under the cursor.
    n_positions : int, optional
        How many positions the picture covers, where ``values`` is pooled.
    first : int
        The position of the first row.
    name : str
        What the picture is of, for the text alternative.

    Returns
    -------
    Picture
        Its raster carries the cells; the figure has axes in positions and the colour bar.
    """
    cells = np.asarray(values, dtype=np.float32)
    count = n_positions or len(cells)
    step = -(-count // len(cells))
    low, high = (float(limit) for limit in limits)
    if diverging:
        high = max(abs(low), abs(high))
        low = -high
    palette = "diverging" if diverging else "sequential"
    under, over = beyond(cells, low, high)
    raster = Raster(
        quantise(cells, low, high),
        low=low,
        high=high,
        n_rows=count,
        n_cols=count,
        step=step,
        first_row=first,
        first_col=first,
        palette=palette,
        hover=f"positions {{row}} and {{col}}\n{label} ≈ {{value}}",
        clipped=(under, over),
    )
    whole = {"dtick": 1} if count <= _COUNTED else {}  # Plotly would count half positions
    edges = [first - 0.5, first + count - 0.5]
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={"title": {"text": "position"}, "range": edges, "showgrid": False,
               "constrain": "domain", "constraintoward": "left", **whole},
        yaxis={"title": {"text": "position"}, "range": edges[::-1], "showgrid": False,
               "scaleanchor": "x", "constrain": "domain", "constraintoward": "top", **whole},
    )  # fmt: skip
    words = (
        f"{label} {'≤ ' * under}{significant(low)}",
        f"{'≥ ' * over}{significant(high)}",
    )
    add_colour_bar(figure, PALETTES[palette], (low, high), words)
    return Picture(figure, _alt(cells, count, step, first, label, name), raster)


def _alt(cells: np.ndarray, count: int, step: int, first: int, label: str, name: str) -> str:
    finite = cells[np.isfinite(cells)]
    found = (
        f"from {decimal(finite.min(), digits=2)} to {decimal(finite.max(), digits=2)}"
        if finite.size
        else "without a value"
    )
    pooled = f" Each cell is the mean of {step} × {step} pairs." if step > 1 else ""
    return (
        f"Heatmap of {label} for every pair of positions {first:,} to {first + count - 1:,} of "
        f"{name}, the first at the top left: {found}.{pooled}"
    )
