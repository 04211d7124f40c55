"""The colour bar: one thin line above a figure, its ends named beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.figures.theme import LIGHT, PALETTES, SMALL_SIZE, colourscale
from posviz.wording import significant

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROOM = 24
"""Top margin in pixels that a figure leaves for the bar."""

_LENGTH = 150  # pixels
_LETTER = 5.8  # pixels, about the width of a letter of this size


def add_bar_about_zero(figure: go.Figure, label: str, limit: float) -> None:
    """The bar of values from ``-limit`` to ``limit``; ``label`` is what they are called."""
    words = (f"{label} {significant(-limit, figures=2)}", significant(limit, figures=2))
    add_colour_bar(figure, PALETTES["diverging"], (-limit, limit), words)


def add_colour_bar(
    figure: go.Figure,
    colours: tuple[str, ...],
    limits: tuple[float, float],
    words: tuple[str, str],
    *,
    space: bool = False,
) -> None:
    """Say which colour is which value, above the figure on the left.

    Parameters
    ----------
    figure : go.Figure
        With a top margin of :data:`ROOM`.
    colours : tuple of str
        Evenly spaced, low to high.
    limits : (float, float)
        The values of the first and the last colour.
    words : (str, str)
        What stands before and after the bar: ``("cosine −1", "1")``.
    space : bool
        The figure is three-dimensional.
    """
    low, high = limits
    start = 8 + _LETTER * len(words[0])
    marker = {
        "color": [low],
        "cmin": low,
        "cmax": high if high > low else low + 1,
        "colorscale": colourscale(colours),
        "showscale": True,
        "colorbar": {
            "orientation": "h",
            "thickness": 7,
            "lenmode": "pixels",
            "len": _LENGTH + 2 * start,  # Plotly counts the padding as part of the length
            "x": 0,
            "xanchor": "left",
            "xpad": start,
            "y": 1,
            "yanchor": "bottom",
            "ypad": 6,
            "outlinewidth": 0,
            "showticklabels": False,
            "ticks": "",
        },
    }
    nowhere = {axis: [None] for axis in ("xyz" if space else "xy")}  # only its bar is wanted
    add = figure.add_scatter3d if space else figure.add_scatter
    add(**nowhere, mode="markers", hoverinfo="skip", marker=marker)
    for text, shift in ((words[0], 0.0), (words[1], start + _LENGTH + 8)):
        figure.add_annotation(
            xref="paper",
            yref="paper",
            x=0,
            y=1,
            xanchor="left",
            yanchor="bottom",
            xshift=shift,
            yshift=0,
            text=text,
            font={"color": LIGHT.ink_soft, "size": SMALL_SIZE},
        )
