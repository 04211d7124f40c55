"""Numbers for the pages, computed once a table: the fingerprint is the key of every cache.

The table rides beside the key (a leading underscore keeps Streamlit from hashing it, and from
hashing only a sample of it). What is cached is frozen and shared by all visitors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.decomposition import (
    components_for,
    effective_rank,
    spectrum,
    variance_ratio,
)
from posviz.analysis.knowledge import Order, measure_order
from posviz.analysis.measures import SHARES
from posviz.analysis.metrics import METRICS
from posviz.analysis.nulls import NULLS
from posviz.analysis.pairs import row_norms
from posviz.analysis.similarity import (
    OffsetProfile,
    Pooled,
    adjacent,
    offset_profile,
    pooled_similarity,
    similarity,
)
from posviz.analysis.special import SpecialRow, special_rows
from posviz.analysis.summary import Analysis, analyze
from posviz.analysis.waves import HelixFit, helix_fit
from posviz.ui.format import count, listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from posviz.analysis.measures import Measures
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
    rows = _prepared(table.fingerprint, numbers.rows_used, metric, table, numbers.positions)
    return float(chosen.compare(rows[places[0]], rows[places[1]])[0, 0])


def rows_said(numbers: Analysis) -> str:
    """Which rows the numbers are of, for the line under a figure."""
    if numbers.rows_used == numbers.n_positions:
        return (
            "its one row" if numbers.n_positions == 1 else f"all {count(numbers.n_positions)} rows"
        )
    gone = sorted(set(range(numbers.n_positions)) - set(numbers.positions.tolist()))
    return f"{numbers.rows_used:,} rows, without {listed(gone)}"


def share_held(measures: Measures, components: Collection[int] = range(3)) -> float | None:
    """Share of the variance in these components, counted from 0."""
    share = measures.explained_variance_ratio
    if share is None:
        return None
    return float(sum(share[k] for k in set(components) if k < len(share)))


@dataclass(frozen=True, eq=False)
class Spectra:
    """Singular values of the rows used and of two nulls, all of them centred or none.

    ``gaussian`` has one spectrum a draw.
    """

    own: NDArray[np.float64]
    gaussian: tuple[NDArray[np.float64], ...]
    sinusoidal: NDArray[np.float64]

    def holds(self, share: float = 0.9) -> tuple[int, float] | None:
        """How many components hold which share, for the mark on a spectrum."""
        found = components_for(variance_ratio(self.own), share)
        return None if found is None else (found, share)


@dataclass(frozen=True, eq=False)
class Ranked:
    """What one spectrum says in few numbers; None without any variance.

    ``cumulative`` is the share of the first 1, 2, … components, ``thresholds`` how many hold 90,
    95 and 99 %.
    """

    cumulative: NDArray[np.float64]
    thresholds: dict[int, int]
    three: float | None
    participation: float | None

    @property
    def for_95(self) -> int | None:
        """How many components hold 95 %."""
        return self.thresholds.get(95)


def ranked(values: NDArray[np.float64]) -> Ranked:
    """Shares and effective rank of singular values."""
    ratio = variance_ratio(values)
    if ratio is None:
        return Ranked(np.zeros(0), {}, None, None)
    needed = {
        int(name): found
        for name, share in SHARES.items()
        if (found := components_for(ratio, share)) is not None
    }
    cumulative = np.cumsum(ratio)
    three = float(cumulative[min(3, len(ratio)) - 1])
    return Ranked(cumulative, needed, three, effective_rank(values).participation)


def spectra(table: PositionTable, numbers: Analysis, *, centred: bool = True) -> Spectra:
    """The spectrum with the mean row taken away first, or of the rows as they are."""
    if centred:
        gaussian = tuple(draw.singular_values for draw in numbers.nulls["gaussian"].draws)
        sinusoidal = numbers.nulls["sinusoidal"].draws[0].singular_values
        return Spectra(numbers.singular_values, gaussian, sinusoidal)
    return _not_centred(table.fingerprint, numbers.rows_used, table, numbers.positions)


def neighbours(table: PositionTable, numbers: Analysis, metric: str) -> NDArray[np.float64]:
    """Similarity of each row used and the next, one fewer than rows."""
    return adjacent(table.weights[numbers.positions], metric)


def norms(table: PositionTable, numbers: Analysis) -> NDArray[np.float64]:
    """Length of every row used."""
    return row_norms(table.weights[numbers.positions])


@dataclass(frozen=True, eq=False)
class Turned:
    """Turns in the plane of the first two components since the first row, and a steady pitch.

    Both of shape (rows_used,).
    """

    turns: NDArray[np.float64]
    steady: NDArray[np.float64]


def turned(table: PositionTable, numbers: Analysis) -> Turned | None:
    """How the curve turns from row to row; None where there is no circle to fit."""
    phase, found = numbers.helix.phase, fit(table, numbers)
    if phase is None or found is None:
        return None
    turns = (phase - phase[0]) / (2 * np.pi)
    steady = found.frequency * np.arange(len(turns))
    return Turned(turns, steady + (turns - steady).mean())


def fit(table: PositionTable, numbers: Analysis) -> HelixFit | None:
    """The steady circle closest to the first two components of the rows used."""
    return _fit(table.fingerprint, numbers.rows_used, numbers)


def marked(numbers: Analysis) -> tuple[int, ...]:
    """Positions of the special rows, to mark on a line along position."""
    return tuple(row.position for row in numbers.special_rows)


def ordinary(numbers: Analysis, *, special: bool) -> NDArray[np.intp]:
    """Which of the rows used are drawn as a curve: all, or those that are not special."""
    odd = [] if special else [row.position for row in numbers.special_rows]
    kept = np.flatnonzero(~np.isin(numbers.positions, odd))
    return kept if len(kept) else np.arange(numbers.rows_used)


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
def _not_centred(
    fingerprint: str, rows_used: int, _table: PositionTable, _positions: NDArray[np.int64]
) -> Spectra:
    rows = _table.weights[_positions]
    gaussian, sinusoidal = (
        spectrum(NULLS[key].make(rows, np.random.default_rng(0)), centred=False)
        for key in ("gaussian", "sinusoidal")
    )
    return Spectra(spectrum(rows, centred=False), (gaussian,), sinusoidal)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _fit(fingerprint: str, rows_used: int, _numbers: Analysis) -> HelixFit | None:
    return helix_fit(_numbers.decomposition)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _pairs(
    fingerprint: str,
    rows_used: int,
    metric: str,
    _table: PositionTable,
    _positions: NDArray[np.int64],
) -> Pooled:
    return painted(_table.weights, _positions, metric)


@st.cache_resource(max_entries=2, show_spinner=False)  # as large as the table itself
def _prepared(
    fingerprint: str,
    rows_used: int,
    metric: str,
    _table: PositionTable,
    _positions: NDArray[np.int64],
) -> NDArray[np.floating]:
    return METRICS[metric].rows(_table.weights[_positions])


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
