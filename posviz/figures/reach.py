"""The loss of a model over the length of what it reads, up to its table's end and beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from posviz.figures.lines import add_nulls, label, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = {"front": LIGHT.accent, "second": LIGHT.positive, "behind": LIGHT.faint}
_NEAR = 0.07  # of the range: names of ends closer than this are moved apart


@dataclass(frozen=True)
class Line:
    """Losses of one model with one kind of rows.

    Parameters
    ----------
    name : str
        Written at its end; empty for none.
    lengths, values : sequences of one length
        Positions read, rising, and the loss.
    place : {"front", "second", "behind"}
        The first run, the second, or a line to hold the others against.
    dashed : bool
        Rows that the model was not trained with.
    """

    name: str
    lengths: Sequence[int]
    values: Sequence[float]
    place: Literal["front", "second", "behind"] = "front"
    dashed: bool = False


def loss_by_length(
    lines: Sequence[Line],
    *,
    n_positions: int,
    quantity: str = "loss, nats",
    level: tuple[float, str] | None = None,
    name: str = "the model",
) -> Picture:
    """One line for each kind of rows, over the positions that are read.

    Parameters
    ----------
    lines : sequence of Line
        At least one.
    n_positions : int
        Rows of the table that was trained: where own rows end.
    quantity : str
        What the values are, with their unit.
    level : (float, str), optional
        A value to hold the lines against, and its name.
    name : str
        What is read with, for the text alternative.
    """
    longest = max(max(line.lengths) for line in lines)
    shortest = min(min(line.lengths) for line in lines)
    room = 0.03 * (longest - shortest) or 1.0
    drawn = np.concatenate([np.asarray(line.values, np.float64) for line in lines])
    limits = padded(np.append(drawn, level[0]) if level else drawn, room=0.1)
    figure = blank(
        margin={"l": 8, "r": 16, "t": 12, "b": 8},
        xaxis={"title": {"text": "positions read"}, "range": [shortest - room, longest + room]},
        yaxis={"title": {"text": quantity}, "range": limits},
    )
    figure.add_shape(
        type="line", x0=n_positions, x1=n_positions, y0=0, y1=1, yref="paper", layer="below",
        line={"color": LIGHT.faint, "width": 1},
    )  # fmt: skip
    label(
        figure, n_positions, limits[0], f"{n_positions:,} rows", xanchor="left", xshift=6, yshift=10
    )
    if level:
        ends = np.array([shortest, longest], dtype=np.float64)
        add_nulls(figure, ends, {level[1]: [level[0]] * 2}, at=0.0)
        figure.layout.annotations[-1].update(xanchor="left")
    for line in lines:
        figure.add_scatter(
            x=list(line.lengths), y=list(line.values), mode="lines+markers", name=line.name,
            meta="walk", customdata=list(line.lengths), marker={"size": 6},
            line={
                "color": _COLOURS[line.place], "width": 2,
                "dash": "5px,4px" if line.dashed else "solid",
            },
            hovertemplate=f"{line.name}<br>%{{x}} positions: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    _names(figure, lines, limits)
    told = "; ".join(_told(line) for line in lines)
    return Picture(figure, f"{quantity} of {name} over the positions it reads: {told}.")


def _names(figure: go.Figure, lines: Sequence[Line], limits: list[float]) -> None:
    """Each line's name over its last point, moved up where it would overprint another."""
    near = _NEAR * (limits[1] - limits[0])
    taken: list[float] = []
    for line in sorted(lines, key=lambda line: line.values[-1]):
        if not line.name:
            continue
        at = line.values[-1]
        while any(abs(at - other) < near for other in taken):
            at += near / 4
        taken.append(at)
        colour = LIGHT.ink_soft if line.place == "behind" else _COLOURS[line.place]
        label(figure, line.lengths[-1], at, line.name, colour=colour, xanchor="right", yshift=12)


def _told(line: Line) -> str:
    first, last = line.values[0], line.values[-1]
    return (
        f"{line.name or 'its own rows'} {first:.3f} at {line.lengths[0]:,} to {last:.3f} at "
        f"{line.lengths[-1]:,}"
    )
