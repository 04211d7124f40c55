"""What a figure function hands over: a Plotly figure, its words, and pixels where it has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.figures.theme import PALETTES

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

NO_VALUE = 0  # the code of a cell without a value; it is left unpainted
_STEPS = 254  # codes 1..255: an odd number of them, so that 0 of a symmetric range has its own


@dataclass(frozen=True, eq=False)
class Raster:
    """A matrix as one byte a cell, to be painted under the axes of a figure.

    Parameters
    ----------
    values : uint8 array of shape (rows, cols)
        1 to 255 for low to high, 0 for no value. May be pooled: fewer cells than positions.
    low, high : float
        The values that 1 and 255 stand for.
    n_rows, n_cols : int
        How many positions (or dimensions) the picture covers on each axis.
    step : int
        Positions in a cell, on both axes; the last cell may stand for fewer.
    first_row, first_col : int
        The position of the first row and column.
    palette : key of PALETTES
    hover : str
        What a cell says under the cursor; may use ``{row}``, ``{col}`` and ``{value}``.
    row_names, col_names : tuple of str
        What rows and columns are called there, one for each; their numbers without.
    clipped : (bool, bool)
        Whether 1 also stands for what lies under low, and 255 for what lies over high.
    """

    values: NDArray[np.uint8]
    low: float
    high: float
    n_rows: int
    n_cols: int
    step: int = 1
    first_row: int = 0
    first_col: int = 0
    palette: str = "diverging"
    hover: str = "{row}, {col}: {value}"
    row_names: tuple[str, ...] = ()
    col_names: tuple[str, ...] = ()
    clipped: tuple[bool, bool] = (False, False)

    @cached_property
    def header(self) -> dict[str, Any]:
        """Everything but the bytes, as the component reads it."""
        rows, cols = self.values.shape
        return {
            "rows": rows,
            "cols": cols,
            "low": self.low,
            "high": self.high,
            "nRows": self.n_rows,
            "nCols": self.n_cols,
            "step": self.step,
            "firstRow": self.first_row,
            "firstCol": self.first_col,
            "palette": PALETTES[self.palette],
            "hover": self.hover,
            "clipped": self.clipped,
            "rowNames": self.row_names,
            "colNames": self.col_names,
        }


@dataclass(frozen=True, eq=False)
class Film:
    """Frames of a curve that changes, for a control under the figure to run through.

    Parameters
    ----------
    frames : tuple of float32 arrays of shape (n, axes)
        The points of positions 0 … n - 1, in two or three axes; n may differ.
    labels : tuple of str
        What each frame is.
    together : str
        Films of one page with the same word here, not empty, show the same moment.
    """

    frames: tuple[NDArray[np.float32], ...]
    labels: tuple[str, ...]
    together: str = ""

    @cached_property
    def header(self) -> dict[str, Any]:
        """Everything but the points, as the component reads it."""
        lengths = [len(frame) for frame in self.frames]
        return {
            "labels": self.labels,
            "lengths": lengths,
            "axes": self.frames[0].shape[1],
            "together": self.together,
        }


@dataclass(frozen=True, eq=False)
class CellFilm:
    """Frames of a heatmap that changes, for the same control as a :class:`Film`.

    Parameters
    ----------
    frames : tuple of Raster
        Their sizes may differ; limits, palette and words are those of the last.
    labels, together
        As of :class:`Film`.
    """

    frames: tuple[Raster, ...]
    labels: tuple[str, ...]
    together: str = ""

    @cached_property
    def header(self) -> dict[str, Any]:
        """Everything but the cells, as the component reads it."""
        geometry = ("rows", "cols", "nRows", "nCols", "step")
        cells = [{name: frame.header[name] for name in geometry} for frame in self.frames]
        return {"labels": self.labels, "cells": cells, "together": self.together}


@dataclass(frozen=True, eq=False)
class Picture:
    """One figure, ready to be shown, exported or read aloud.

    Parameters
    ----------
    figure : go.Figure
        In the light theme's colours. Axes only, where ``raster`` carries the pixels.
    alt : str
        What is drawn, with its key numbers, for somebody who does not see it.
    raster : Raster or None
    film : Film, CellFilm or None
        Of cells where there is a raster, which is its last frame; else of points.
    """

    figure: go.Figure
    alt: str
    raster: Raster | None = None
    film: Film | CellFilm | None = None

    @cached_property
    def payload(self) -> bytes:
        """The numbers that travel beside the JSON: of every frame of a film, else of the raster."""
        if isinstance(self.film, CellFilm):
            return b"".join(frame.values.tobytes() for frame in self.film.frames)
        if self.raster is not None:
            return self.raster.values.tobytes()
        return b"".join(frame.tobytes() for frame in self.film.frames) if self.film else b""

    @cached_property
    def spec(self) -> str:
        """The figure as strict JSON: large arrays as base64, never NaN or infinity."""
        # Named, or plotly takes whichever JSON library is there, and spells numbers as that does.
        return str(self.figure.to_json(validate=False, engine="json"))


def beyond(values: ArrayLike, low: float, high: float) -> tuple[bool, bool]:
    """Whether any value lies under ``low``, and whether any lies over ``high``."""
    cells = np.asarray(values, dtype=np.float32)
    rounding = 1e-6 * (high - low)
    return bool((cells < low - rounding).any()), bool((cells > high + rounding).any())


def quantise(values: ArrayLike, low: float, high: float) -> NDArray[np.uint8]:
    """One byte a cell: 1 to 255 for low to high, clipped; 0 where the value is not finite.

    Parameters
    ----------
    values : array of shape (rows, cols)
    low, high : float
        The range painted. A range of no width paints the middle.
    """
    cells = np.asarray(values, dtype=np.float32)
    span = high - low
    if not span > 0:
        scaled = np.full(cells.shape, 1 + _STEPS / 2, dtype=np.float32)
    else:
        scaled = (cells - np.float32(low)) * np.float32(_STEPS / span) + 1
    finite = np.isfinite(cells)
    if not finite.all():
        scaled = np.where(finite, scaled, NO_VALUE + 1)
    codes = np.clip(np.rint(scaled), 1, 255).astype(np.uint8)
    codes[~finite] = NO_VALUE
    return codes
