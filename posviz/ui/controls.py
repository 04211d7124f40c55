"""Groups of controls that would crowd a page: at most three open, the rest under Settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from posviz.interpolation import GRIDS, METHODS
from posviz.ui import address, page, results
from posviz.ui.stretch import Choice

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from posviz.table import PositionTable

LONGEST = 8192  # rows that a slider reaches at most; the command line goes further


def stretch(table: PositionTable) -> Choice:
    """Length and method, with grid and kept rows under Settings."""
    left, right = st.columns([3, 2])
    with left:
        size = _length(table) if table.grid is None else _grid_size(table.grid)
    # In a picture there is no "after the last row": methods that append have no meaning there.
    fitting = [key for key in METHODS if table.grid is None or METHODS[key].family == "resample"]
    if st.session_state.get("method", fitting[0]) not in fitting:
        st.session_state["method"] = fitting[0]
    method = address.menu(
        "Method",
        {key: METHODS[key].label for key in fitting},
        key="method",
        on=right,
        help=METHODS[st.session_state.get("method", fitting[0])].explanation,
    )
    told = st.container()  # what the address asks of the settings in vain, in sight
    with page.section("Settings"):
        labels = {key: grid.label for key, grid in GRIDS.items()}
        grid = address.choice(
            "Grid", labels, key="grid", default="align-corners",
            disabled=not METHODS[method].uses_grid, told=told,
        )  # fmt: skip
        st.caption(GRIDS[grid].explanation)
        keep = _keep(table, told)
    return Choice(size, method, grid, keep)


def _length(table: PositionTable) -> int:
    now = table.n_positions
    longest = max(min(max(4 * now, 8), LONGEST), now + 1)
    label, usual = f"Length (now {now:,})", min(2 * now, longest)
    return address.slider(label, max(now // 4, 1), longest, usual, key="length")


def _grid_size(grid: tuple[int, int]) -> tuple[int, int]:
    left, right = st.columns(2)
    rows, columns = grid
    height = address.slider(f"Height (now {rows})", 1, 4 * rows, 2 * rows, key="height", on=left)
    width = address.slider(
        f"Width (now {columns})", 1, 4 * columns, 2 * columns, key="width", on=right
    )
    return height, width


def _keep(table: PositionTable, told: DeltaGenerator) -> str:
    special = results.special(table)
    if not special or len(special) >= table.n_positions:
        return ""
    keep = address.switch(
        "Put special rows back unchanged",
        key="keep",
        told=told,
        help="Blending a special row with its neighbours makes rows that are neither.",
    )
    return "special" if keep else ""
