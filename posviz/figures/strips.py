"""The rows of a text as strips of colour, one above the other: what is added, and the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.colourbar import ROOM, add_bar_about_zero
from posviz.figures.picture import Picture, Raster, quantise
from posviz.figures.theme import LIGHT, SMALL_SIZE, blank
from posviz.wording import significant

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = 24  # rows of a map that are still named at the axis
_LETTERS = 12  # of a word at the axis
_TALL = 760  # pixels that all rows may take together
_ROW = (4, 15)  # pixels of a row, at least and at most
_NAMED = 8.5  # pixels of a row that has room for its word
_NAME = 20  # pixels above each strip, for its name


@dataclass(frozen=True, eq=False)
class Strip:
    """One part of the picture.

    Parameters
    ----------
    rows : array of shape (n_tokens, n_dimensions)
    own_scale : bool
        It is not in the units of the others: its strongest colour is its own largest value.
    """

    rows: NDArray[np.floating]
    own_scale: bool = False


def strips(
    parts: Mapping[str, Strip],
    words: Sequence[str],
    *,
    dimensions: NDArray[np.integer],
    ranked: bool = True,
    name: str = "the text",
) -> Picture:
    """Every part of a text as a strip with a row a token and a column a dimension.

    The figure says how high it wants to be.

    Parameters
    ----------
    parts : mapping of name to Strip
        From top to bottom, all of one shape.
    words : sequence of n_tokens str
    dimensions : array of shape (n_dimensions,)
        Which dimension of the model each column is.
    ranked : bool
        The columns are sorted, those that positions use most first.
    name : str
        What the picture is of, for the text alternative.
    """
    limit = _limit([part.rows for part in parts.values() if not part.own_scale])
    count, wide = len(words), len(dimensions)
    room = _TALL / len(parts) - _NAME
    pixels = min(max(room / max(count, 1), _ROW[0]), _ROW[1])
    gap = int(np.ceil(_NAME / pixels))
    empty = np.full((gap, wide), np.nan)
    cells, names, middles = [], [], []
    for label, part in parts.items():
        own = _limit([part.rows]) if part.own_scale else limit
        cells += [empty, np.asarray(part.rows) * (limit / own)]
        names += [""] * gap + [f"{label}, {word}" for word in words]
        scale = f", ±{significant(own, figures=2)}" if part.own_scale else ""
        middles.append((len(names) - count, label + scale))
    total = len(names)
    raster = Raster(
        quantise(np.concatenate(cells), -limit, limit),
        low=-limit,
        high=limit,
        n_rows=total,
        n_cols=wide,
        palette="diverging",
        hover="{row}\ndimension {col}: ≈ {value}",
        row_names=tuple(names),
        col_names=tuple(str(dimension) for dimension in dimensions),
    )
    named = pixels >= _NAMED
    ticks = [start + row for start, _ in middles for row in range(count)] if named else []
    figure = blank(
        height=round(pixels * total + 90),
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={
            "title": {
                "text": "dimension" + (", most used by positions first" if ranked else ""),
                "standoff": 14,
            },
            "range": [-0.5, wide - 0.5],
            "showgrid": False,
            "showticklabels": not ranked,
        },
        yaxis={
            "range": [total - 0.5, -0.5],
            "showgrid": False,
            "tickvals": ticks,
            "ticktext": [shown(word) for word in words] * len(middles) if named else [],
            "tickfont": {"color": LIGHT.ink_soft, "size": 10},
        },
    )
    for start, label in middles:
        figure.add_annotation(
            x=0, xref="paper", y=start - 0.5, yref="y", xanchor="left", yanchor="bottom",
            text=escape(label, quote=False), font={"color": LIGHT.ink, "size": SMALL_SIZE},
        )  # fmt: skip
    add_bar_about_zero(figure, "value", limit)
    alt = (
        f"{count:,} tokens of {name} in {wide:,} dimensions, as strips of colour: "
        f"{', '.join(parts)}. Values reach ±{significant(limit, figures=2)}."
    )
    return Picture(figure, alt, raster)


def shown(word: str) -> str:
    """A word at an axis: short, and with its signs taken literally."""
    cut = word if len(word) <= _LETTERS else f"{word[: _LETTERS - 1]}…"
    return escape(cut, quote=False)


def _limit(rows: Sequence[NDArray[np.floating]]) -> float:
    """The value of the strongest colour: what one value in 200 is beyond."""
    sizes = np.abs(np.concatenate([np.ravel(part) for part in rows]))
    return float(np.percentile(sizes, 99.5)) or float(sizes.max()) or 1.0
