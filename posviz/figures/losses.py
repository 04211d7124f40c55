"""What a model loses along its positions, one line a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.lines import Band, add_band, add_line, add_nulls, gaps, label, padded
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank

if TYPE_CHECKING:
    from collections.abc import Mapping

    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

ORIGINAL = "original table"
_NEAR = 0.05  # of the range: a second name so close to the first would overprint it


def along_a_text(
    lines: Mapping[str, Band],
    *,
    chosen: str,
    original: Band,
    n_positions: int,
    quantity: str,
    level: tuple[float, str] | None = None,
    name: str = "the model",
) -> Picture:
    """Loss (or likeness) at every position, the chosen method in front of the others.

    Parameters
    ----------
    lines : mapping of label to Band
        One for each method, all of one length T; a band is the spread of the line.
    chosen : str
        The label drawn in colour, with its band; it may be missing.
    original : Band
        The model with its own table, as far as that goes.
    n_positions : int
        Rows of the own table: from there on a text needs other rows.
    quantity : str
        What is drawn, with its unit.
    level : (float, str), optional
        A value to hold the lines against, and its name.
    name : str
        Which model, for the text alternative.

    Returns
    -------
    Picture
        The other methods are thin; the cursor tells which is which.
    """
    length = max([len(gaps(band.middle)) for band in lines.values()] + [n_positions])
    x = np.arange(length, dtype=np.float64)
    drawn = [gaps(band.middle) for band in (*lines.values(), original)]
    if chosen in lines:
        drawn += [gaps(lines[chosen].low), gaps(lines[chosen].high)]
    if level:
        drawn.append(np.array([level[0]]))
    limits = padded(np.concatenate(drawn), room=0.1)
    figure = blank(
        xaxis={"title": {"text": "position"}, "range": [-0.01 * length, 1.01 * length - 1]},
        yaxis={"title": {"text": quantity}, "range": limits},
    )
    _wall(figure, n_positions, length)
    if level:
        add_nulls(figure, x, {level[1]: np.full(length, level[0])}, at=0.2)
    for text, band in lines.items():
        if text != chosen:
            _thin(figure, x, band, text, quantity)
    add_nulls(figure, x, {ORIGINAL: original.middle}, at=0.5)
    if chosen in lines:
        front = lines[chosen]
        add_band(figure, x[: len(gaps(front.middle))], front)
        hover = f"<b>{chosen}</b>, position %{{x}}<br>{quantity}: %{{y:.3f}}<extra></extra>"
        add_line(figure, x[: len(gaps(front.middle))], front.middle, hover=hover, name=chosen)
    _names(figure, {text: gaps(band.middle) for text, band in lines.items()}, chosen, limits)
    return Picture(figure, _alt(lines, chosen, quantity, name, n_positions))


def _wall(figure: go.Figure, n_positions: int, length: int) -> None:
    if n_positions < length:
        figure.add_shape(
            type="line", x0=n_positions, x1=n_positions, y0=0, y1=1, yref="paper", layer="below",
            line={"color": LIGHT.faint, "width": 1},
        )  # fmt: skip
        narrow = length - n_positions < length / 3  # then the words stand before the line
        figure.add_annotation(
            x=n_positions, y=1, yref="paper", yanchor="top",
            xanchor="right" if narrow else "left", xshift=-6 if narrow else 6,
            text=f"from {n_positions:,} on: new rows", font={"color": LIGHT.ink_soft, "size": 12},
        )  # fmt: skip


def _thin(figure: go.Figure, x: NDArray[np.float64], band: Band, text: str, quantity: str) -> None:
    values = gaps(band.middle)
    figure.add_scatter(
        x=x[: len(values)], y=values, mode="lines", name=text,
        line={"color": LIGHT.faint, "width": 1.2},
        hovertemplate=f"{text}, position %{{x}}<br>{quantity}: %{{y:.3f}}<extra></extra>",
    )  # fmt: skip


def _names(
    figure: go.Figure, lines: Mapping[str, NDArray[np.float64]], chosen: str, limits: list[float]
) -> None:
    """Names at the right end: the chosen line's, then others' as long as they keep apart."""
    ends = {}
    for text, values in lines.items():
        known = np.flatnonzero(np.isfinite(values))
        if known.size:
            ends[text] = (int(known[-1]), float(values[known[-1]]))
    apart = _NEAR * (limits[1] - limits[0])
    written: list[float] = []
    order = sorted(ends, key=lambda text: (text != chosen, ends[text][1]))
    extremes = order[:1] + sorted(order[1:], key=lambda text: -ends[text][1])
    for text in extremes:
        row, value = ends[text]
        if all(abs(value - other) > apart for other in written):
            written.append(value)
            front = text == chosen
            label(
                figure, row, value, text, colour=LIGHT.accent if front else LIGHT.ink_soft,
                xanchor="right", yshift=11,
            )  # fmt: skip


def _alt(lines: Mapping[str, Band], chosen: str, quantity: str, name: str, n_positions: int) -> str:
    def mean(values: ArrayLike) -> float:
        found = gaps(values)
        return float(found[np.isfinite(found)].mean()) if np.isfinite(found).any() else float("nan")

    means = {text: mean(band.middle) for text, band in lines.items()}
    front = f" {chosen}: {means[chosen]:.3f} in the mean." if chosen in means else ""
    known = {text: value for text, value in means.items() if np.isfinite(value)}
    others = ", ".join(f"{text} {value:.3f}" for text, value in known.items() if text != chosen)
    return (
        f"{quantity} of {name} along the positions, {len(lines)} methods; from position "
        f"{n_positions:,} on rows are new.{front} The others: {others or 'none yet'}."
    )
