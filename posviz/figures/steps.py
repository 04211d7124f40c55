"""One number a step of training: loss, and what the table has become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.lines import add_line, add_nulls, gaps, label, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Beside:
    """A second run, drawn on the same axes as the first.

    Parameters
    ----------
    steps, values : arrays of shape (n,)
        As those of the first.
    name : str
    """

    steps: ArrayLike
    values: ArrayLike | Sequence[float | None]
    name: str


def over_steps(
    steps: ArrayLike,
    values: ArrayLike | Sequence[float | None],
    *,
    quantity: str,
    level: tuple[float, str] | None = None,
    behind: Sequence[tuple[int, float]] = (),
    beside: Beside | None = None,
    at: int | None = None,
    limits: tuple[float, float] | None = None,
    last: int | None = None,
    name: str = "the run",
) -> Picture:
    """A line over the steps of a run.

    Parameters
    ----------
    steps : array of shape (n,)
        Rising; steps at which there is a snapshot.
    values : array of shape (n,)
        One number a snapshot; where not finite, the line has a gap.
    quantity : str
        What the values are, with their unit if they have one.
    level : (float, str), optional
        A value to hold the line against, and its name, such as what chance would give.
    behind : sequence of (step, value)
        A restless line drawn faintly behind, such as the loss of each batch.
    beside : Beside, optional
        Another run, on the same axes; then each line ends in its name.
    at : int, optional
        A step to mark: the one that is on show beside.
    limits : (float, float), optional
        Range of the value axis; as wide as the values if absent.
    last : int, optional
        Where the step axis ends; at the last snapshot if absent.
    name : str
        What run it is, for the text alternative.
    """
    x, y = _line(steps, values)
    restless = np.array(behind, dtype=np.float64).reshape(-1, 2)
    x2, y2 = (np.array(()), np.array(())) if beside is None else _line(beside.steps, beside.values)
    ends = [line.max(initial=1) for line in (x, x2, restless[:, 0])]
    end = float(max(last or 0, *ends))
    drawn = [y, y2, restless[:, 1], np.array([level[0]] if level else [])]
    figure = blank(
        margin={"l": 8, "r": 16, "t": 12, "b": 8},
        xaxis={"title": {"text": "step"}, "range": [-0.02 * end, 1.02 * end]},
        yaxis={
            "title": {"text": quantity},
            "range": list(limits) if limits else padded(np.concatenate(drawn), room=0.1),
        },
    )
    if len(restless):
        figure.add_scatter(
            x=restless[:, 0], y=restless[:, 1], mode="lines", hoverinfo="skip",
            line={"color": LIGHT.faint, "width": 1},
        )  # fmt: skip
    if level:
        add_nulls(figure, np.array([0.0, end]), {level[1]: [level[0]] * 2}, at=1.0)
        figure.layout.annotations[-1].update(xanchor="right")
    hover = f"step %{{x}}<br>{quantity} %{{y:.3f}}<extra></extra>"
    if beside is not None:
        figure.add_scatter(
            x=x2, y=y2, mode="lines", name=beside.name, hoverinfo="skip",
            line={"color": LIGHT.positive, "width": 2},
        )  # fmt: skip
    add_line(figure, x, y, hover=hover, name=name)
    if beside is not None:
        _names(figure, (x, y, name, LIGHT.accent), (x2, y2, beside.name, LIGHT.positive))
    shown = np.flatnonzero(x == at)
    if shown.size and np.isfinite(y[shown[0]]):
        row = shown[0]
        figure.add_scatter(
            x=x[[row]], y=y[[row]], mode="markers", hoverinfo="skip", cliponaxis=False,
            marker={"color": LIGHT.positive, "size": 9},
        )  # fmt: skip
        left = x[row] > end / 2
        label(
            figure, x[row], y[row], f"{y[row]:.3f}", colour=LIGHT.ink,
            xanchor="right" if left else "left", xshift=-8 if left else 8, yshift=10,
        )  # fmt: skip
    alt = _alt(x, y, quantity, name, level)
    if beside is not None:
        alt = f"{alt} {_alt(x2, y2, quantity, beside.name, None)}"
    return Picture(figure, alt)


def _line(
    steps: ArrayLike, values: ArrayLike | Sequence[float | None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(steps, dtype=np.float64), gaps(np.array(values, dtype=np.float64))


def _names(
    figure: go.Figure, *lines: tuple[NDArray[np.float64], NDArray[np.float64], str, str]
) -> None:
    """Each line's name at its end: the higher above its line, the lower below if there is room."""
    ends = []
    for x, y, name, colour in lines:
        known = np.flatnonzero(np.isfinite(y))
        if known.size:
            ends.append((float(y[known[-1]]), float(x[known[-1]]), name, colour))
    low, high = figure.layout.yaxis.range
    ends.sort(reverse=True)
    no_room = len(ends) > 1 and ends[1][0] - low < 0.15 * (high - low)
    near = no_room and ends[0][0] - ends[1][0] < 0.15 * (high - low)
    shifts = (27 if near else 12, 12 if no_room else -12)
    for (y_end, x_end, name, colour), shift in zip(ends, shifts, strict=False):
        label(figure, x_end, y_end, name, colour=colour, xanchor="right", yshift=shift)


def _alt(
    x: np.ndarray, y: np.ndarray, quantity: str, name: str, level: tuple[float, str] | None
) -> str:
    known = np.flatnonzero(np.isfinite(y))
    if not known.size:
        return f"{quantity} of {name}: no value yet."
    first, last = known[0], known[-1]
    beside = f" {level[1]} is {level[0]:.3f}." if level else ""
    return (
        f"{quantity} of {name}, {y[first]:.3f} at step {x[first]:,.0f} to {y[last]:.3f} at step "
        f"{x[last]:,.0f}.{beside}"
    )
