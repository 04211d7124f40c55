"""Square maps side by side: the parts of a score, each pair of tokens a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.colourbar import ROOM, add_bar_about_zero
from posviz.figures.picture import Picture, Raster, quantise
from posviz.figures.strips import WORDS, shown
from posviz.figures.theme import LIGHT, SMALL_SIZE, blank
from posviz.wording import significant

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAP = 1  # empty columns between two maps
_NAMES = 0.18  # room above a map for its name, which may have two lines, as a share of the map


def panels(
    maps: Mapping[str, NDArray[np.floating]],
    words: Sequence[str],
    *,
    label: str = "score",
    across: int = 4,
    name: str = "the text",
) -> Picture:
    """Maps of who asks whom, in rows of a few, all on one scale.

    Parameters
    ----------
    maps : mapping of name to array of shape (n_tokens, n_tokens)
        Entry (i, j): token i asks, token j answers. Not finite: left unpainted. A name may have
        two lines.
    words : sequence of n_tokens str
    label : str
        What the values are.
    across : int
        Maps in a row.
    name : str
        What the picture is of, for the text alternative.
    """
    count = len(words)
    across = min(across, len(maps))
    down = -(-len(maps) // across)
    names = max(2, round(_NAMES * count))
    size, high = count + _GAP, count + names
    cells = np.full((down * high, across * size - _GAP), np.nan)
    for place, values in enumerate(maps.values()):
        row, col = divmod(place, across)
        top, left = row * high + names, col * size
        cells[top : top + count, left : left + count] = values
    finite = np.abs(cells[np.isfinite(cells)])
    limit = float(np.percentile(finite, 99.5)) if finite.size else 1.0
    limit = limit or float(finite.max(initial=0.0)) or 1.0
    raster = Raster(
        quantise(cells, -limit, limit),
        low=-limit,
        high=limit,
        n_rows=cells.shape[0],
        n_cols=cells.shape[1],
        palette="diverging",
        hover="{row} asks {col}\n" + label + " ≈ {value}",
        row_names=(*[""] * names, *words) * down,
        col_names=tuple([*words, ""] * across)[:-1],
    )
    named = count <= WORDS
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={
            "range": [-0.5, cells.shape[1] - 0.5],
            "showgrid": False,
            "showticklabels": False,
            "title": {"text": "the token that answers", "standoff": 14},
        },
        yaxis={
            "range": [cells.shape[0] - 0.5, -0.5],
            "showgrid": False,
            "tickvals": [r * high + names + t for r in range(down) for t in range(count)],
            "ticktext": [shown(word) for word in words] * down,
            "showticklabels": named,
            "tickfont": {"color": LIGHT.ink_soft, "size": 11},
            "title": {"text": "the token that asks"},
        },
    )
    for place, title in enumerate(maps):
        row, col = divmod(place, across)
        figure.add_annotation(
            x=col * size - 0.5, y=row * high + names - 0.5, xanchor="left", yanchor="bottom",
            text=escape(title, quote=False).replace("\n", "<br>"), align="left",
            font={"color": LIGHT.ink, "size": SMALL_SIZE},
        )  # fmt: skip
    add_bar_about_zero(figure, label, limit)
    alt = (
        f"Maps of {label} between the {count} tokens of {name}, who asks by who answers: "
        f"{', '.join(maps).replace(chr(10), ' ')}. Values reach ±{significant(limit, figures=2)}."
    )
    return Picture(figure, alt, raster)
