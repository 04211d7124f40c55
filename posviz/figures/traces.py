"""What each dimension does along the positions: all of them as one picture, or a few as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.colourbar import ROOM, add_bar_about_zero
from posviz.figures.lines import gaps
from posviz.figures.picture import Picture, Raster, quantise
from posviz.figures.points import segments
from posviz.figures.theme import blank
from posviz.wording import significant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SPACING = 1.15  # from one line's zero to the next, in largest values


def trace_map(
    values: ArrayLike,
    *,
    limit: float,
    ranked: bool,
    total: int | None = None,
    name: str = "the table",
) -> Picture:
    """Every dimension as a row of colour along the positions.

    Parameters
    ----------
    values : array of shape (n_dimensions, n_positions)
        Each dimension about its own mean; not finite: left unpainted.
    limit : float
        The value of the strongest colour, on both sides of zero; larger ones look the same.
    ranked : bool
        The rows are the dimensions strongest first, and are numbered by rank, from 1; otherwise
        they are in the order of the model, numbered from 0.
    total : int, optional
        How many dimensions the table has, where only the strongest are drawn.
    name : str
        What the picture is of, for the text alternative.
    """
    cells = np.asarray(values, dtype=np.float32)
    n_rows, n_cols = cells.shape
    some = total is not None and total > n_rows
    first = 1 if ranked or some else 0
    row = "strongest no. {row}" if ranked else "row {row}" if some else "dimension {row}"
    raster = Raster(
        quantise(cells, -limit, limit),
        low=-limit,
        high=limit,
        n_rows=n_rows,
        n_cols=n_cols,
        first_row=first,
        palette="diverging",
        hover=f"position {{col}}, {row}\nvalue ≈ {{value}}",
    )
    title = "dimension, strongest first" if ranked else "dimension"
    if some:
        title += (
            f" · {n_rows:,} of {total:,}" if ranked else f" · strongest {n_rows:,} of {total:,}"
        )
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={"title": {"text": "position"}, "range": [-0.5, n_cols - 0.5], "showgrid": False},
        yaxis={"title": {"text": title}, "range": [first + n_rows - 0.5, first - 0.5],
               "showgrid": False},
    )  # fmt: skip
    add_bar_about_zero(figure, "value", limit)
    finite = cells[np.isfinite(cells)]
    found = (
        f"from {significant(float(finite.min()))} to {significant(float(finite.max()))}"
        if finite.size
        else "without a value"
    )
    alt = (
        f"Values of {n_rows:,} dimensions of {name} along {n_cols:,} positions, {title}, each "
        f"about its mean: {found}."
    )
    return Picture(figure, alt, raster)


def trace_lines(
    values: ArrayLike,
    dimensions: ArrayLike,
    positions: ArrayLike,
    *,
    shares: ArrayLike,
    name: str = "the table",
) -> Picture:
    """A few dimensions as lines above one another, all on one scale, each round its own zero.

    Colour is position, as on the curve.

    Parameters
    ----------
    values : array of shape (k, n)
        Each dimension about its own mean; the first is drawn at the top.
    dimensions : array of shape (k,)
        Their numbers in the model, counted from 0.
    positions : array of shape (n,)
        Rising.
    shares : array of shape (k,)
        Share of the variance that each holds, in [0, 1].
    name : str
        What the lines are of, for the text alternative.
    """
    lines = np.atleast_2d(gaps(values))
    at = np.asarray(positions)
    numbers = [int(number) for number in np.asarray(dimensions)]
    held = [float(share) for share in np.asarray(shares)]
    largest = float(np.nanmax(np.abs(lines), initial=0.0)) or 1.0
    zeros = -_SPACING * largest * np.arange(len(lines))
    room = 0.02 * float(at[-1] - at[0]) or 0.5
    since = (at - at[0]) / max(float(at[-1] - at[0]), 1.0)
    figure = blank(
        xaxis={"title": {"text": "position"}, "range": [at[0] - room, at[-1] + room]},
        yaxis={
            "range": [zeros[-1] - 1.1 * largest, 1.1 * largest],
            "tickvals": zeros.tolist(),
            "ticktext": [f"{number} · {100 * share:.1f} %"
                         for number, share in zip(numbers, held, strict=True)],
            "title": {"text": "dimension · its share of the variance"},
        },
    )  # fmt: skip
    for number, zero, line in zip(numbers, zeros, lines, strict=True):
        hover = f"<b>position %{{x}}</b><br>dimension {number}: %{{text}}<extra></extra>"
        for rows, colour in segments(np.arange(len(at)), since):
            figure.add_scatter(
                x=at[rows], y=(zero + line[rows]).astype(np.float32),
                text=[significant(float(value)) for value in line[rows]], hovertemplate=hover,
                mode="lines", line={"color": colour, "width": 2}, meta="walk",
                name=f"dimension {number}",
            )  # fmt: skip
    alt = (
        f"The {len(lines)} strongest dimensions of {name} along {len(at):,} positions: "
        + ", ".join(
            f"{number} ({100 * share:.1f} % of the variance)"
            for number, share in zip(numbers, held, strict=True)
        )
        + "."
    )
    return Picture(figure, alt)
