"""The interpolation page row by row, and as a film: computed once a choice, then kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.decomposition import spectrum
from posviz.analysis.pairs import row_norms
from posviz.analysis.similarity import cosine_sums, pooled_similarity, profile_of
from posviz.analysis.smoothness import curvature, step_norms
from posviz.analysis.waves import power_spectrum
from posviz.figures.heatmap import heatmap
from posviz.figures.spectrum import above_floor
from posviz.figures.stretched import film_labels, heatmap_film
from posviz.interpolation.frames import FRAMES, stretch_frames, tables_between
from posviz.ui import results
from posviz.ui.stretch import KEPT, stretched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.analysis.similarity import Pooled
    from posviz.analysis.waves import PowerSpectrum
    from posviz.figures.picture import Picture
    from posviz.table import PositionTable
    from posviz.ui.stretch import Choice

LINE_FRAMES = 9  # moments of a film whose every frame needs the whole table
FILMS = 4  # of all pairs, each up to ten megabytes


@dataclass(frozen=True, eq=False)
class Along:
    """Row by row: the norm of each, and the step to the next.

    Parameters
    ----------
    norms : array of shape (n_positions,)
    steps : array of shape (n_positions - 1,)
    numbers : mapping of key of DEFINITIONS to number or None
    """

    norms: NDArray[np.float64]
    steps: NDArray[np.float64]
    numbers: Mapping[str, float | None]


def frames(table: PositionTable, choice: Choice, *, film: bool) -> list[NDArray[np.float64]]:
    """The curve at its old length and at the new one, on the old axes; a film has those between."""
    return _frames(table.fingerprint, choice, FRAMES if film else 2, table)


def line_frames(
    table: PositionTable, choice: Choice, kind: str
) -> tuple[list[NDArray[np.float64]], list[int]]:
    """A line of the table at the lengths from the old one to the new one, and those lengths.

    Parameters
    ----------
    kind : key of LINES

    Returns
    -------
    (list of arrays of shape (n, 2), list of int)
        Points as their figure has them: offset and cosine, component and singular value, share
        of the way and norm or step.
    """
    return _line_frames(table.fingerprint, choice, kind, table)


def all_pairs(cells: Pooled, n_positions: int) -> Picture:
    """Cosine of all pairs of a table, in the colours that all lengths share."""
    size = f"{n_positions:,} positions"
    return heatmap(cells.values, limits=(-1, 1), n_positions=n_positions, name=size)


def pair_film(table: PositionTable, choice: Choice) -> Picture | None:
    """All pairs at the lengths from the old one to the new one; None where it is one length."""
    return _pair_film(table.fingerprint, choice, table)


def along(table: PositionTable) -> Along:
    """Norms and steps of a table, row by row."""
    return _along(table.fingerprint, table)


def power(table: PositionTable) -> PowerSpectrum:
    """Power along position by period."""
    return _power(table.fingerprint, table)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _frames(
    fingerprint: str, choice: Choice, most: int, _table: PositionTable
) -> list[NDArray[np.float64]]:
    whole = results.analyse(_table, without=False).decomposition
    done = stretched(_table, choice)
    return stretch_frames(_table, done, whole.axes[:3], whole.mean, most=most)


@st.cache_resource(max_entries=KEPT, show_spinner="Computing the film …")
def _line_frames(
    fingerprint: str, choice: Choice, kind: str, _table: PositionTable
) -> tuple[list[NDArray[np.float64]], list[int]]:
    done = stretched(_table, choice)
    # One table at a time: each may be tens of megabytes.
    moments = tables_between(_table, done, most=LINE_FRAMES)
    found = [(LINES[kind](one), one.n_positions) for one in moments]
    return [line for line, _ in found], [length for _, length in found]


@st.cache_resource(max_entries=FILMS, show_spinner="Computing the film …")
def _pair_film(fingerprint: str, choice: Choice, _table: PositionTable) -> Picture | None:
    pictures, lengths = [], []
    for one in tables_between(_table, stretched(_table, choice), most=LINE_FRAMES):
        cells = pooled_similarity(one.weights, "cosine", results.PAINTED)
        pictures.append(all_pairs(cells, one.n_positions))  # a byte a cell: the numbers can go
        lengths.append(one.n_positions)
    return heatmap_film(pictures, film_labels(lengths)) if len(lengths) > 1 else None


def _counted(values: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    return np.stack([np.arange(first, first + len(values)), values], axis=1)


def _on_the_way(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.linspace(0, 1, max(len(values), 2))[: len(values)], values], axis=1)


LINES: dict[str, Callable[[PositionTable], NDArray[np.float64]]] = {
    "offset": lambda one: _counted(profile_of(cosine_sums(one.weights)).mean, 0),
    "spectrum": lambda one: _counted(above_floor(spectrum(one.weights)), 1),
    "norms": lambda one: _on_the_way(row_norms(one.weights)),
    "steps": lambda one: _on_the_way(step_norms(one.weights)),
}


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _along(fingerprint: str, _table: PositionTable) -> Along:
    norms, steps = row_norms(_table.weights), step_norms(_table.weights)
    numbers = {
        "norms.first": float(norms[0]),
        "norms.median": float(np.median(norms)),
        "norms.last": float(norms[-1]),
        "norms.max": float(norms.max()),
        "curvature": curvature(_table.weights),
    }
    return Along(norms, steps, numbers)


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _power(fingerprint: str, _table: PositionTable) -> PowerSpectrum:
    return power_spectrum(_table.weights)
