"""Rows that no gradient ever reached, marked on a figure whose axes count positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from posviz.figures.lines import label
from posviz.figures.theme import LIGHT

if TYPE_CHECKING:
    from posviz.figures.picture import Picture

WORDS = "never trained"


def fade(picture: Picture, ranges: Sequence[Sequence[int]], *, pairs: bool = False) -> Picture:
    """The picture with stretches of positions faded.

    Parameters
    ----------
    picture : Picture
        Its horizontal axis counts positions. Its figure is changed.
    ranges : sequence of (first, last)
        Stretches of positions, both ends included. Without any, the picture as it is.
    pairs : bool
        The vertical axis counts positions too, as in a heatmap.
    """
    if not ranges:
        return picture
    look: dict[str, Any] = {
        "fillcolor": LIGHT.ground, "opacity": 0.6, "line": {"width": 0}, "layer": "above",
    }  # fmt: skip
    figure = picture.figure
    for first, last in ranges:
        low, high = first - 0.5, last + 0.5
        figure.add_shape(type="rect", xref="x", yref="paper", x0=low, x1=high, y0=0, y1=1, **look)
        if pairs:
            figure.add_shape(
                type="rect", xref="paper", yref="y", x0=0, x1=1, y0=low, y1=high, **look
            )
    widest = max(ranges, key=lambda ends: ends[1] - ends[0])
    label(figure, sum(widest) / 2, 1, WORDS, colour=LIGHT.ink, yshift=-10)
    figure.layout.annotations[-1].update(yref="paper")
    return replace(picture, alt=f"{picture.alt} {said(ranges)}")


def rows_in(ranges: Sequence[Sequence[int]]) -> list[int]:
    """Every position of the stretches, one by one."""
    return [row for first, last in ranges for row in range(first, last + 1)]


def said(ranges: Sequence[Sequence[int]], state: str = WORDS) -> str:
    """The stretches as a sentence, such as ``Rows 0 and 48–63 were never trained.``."""
    words = [f"{first}" if first == last else f"{first}–{last}" for first, last in ranges]
    joined = " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))
    count = sum(last - first + 1 for first, last in ranges)
    return f"Row {joined} was {state}." if count == 1 else f"Rows {joined} were {state}."
