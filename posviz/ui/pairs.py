"""The picture of all pairs: exact where a person points, in more detail where they zoom in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.detail import similarity_window
from posviz.analysis.metrics import METRICS
from posviz.figures.heatmap import heatmap
from posviz.figures.picture import Raster, beyond, quantise
from posviz.ui import figure, results
from posviz.ui.format import count, decimal

if TYPE_CHECKING:
    from posviz.analysis.metrics import Metric
    from posviz.analysis.similarity import Pooled
    from posviz.analysis.summary import Analysis
    from posviz.figures.picture import Picture
    from posviz.table import PositionTable

PLACE = "pairs"
NEARLY_ALL = 99.5  # percent of pairs
STRETCHED = 1.5  # times as far as nearly all pairs reach: a few of them would take the palette


@st.fragment
def show(table: PositionTable, numbers: Analysis, key: str, *, height: int = 640) -> None:
    """Draw the similarity of every pair; only this part of the page runs again for an answer.

    Parameters
    ----------
    table : PositionTable
    numbers : Analysis
        Of the rows used; the others are blank, beyond 1,024 rows averaged with their neighbours.
    key : key of METRICS
    height : int
    """
    metric, pairs = METRICS[key], results.pairs(table, numbers, key)
    limits = _limits(metric, pairs)
    label = metric.label.lower()
    picture = heatmap(
        pairs.values, limits=limits, diverging=metric.diverging, label=label,
        n_positions=table.n_positions, name=table.name,
    )  # fmt: skip
    shown = figure.show(picture, key=PLACE, height=height, asks=True)
    exact = None
    if shown.pause and (words := _words(table, numbers, key, shown.pause)):
        row, column = (count(position) for position in shown.pause)
        exact = (shown.pause, f"positions {row} and {column}\n{label} {words}")
    detail = None
    if pairs.factor > 1 and shown.window:
        detail = _detail(table, key, shown.window, picture)
    figure.answer(PLACE, exact=exact, detail=detail)
    if shown.cell and (words := _words(table, numbers, key, shown.cell)):
        row, column = (count(position) for position in shown.cell)
        st.caption(f"{metric.label} of {row} and {column}: {words}")


def _limits(metric: Metric, pairs: Pooled) -> tuple[float, float]:
    """The ends of the palette: where they are not given, those of nearly all pairs.

    One long row (GPT-2's row 0) would take all colours for itself and leave the others pale.
    """
    start, end = metric.limits
    if start is not None and end is not None:
        return start, end
    finite = pairs.values[np.isfinite(pairs.values)]
    some = np.percentile(finite, (100 - NEARLY_ALL, NEARLY_ALL)) if finite.size else (0.0, 0.0)
    width = max(abs(some[0]), abs(some[1])) if metric.diverging else some[1]
    extreme = max(abs(pairs.low), abs(pairs.high)) if metric.diverging else pairs.high
    whole = not extreme > STRETCHED * width
    low, high = (pairs.low, pairs.high) if whole else (float(some[0]), float(some[1]))
    return (low if start is None else start, high if end is None else end)


def pooled(table: PositionTable, numbers: Analysis, key: str) -> str:
    """How many pairs a cell stands for, for the line under the figure; nothing for one."""
    factor = results.pairs(table, numbers, key).factor
    return f"each cell the mean of {factor} × {factor} pairs; zoom in for detail" * (factor > 1)


def _words(table: PositionTable, numbers: Analysis, key: str, pair: tuple[int, int]) -> str | None:
    value = results.exact(table, numbers, key, pair)
    return None if value is None else decimal(value, digits=6)


def _detail(
    table: PositionTable, key: str, window: tuple[int, int, int, int], whole: Picture
) -> Raster | None:
    """The part that a zoom shows, with the colours of the whole; None where it is no part."""
    top, bottom, left, right = window
    last = table.n_positions - 1
    if not (0 <= top <= bottom <= last and 0 <= left <= right <= last) or whole.raster is None:
        return None
    found = similarity_window(table.weights, key, (top, bottom), (left, right), results.PAINTED)
    if found is None or found[1] >= whole.raster.step:
        return None
    values, factor = found
    low, high = whole.raster.low, whole.raster.high
    return Raster(
        quantise(values, low, high),
        low,
        high,
        bottom - top + 1,
        right - left + 1,
        factor,
        top,
        left,
        clipped=beyond(values, low, high),
    )
