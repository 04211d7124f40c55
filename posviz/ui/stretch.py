"""What the interpolation page shows of one stretched table: computed once a choice, then kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.decomposition import spectrum
from posviz.analysis.similarity import (
    OffsetProfile,
    Pooled,
    cosine_sums,
    pooled_similarity,
    profile_of,
)
from posviz.analysis.smoothness import step_norms
from posviz.interpolation import METHODS, Extended, Geometry, extend, geometry, holdout
from posviz.ui import results
from posviz.ui.format import count, decimal, listed, significant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.table import PositionTable

KEPT = 48  # stretched tables: a slider goes back and forth
_LAST = "_stretched_last"


@dataclass(frozen=True)
class Choice:
    """What a person chose to do to a table.

    ``size`` is the new length, or (height, width) for a table with a grid; the rest are the
    arguments of :func:`posviz.interpolation.extend`.
    """

    size: int | tuple[int, int]
    method: str
    grid: str
    keep: str


@dataclass(frozen=True, eq=False)
class Glance:
    """What is said of a table at first sight, all from one look at its pairs.

    Parameters
    ----------
    step_median : float or None
        Distance from row to row.
    toeplitz_r2 : float or None
        How far the cosine depends on the offset alone.
    profile : OffsetProfile
        Cosine by offset.
    """

    step_median: float | None
    toeplitz_r2: float | None
    profile: OffsetProfile


def stretched(table: PositionTable, choice: Choice) -> Extended:
    """Do what was chosen, and how it was done; raises SettingError where it cannot be done."""
    return _stretched(table.fingerprint, choice, table)


def glances(table: PositionTable, new: Extended) -> tuple[Glance, Glance]:
    """What is said at first sight of the table and of the new one: a look at all pairs of each."""
    return _old_glance(table.fingerprint, table), _glance(new.table.fingerprint, new.table)


def just_moved(table: PositionTable, choice: Choice) -> bool:
    """Whether the visitor changed what is done to this table since the page last ran."""
    before = st.session_state.get(_LAST)
    st.session_state[_LAST] = now = (table.fingerprint, choice)
    return before is not None and before[0] == now[0] and before != now


def rebuilt(table: PositionTable) -> dict[str, float]:
    """Relative error of rebuilding hidden rows, by resampling method, special rows left out."""
    return _rebuilt(table.fingerprint, table)


def pairs(table: PositionTable) -> Pooled:
    """Cosine of all pairs of a table, small enough to paint."""
    return _pairs(table.fingerprint, table)


def geometries(table: PositionTable, choice: Choice) -> tuple[Geometry, Geometry]:
    """All that the change did to the table, before and after."""
    new = stretched(table, choice).table
    return _geometry(table.fingerprint, table), _geometry(new.fingerprint, new)


def singular_values(table: PositionTable) -> NDArray[np.float64]:
    """The centred spectrum of a table."""
    return _spectrum(table.fingerprint, table)


def said(
    table: PositionTable, new: Extended, choice: Choice, seen: tuple[Glance, Glance]
) -> tuple[str, ...]:
    """What was done, in a headline and up to two sentences made from the numbers."""
    method = METHODS[choice.method]
    before, after = seen
    old, length = table.n_positions, new.table.n_positions
    headline = f"{method.label}, {old:,} to {length:,} positions."
    if table.grid is not None and not isinstance(choice.size, int):
        (height, width), (high, wide) = table.grid, choice.size
        headline = f"{method.label}, {height} × {width} to {high} × {wide} patches."
    if length == old:
        return headline, "The table's own length gives the table back, bit for bit."
    if method.family == "append":
        if length < old:
            return (
                headline,
                f"Positions {length:,} and later are cut off; the others are as they were.",
            )
        return (
            headline,
            f"Positions 0 to {old - 1:,} are as they were, so short texts read the same; the "
            f"{length - old:,} new rows come after them.",
            f"Toeplitz share {decimal(after.toeplitz_r2)}, before {decimal(before.toeplitz_r2)}.",
        )
    return (
        headline,
        f"The median step from row to row is {decimal(after.step_median)}, before "
        f"{decimal(before.step_median)}.",
        *_stretch_law(table, new, before, after),
    )


def _stretch_law(
    table: PositionTable, new: Extended, before: Glance, after: Glance
) -> tuple[str, ...]:
    old, length = table.n_positions, new.table.n_positions
    if table.grid is not None or min(old, length) < 16:
        return ()
    offset = max(length // 32, 1)
    source = offset * (old - 1) / (length - 1)
    expected = float(np.interp(source, np.arange(old), before.profile.mean))
    found = float(after.profile.mean[offset])
    return (
        f"Cosine at offset {count(offset)} is {decimal(found)}; the stretch law expects that of "
        f"{significant(source)} in the old table, {decimal(expected)}.",
    )


def rebuilding(errors: Mapping[str, float], choice: Choice) -> tuple[str, str, str] | None:
    """The error on hidden rows: its value, what it is, and the best method's beside it.

    None where no method was tried: a picture, or a table too short to hide rows of.
    """
    if not errors:
        return None
    best = min(errors, key=lambda method: errors[method])
    value, label = decimal(errors[best]), METHODS[best].label.lower()
    if choice.method not in errors:
        own = METHODS[choice.method].label.lower()
        what = "smallest error on hidden rows (mean row: 1)"
        return value, what, f"by {label}; {own} rebuilds none"
    beside = f"best: {label} {value}" if errors[best] < 1 else "no method beats the mean row"
    return decimal(errors[choice.method]), "error on hidden rows (mean row: 1)", beside


def kept_said(new: Extended) -> str:
    """Which rows were put back unchanged, for the line under the figure."""
    noun = "row" if len(new.kept) == 1 else "rows"
    return f"{noun} {listed(new.kept)} unchanged" if new.kept else ""


def _law(
    table: PositionTable, new: Extended, choice: Choice, before: OffsetProfile
) -> NDArray[np.float64] | None:
    """Cosine by offset that the stretch law predicts: old m(k) read at k (L - 1) / (L' - 1).

    None for methods that append and for grids: there is no such law for them.
    """
    if METHODS[choice.method].family == "append" or table.grid is not None:
        return None
    old, length = before.mean, new.table.n_positions
    places = np.arange(length) * (table.n_positions - 1) / max(length - 1, 1)
    predicted: NDArray[np.float64] = np.interp(places, np.arange(len(old)), old)
    return predicted


def beside(
    table: PositionTable, new: Extended, choice: Choice, before: OffsetProfile
) -> dict[str, NDArray[np.float64]]:
    """What the new cosine by offset is held against: the old one, and the stretch law."""
    length = new.table.n_positions
    shown = {"before": before.mean[:length]}
    predicted = _law(table, new, choice, before)
    return shown if predicted is None else {**shown, "stretch law": predicted}


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _stretched(fingerprint: str, choice: Choice, _table: PositionTable) -> Extended:
    size = choice.size
    return extend(
        _table,
        size if isinstance(size, int) else None,
        method=choice.method,
        grid=choice.grid,
        keep=choice.keep,
        grid_size=None if isinstance(size, int) else size,
    )


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _old_glance(fingerprint: str, _table: PositionTable) -> Glance:
    return _glanced(_table)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _glance(fingerprint: str, _table: PositionTable) -> Glance:
    return _glanced(_table)


def _glanced(table: PositionTable) -> Glance:
    sums, steps = cosine_sums(table.weights), step_norms(table.weights)
    return Glance(
        step_median=float(np.median(steps)) if len(steps) else None,
        toeplitz_r2=sums.toeplitz_share(),
        profile=profile_of(sums),
    )


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _geometry(fingerprint: str, _table: PositionTable) -> Geometry:
    return geometry(_table.weights)


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _rebuilt(fingerprint: str, _table: PositionTable) -> dict[str, float]:
    if _table.grid is not None:
        return {}  # every second patch of a picture is not every second row
    return holdout(_table.weights, exclude=[row.position for row in results.special(_table)])


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _pairs(fingerprint: str, _table: PositionTable) -> Pooled:
    return pooled_similarity(_table.weights, "cosine", results.PAINTED)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _spectrum(fingerprint: str, _table: PositionTable) -> NDArray[np.float64]:
    return spectrum(_table.weights)
