"""Numbers for the pages, computed once a table: the fingerprint is the key of every cache.

The table rides beside the key (a leading underscore keeps Streamlit from hashing it, and from
hashing only a sample of it). What is cached is frozen and shared by all visitors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.knowledge import Order, measure_order
from posviz.analysis.null_draws import NullSummary
from posviz.analysis.similarity import (
    METRICS,
    OffsetProfile,
    Pooled,
    offset_profile,
    pooled_similarity,
    similarity,
)
from posviz.analysis.special import SpecialRow, special_rows
from posviz.analysis.summary import Analysis, analyze
from posviz.ui.format import listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from posviz.table import PositionTable

PAINTED = 1024  # rows and columns of a heatmap on screen; longer tables are averaged in blocks
TABLES = 24  # how many tables' numbers are kept


def special(table: PositionTable) -> tuple[SpecialRow, ...]:
    """Rows unlike the rest, each with its reason."""
    return _special(table.fingerprint, table.weights)


def analyse(table: PositionTable, *, without: bool) -> Analysis:
    """All numbers of a table, or of its rows without the special ones, with their nulls."""
    return _analyse(table.fingerprint, without and bool(special(table)), table)


def pairs(table: PositionTable, numbers: Analysis, metric: str = "cosine") -> Pooled:
    """Similarity of all pairs, small enough to paint.

    Rows left out are blank (NaN); beyond PAINTED rows they are averaged with their neighbours.
    """
    return _pairs(table.fingerprint, numbers.rows_used, metric, table, numbers.positions)


def by_offset(table: PositionTable, numbers: Analysis, metric: str = "cosine") -> OffsetProfile:
    """Similarity as a function of the offset, of the rows used."""
    return _by_offset(table.fingerprint, numbers.rows_used, metric, table, numbers.positions)


def order(table: PositionTable, numbers: Analysis) -> Order:
    """Whether the rows used know their own order: takes seconds when first asked for."""
    return _order(table.fingerprint, numbers.rows_used, numbers)


def exact(
    table: PositionTable, numbers: Analysis, metric: str, pair: tuple[int, int]
) -> float | None:
    """One cell of the picture of pairs, computed and not painted; None where it is blank."""
    chosen = METRICS[metric]
    places = [np.flatnonzero(numbers.positions == position) for position in pair]
    if any(len(place) == 0 for place in places):
        return None
    rows = chosen.rows(table.weights[numbers.positions])
    return float(chosen.compare(rows[places[0]], rows[places[1]])[0, 0])


def rows_said(numbers: Analysis) -> str:
    """Which rows the numbers are of, for the line under a figure."""
    if numbers.rows_used == numbers.n_positions:
        return f"all {numbers.n_positions:,} rows"
    gone = sorted(set(range(numbers.n_positions)) - set(numbers.positions.tolist()))
    return f"{numbers.rows_used:,} rows, without {listed(gone)}"


def share_held(
    numbers: Analysis | NullSummary, components: Collection[int] = range(3)
) -> float | None:
    """Share of the variance in these components, from 0; of a null, the median of its draws."""
    measures = numbers.draws if isinstance(numbers, NullSummary) else (numbers,)
    shares = [m.explained_variance_ratio for m in measures]
    held = [
        float(sum(share[k] for k in set(components) if k < len(share)))
        for share in shares
        if share is not None
    ]
    return float(np.median(held)) if held else None


def top_line(null: NullSummary) -> float | None:
    """Share of the power in the strongest period of a null; the median of its draws."""
    shares = [draw.power[0].share for draw in null.draws if draw.power]
    return float(np.median(shares)) if shares else None


def holds(numbers: Analysis, share: int = 90) -> tuple[int, float] | None:
    """How many components hold ``share`` percent of the variance, for the mark on a spectrum."""
    components = numbers.components[str(share)]
    return None if components is None else (components, share / 100)


def null_spectra(numbers: Analysis) -> dict[str, NDArray[np.float64]]:
    """Spectra that the table's own stands beside: random rows, and the fixed sinusoids."""
    sinusoidal = numbers.nulls["sinusoidal"].draws[0].singular_values
    spectra = {
        "random rows": numbers.nulls["gaussian"].draws[0].singular_values,
        "sinusoidal": scaled(sinusoidal, numbers.singular_values),
    }
    return {name: values for name, values in spectra.items() if values.any()}


def null_shares(numbers: Analysis) -> dict[str, NDArray[np.float64]]:
    """Cumulative shares of the same two."""
    shares = {
        "random rows": numbers.nulls["gaussian"].draws[0].explained_variance_ratio,
        "sinusoidal": numbers.nulls["sinusoidal"].draws[0].explained_variance_ratio,
    }
    return {name: np.cumsum(share) for name, share in shares.items() if share is not None}


def null_offsets(numbers: Analysis, metric: str) -> dict[str, NDArray[np.float64]]:
    """Cosine by offset of shuffled rows and of the fixed sinusoids; nothing for other metrics."""
    if METRICS[metric].limits != (-1.0, 1.0):
        return {}
    kind = "cosine_centred" if METRICS[metric].centred else "cosine"
    return {
        "shuffled rows": getattr(numbers.nulls["shuffled"].draws[0], kind).by_offset,
        "sinusoidal": getattr(numbers.nulls["sinusoidal"].draws[0], kind).by_offset,
    }


def ordinary(numbers: Analysis, *, special: bool) -> NDArray[np.intp]:
    """Which of the rows used are drawn as a curve: all, or those that are not special."""
    odd = [] if special else [row.position for row in numbers.special_rows]
    kept = np.flatnonzero(~np.isin(numbers.positions, odd))
    return kept if len(kept) else np.arange(numbers.rows_used)


def scaled(values: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """A spectrum at the total variance of ``own``: a picture compares shapes, not units."""
    size = float(np.linalg.norm(values))
    return values * (float(np.linalg.norm(own)) / size) if size > 0 else values


def painted(weights: NDArray[np.float32], positions: NDArray[np.int64], metric: str) -> Pooled:
    """Similarity of all pairs of a table, blank (NaN) where a row is not among ``positions``.

    Beyond PAINTED rows they are averaged with their neighbours instead.
    """
    n_positions = len(weights)
    if len(positions) == n_positions or n_positions > PAINTED:
        return pooled_similarity(weights, metric, PAINTED)
    values = np.full((n_positions, n_positions), np.nan, dtype=np.float32)
    values[np.ix_(positions, positions)] = similarity(weights[positions], metric)
    return Pooled(values, 1, float(np.nanmin(values)), float(np.nanmax(values)))


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _special(fingerprint: str, _weights: NDArray[np.float32]) -> tuple[SpecialRow, ...]:
    return special_rows(_weights)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _analyse(fingerprint: str, without: bool, _table: PositionTable) -> Analysis:
    return analyze(_table, exclude_special=without)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _pairs(
    fingerprint: str,
    rows_used: int,
    metric: str,
    _table: PositionTable,
    _positions: NDArray[np.int64],
) -> Pooled:
    return painted(_table.weights, _positions, metric)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _by_offset(
    fingerprint: str,
    rows_used: int,
    metric: str,
    _table: PositionTable,
    _positions: NDArray[np.int64],
) -> OffsetProfile:
    return offset_profile(_table.weights[_positions], metric)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _order(fingerprint: str, rows_used: int, _numbers: Analysis) -> Order:
    return measure_order(_numbers.decomposition)
