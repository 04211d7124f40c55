"""What the dimensions page shows: computed once a table, then kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.coordinates import CoordinateEnergy, coordinate_energy
from posviz.analysis.nulls import NULLS
from posviz.analysis.waves import PowerSpectrum, power_spectrum
from posviz.ui import results
from posviz.ui.format import count, decimal, percent, significant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.analysis.summary import Analysis
    from posviz.table import PositionTable

ORDERS = {"energy": "Strongest first", "index": "As in the model"}
SHARES = {"50": 0.5, "90": 0.9}
LINES = 6
SHOWN = 0.99  # share of the variance that the map of the strongest dimensions shows
CELLS = 2_000_000  # of the picture of all dimensions; longer tables show fewer dimensions
CLIPPED = 0.5  # percent of the values that may lie beyond the strongest colour


@dataclass(frozen=True, eq=False)
class Dimensions:
    """Energy and power of the rows used, and of their nulls.

    Parameters
    ----------
    energy, null_energy : CoordinateEnergy
        The null has Gaussian rows of the same norms.
    power, null_power : PowerSpectrum
        The null has the same rows in shuffled order.
    """

    energy: CoordinateEnergy
    null_energy: CoordinateEnergy
    power: PowerSpectrum
    null_power: PowerSpectrum


@dataclass(frozen=True, eq=False)
class Traces:
    """The picture of all dimensions.

    Parameters
    ----------
    values : array of shape (n_dimensions, n_positions)
        About the mean of each dimension; NaN for positions left out.
    dimensions : array of shape (n_dimensions,)
        Which dimension of the model each row is.
    limit : float
        The value of the strongest colour.
    """

    values: NDArray[np.float32]
    dimensions: NDArray[np.int64]
    limit: float


def measured(table: PositionTable, numbers: Analysis) -> Dimensions:
    """Energy by dimension and power by period, each with its null."""
    return _measured(table.fingerprint, numbers.rows_used, table, numbers.positions)


def traces(table: PositionTable, numbers: Analysis, found: Dimensions, order: str) -> Traces:
    """Dimensions along the positions, in one of ORDERS.

    Strongest first, those that hold SHOWN of the variance; as in the model, all of them. Of very
    long tables only the strongest.
    """
    needed = found.energy.dimensions_for(SHOWN) or table.d_model
    return _traces(
        table.fingerprint,
        numbers.rows_used,
        order,
        table,
        numbers.positions,
        found.energy.order,
        max(needed, LINES),
    )


def strongest(
    table: PositionTable, numbers: Analysis, found: Dimensions
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """The strongest dimensions: values about their means (k, rows used), numbers, shares."""
    dimensions = found.energy.order[:LINES]
    rows = table.weights[np.ix_(numbers.positions, dimensions)].astype(np.float64)
    energy = np.square(found.energy.deviation)
    shares = energy[dimensions] / (energy.sum() or 1.0)
    return (rows - rows.mean(axis=0)).T, dimensions, shares


def exact(drawn: Traces, cell: tuple[int, int] | None, *, first: int) -> str | None:
    """One cell of the picture in words, its value not rounded to a colour; None without one.

    Parameters
    ----------
    drawn : Traces
    cell : (int, int) or None
        Row, counted from ``first``, and position.
    first : int
    """
    row, position = cell or (-1, -1)
    inside = 0 <= row - first < len(drawn.values) and 0 <= position < drawn.values.shape[1]
    if not inside or not np.isfinite(drawn.values[row - first, position]):
        return None
    value = decimal(float(drawn.values[row - first, position]), digits=6)
    return f"Position {position:,}, dimension {drawn.dimensions[row - first]:,}: {value}"


def thresholds(found: Dimensions) -> dict[int, int]:
    """How many dimensions hold each of SHARES, by percent, where there is any variance."""
    needed = {int(key): found.energy.dimensions_for(share) for key, share in SHARES.items()}
    return {key: m for key, m in needed.items() if m is not None}


def median_norm(numbers: Analysis) -> dict[str, NDArray[np.float64]]:
    """The median length as a level line: what a row without anything special has."""
    return {"median": np.full(numbers.rows_used, numbers.norms.median)}


def said(table: PositionTable, numbers: Analysis, found: Dimensions) -> tuple[str, ...]:
    """A headline and up to two sentences, made from the numbers."""
    needed, null = (e.dimensions_for(0.9) for e in (found.energy, found.null_energy))
    if needed is None or null is None:
        return ("Every row is the same.", "No dimension changes from position to position.")
    few = needed < 0.5 * null
    if table.d_model == 1:
        headline = "The rows have one dimension, which holds all there is."
    else:
        headline = (
            f"Position is written in {'few' if few else 'many'} dimensions: {count(needed)} of "
            f"{count(table.d_model)} hold 90 % of the variance, random rows need {count(null)}."
        )
    own = [sentence.text for sentence in numbers.verdict[1:] if sentence.page == "dimensions"]
    if not numbers.power:
        return (headline, *own)
    line = numbers.power[0]
    period, share = significant(line.period), percent(line.share)
    wave = f"The strongest period is {period} positions, with {share} of "
    several = sum(part.share >= 0.05 for part in numbers.power)
    rest = f"the power; {several} periods hold 5 % or more." if several > 1 else "the power."
    return (headline, wave + rest, *own)


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _measured(
    fingerprint: str, rows_used: int, _table: PositionTable, _positions: NDArray[np.int64]
) -> Dimensions:
    rows = _table.weights[_positions]
    gaussian, shuffled = (
        NULLS[key].make(rows, np.random.default_rng(0)) for key in ("gaussian", "shuffled")
    )
    return Dimensions(
        energy=coordinate_energy(rows),
        null_energy=coordinate_energy(gaussian),
        power=power_spectrum(rows),
        null_power=power_spectrum(shuffled),
    )


@st.cache_resource(max_entries=results.TABLES, show_spinner=False)
def _traces(
    fingerprint: str,
    rows_used: int,
    order: str,
    _table: PositionTable,
    _positions: NDArray[np.int64],
    _strongest: NDArray[np.int64],
    _needed: int,
) -> Traces:
    most = max(CELLS // _table.n_positions, LINES)
    if order == "energy":
        dimensions = _strongest[: min(most, _needed)]
    else:
        dimensions = np.sort(_strongest[:most])
    rows = _table.weights[np.ix_(_positions, dimensions)].astype(np.float64)
    rows -= rows.mean(axis=0)
    limit = float(np.percentile(np.abs(rows), 100 - CLIPPED)) or float(np.abs(rows).max())
    values = np.full((len(dimensions), _table.n_positions), np.nan, dtype=np.float32)
    values[:, _positions] = rows.T
    return Traces(values, dimensions, limit or 1.0)
