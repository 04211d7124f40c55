"""One number a position, along the positions: norms of rows, steps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.lines import Line, add_line, add_nulls, gaps, label, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank
from posviz.wording import significant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

_NAMED = 3  # marked positions that get their number written; more would overprint


def along_positions(
    values: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    quantity: str,
    marked: tuple[int, ...] = (),
    nulls: Mapping[str, Line] | None = None,
    log_y: bool = False,
    name: str = "the table",
) -> Picture:
    """A line over the positions.

    Parameters
    ----------
    values : array of shape (n,)
        Such as the norm of each row; where not finite, the line has a gap.
    positions : array of shape (n,), optional
        Position of each value, rising; 0, 1, … if absent.
    quantity : str
        What the values are, with their unit if they have one.
    marked : tuple of int
        Positions to mark with a dot, such as special rows.
    nulls : mapping of name to line or Band, optional
        Along the same positions.
    log_y : bool
        Logarithmic value axis; values that are not positive are gaps.
    name : str
        What the values are of, for the text alternative.
    """
    y = gaps(values)
    if log_y:
        y = np.where(y > 0, y, np.nan)
    x = np.asarray(np.arange(len(y)) if positions is None else positions, dtype=np.float64)
    room = 0.02 * float(x[-1] - x[0]) or 0.5
    figure = blank(
        xaxis={"title": {"text": "position"}, "range": [x[0] - room, x[-1] + room]},
        yaxis={
            "title": {"text": quantity},
            "range": padded(np.log10(y) if log_y else y, room=0.12),
            "type": "log" if log_y else "linear",
        },
    )
    add_nulls(figure, x, nulls)
    hover = f"<b>position %{{x}}</b><br>{quantity}: %{{y:.4g}}<extra></extra>"
    add_line(figure, x, y, hover=hover, name=name, width=1.8)
    rows = np.flatnonzero(np.isin(x, marked) & np.isfinite(y))
    if rows.size:
        figure.add_scatter(
            x=x[rows], y=y[rows], mode="markers", hoverinfo="skip",
            marker={"color": LIGHT.positive, "size": 8},
        )  # fmt: skip
    for row in rows[:_NAMED]:
        at = np.log10(y[row]) if log_y else y[row]
        right = x[row] > (x[0] + x[-1]) / 2
        label(
            figure, x[row], at, f"{int(x[row]):,}", colour=LIGHT.ink,
            xanchor="right" if right else "left", xshift=-8 if right else 8,
        )  # fmt: skip
    return Picture(figure, _alt(x, y, quantity, name))


def _alt(x: np.ndarray, y: np.ndarray, quantity: str, name: str) -> str:
    finite = np.flatnonzero(np.isfinite(y))
    if not finite.size:
        return f"{quantity} of {name} along {len(x):,} positions: no position has a value."
    low, high = finite[np.argmin(y[finite])], finite[np.argmax(y[finite])]
    median, lowest, highest = (
        significant(float(value)) for value in (np.median(y[finite]), y[low], y[high])
    )
    return (
        f"{quantity} of {name} along {len(x):,} positions: median {median}, lowest {lowest} at "
        f"position {int(x[low]):,}, highest {highest} at position {int(x[high]):,}."
    )
