"""Groups of controls that would crowd a page: at most three open, the rest under Settings."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import streamlit as st

from posviz.export.arrays import ARRAY_FORMATS, save_table
from posviz.interpolation import GRIDS, METHODS
from posviz.ui import page, results
from posviz.ui.stretch import Choice

if TYPE_CHECKING:
    from posviz.table import PositionTable

LONGEST = 8192  # rows that a slider reaches at most; the command line goes further


def stretch(table: PositionTable) -> Choice:
    """Length and method, with grid and kept rows under Settings."""
    left, right = st.columns([3, 2])
    with left:
        size = _length(table) if table.grid is None else _grid_size(table.grid)
    method = right.selectbox(
        "Method",
        list(METHODS),
        format_func=lambda key: METHODS[key].label,
        key="method",
        bind="query-params",
        help=METHODS[st.session_state.get("method", "linear")].explanation,
    )
    with page.section("Settings"):
        grid = st.segmented_control(
            "Grid",
            list(GRIDS),
            default="align-corners",
            required=True,
            format_func=lambda key: GRIDS[key].label,
            key="grid",
            bind="query-params",
            disabled=not METHODS[method].uses_grid,
        )
        st.caption(GRIDS[grid].explanation)
        keep = _keep(table)
    return Choice(size, method, grid, keep)


def take_home(table: PositionTable) -> None:
    """Buttons that download a table, one a format."""
    name = f"{_file_name(table.name)}-{table.n_positions}"
    for column, form in zip(st.columns(4), ARRAY_FORMATS.values(), strict=False):
        column.download_button(
            f"Download {form.key}",
            data=partial(_bytes, table, form.key),
            file_name=f"{name}{form.key}",
            mime="application/octet-stream",
            on_click="ignore",
            help=form.explanation,
            key=f"download{form.key}",
        )


def _length(table: PositionTable) -> int:
    shortest, longest = max(table.n_positions // 4, 1), max(4 * table.n_positions, 8)
    longest = max(min(longest, LONGEST), table.n_positions + 1)
    usual = min(2 * table.n_positions, longest)
    asked = st.session_state.get("length")
    if asked is not None and not shortest <= asked <= longest:
        st.session_state["length"] = min(max(asked, shortest), longest)
    return int(
        st.slider(
            f"Length (now {table.n_positions:,})",
            shortest,
            longest,
            usual,
            key="length",
            bind="query-params",
        )
    )


def _grid_size(grid: tuple[int, int]) -> tuple[int, int]:
    height, width = st.columns(2)
    return (
        int(height.slider(f"Height (now {grid[0]})", 1, 4 * grid[0], 2 * grid[0], key="height")),
        int(width.slider(f"Width (now {grid[1]})", 1, 4 * grid[1], 2 * grid[1], key="width")),
    )


def _keep(table: PositionTable) -> str:
    special = results.special(table)
    if not special or len(special) >= table.n_positions:
        return ""
    keep = st.toggle(
        "Put special rows back unchanged",
        key="keep",
        bind="query-params",
        help="Blending a special row with its neighbours makes rows that are neither.",
    )
    return "special" if keep else ""


def _bytes(table: PositionTable, ending: str) -> bytes:
    held = BytesIO()
    save_table(table, held, ending=ending)
    return held.getvalue()


def _file_name(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "-" for char in name).strip("-")
