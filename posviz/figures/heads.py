"""Attention from position alone: all heads of a layer as strips, and one head as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.colourbar import ROOM, add_colour_bar
from posviz.figures.lines import Band, add_band, add_line, add_nulls, padded
from posviz.figures.picture import Picture, Raster, quantise
from posviz.figures.theme import PALETTES, blank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def head_strips(
    attention: ArrayLike,
    offsets: NDArray[np.integer],
    names: Sequence[str],
    *,
    name: str = "the model",
) -> Picture:
    """Every head as a row of colour: its mean attention at each distance.

    Parameters
    ----------
    attention : array of shape (n_heads, n_offsets)
        Not negative; the first row is drawn at the top.
    offsets : array of shape (n_offsets,)
        Whole numbers in a row; negative looks back.
    names : sequence of n_heads str
    name : str
        What model it is, for the text alternative.
    """
    cells = np.asarray(attention, dtype=np.float64)
    first, last = int(offsets[0]), int(offsets[-1])
    # Each head's own scale would hide that some are even; one scale, cut so that they show.
    high = float(np.percentile(cells, 98)) or float(cells.max()) or 1.0
    raster = Raster(
        quantise(cells, 0.0, high),
        low=0.0,
        high=high,
        n_rows=len(names),
        n_cols=len(offsets),
        first_col=first,
        palette="sequential",
        hover="{row}\noffset {col}: attention ≈ {value}",
        row_names=tuple(names),
    )
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={
            "title": {"text": "offset (negative: before)"},
            "range": [first - 0.5, last + 0.5],
            "showgrid": False,
        },
        yaxis={
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
        },
    )
    ends = ("attention 0", f"≥ {high:.2g}")
    add_colour_bar(figure, PALETTES["sequential"], (0.0, high), ends)
    told = "; ".join(
        f"{head} most at offset {int(offsets[int(row.argmax())])}"
        for head, row in zip(names, cells, strict=True)
    )
    return Picture(
        figure,
        f"Mean attention from position alone of {len(names)} heads of {name}, by offset {first} to "
        f"{last}: {told}.",
        raster,
    )


def pattern_map(pattern: ArrayLike, *, causal: bool, name: str = "the head") -> Picture:
    """One head's attention from position alone: who looks where.

    Parameters
    ----------
    pattern : array of shape (n, n)
        Row i is what position i looks at.
    causal : bool
        What lies above the diagonal is not seen, and left unpainted.
    name : str
        What head it is, for the text alternative.
    """
    cells = np.asarray(pattern, dtype=np.float32)
    if causal:
        cells = np.where(np.tri(len(cells), dtype=bool), cells, np.nan)
    found = cells[np.isfinite(cells)]
    # Even attention over n positions is 1 / n: what is a few times that must show.
    high = min(1.0, max(float(np.percentile(found, 99)), 4 / len(cells)))
    raster = Raster(
        quantise(cells, 0.0, high),
        low=0.0,
        high=high,
        n_rows=len(cells),
        n_cols=len(cells),
        palette="sequential",
        hover="position {row} looks at {col}\nattention ≈ {value}",
    )
    edges = [-0.5, len(cells) - 0.5]
    figure = blank(
        margin={"l": 8, "r": 16, "t": ROOM, "b": 8},
        xaxis={"title": {"text": "the position that answers"}, "range": edges, "showgrid": False,
               "constrain": "domain", "constraintoward": "left"},
        yaxis={"title": {"text": "the position that asks"}, "range": edges[::-1],
               "showgrid": False, "scaleanchor": "x", "constrain": "domain",
               "constraintoward": "top"},
    )  # fmt: skip
    ends = ("attention 0", f"≥ {high:.2g}")
    add_colour_bar(figure, PALETTES["sequential"], (0.0, high), ends)
    return Picture(
        figure,
        f"Attention of {name} from position alone, each of {len(cells):,} positions a row, the "
        f"first at the top; the largest value is {found.max():.2f}.",
        raster,
    )


def attention_by_offset(
    offsets: NDArray[np.integer],
    mean: ArrayLike,
    std: ArrayLike,
    *,
    nulls: dict[str, ArrayLike] | None = None,
    name: str = "the head",
) -> Picture:
    """One head's mean attention at each distance, with the spread from position to position.

    Parameters
    ----------
    offsets : array of shape (k,)
        Rising; negative looks back.
    mean, std : arrays of shape (k,)
    nulls : mapping of name to array of shape (k,), optional
    name : str
        What head it is, for the text alternative.
    """
    x, y = offsets.astype(np.float64), np.asarray(mean, np.float64)
    spread = np.asarray(std, np.float64)
    band = Band(y, np.maximum(y - spread, 0.0), np.minimum(y + spread, 1.0))
    figure = blank(
        xaxis={"title": {"text": "offset (negative: before)"},
               "range": [x[0] - 0.5, x[-1] + 0.5]},
        yaxis={"title": {"text": "attention from position alone"},
               "range": padded(np.concatenate([[0.0], np.asarray(band.high)]))},
    )  # fmt: skip
    add_band(figure, x, band)
    add_nulls(figure, x, nulls, at=0.15)
    add_line(figure, x, y, hover="offset %{x}: %{y:.3f}<extra></extra>", name=name)
    best = int(y.argmax())
    return Picture(
        figure,
        f"Mean attention of {name} from position alone at offsets {offsets[0]} to {offsets[-1]}: "
        f"most, {y[best]:.3f}, at offset {offsets[best]}.",
    )
