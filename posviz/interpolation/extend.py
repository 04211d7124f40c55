"""A table of another length: rows outside the sequence kept, the rest resampled or continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.errors import SettingError
from posviz.interpolation.grids import GRIDS, Grid
from posviz.interpolation.keep import kept_positions, places_of
from posviz.interpolation.methods import METHODS, Method

if TYPE_CHECKING:
    from posviz.table import PositionTable

Array = NDArray[np.floating]

MOST_VALUES = 1 << 28  # 1 GiB of float32


@dataclass(frozen=True)
class Extended:
    """A table of another length, and how it was made.

    Parameters
    ----------
    table : PositionTable
        Offset, prefix and suffix rows as they were; the change is noted in its provenance.
    method : str
        Key of METHODS.
    grid : str or None
        Key of GRIDS; None where the method uses none.
    kept : tuple of int
        The positions of the old table that were put back unchanged.
    places : tuple of int
        Where each of them is in the new table.
    """

    table: PositionTable
    method: str
    grid: str | None
    kept: tuple[int, ...]
    places: tuple[int, ...]


def extend(
    table: PositionTable,
    length: int | None = None,
    *,
    method: str = "linear",
    grid: str = "align-corners",
    keep: str = "",
    seed: int = 0,
    grid_size: tuple[int, int] | None = None,
    antialias: bool = False,
) -> Extended:
    """Give a table another number of positions, larger or smaller.

    Computed from the float32 rows whatever the stored type was. The table's own length gives the
    table back, bit for bit.

    Parameters
    ----------
    table : PositionTable
    length : int or None
        The new ``n_positions``. None for a table with a grid: then ``grid_size`` says it.
    method : key of METHODS
    grid : key of GRIDS
        For the methods that use one.
    keep : str
        Positions to put back unchanged, such as ``0``, ``first:20``, ``special``, with commas
        between several; a kept last row stays last. Prefix and suffix rows always are.
    seed : int
        For methods that draw.
    grid_size : (int, int) or None
        New height and width for a table with a grid, resampled in two dimensions.
    antialias : bool
        Widen the kernel when shrinking, where the method has such a kernel.

    Raises
    ------
    SettingError
        A name, length or combination that does not exist; the text says what does.
    """
    chosen, laid = _chosen(method, grid)
    if antialias and chosen.smoothed is None:
        smooth = ", ".join(key for key, each in METHODS.items() if each.smoothed)
        raise SettingError(
            f"Smoothing (antialias) is there for {smooth}; {method} was chosen. Choose one of "
            f"those or leave it off."
        )
    if table.grid is not None:
        grid_size = _grid_size(table, length, grid_size)
        length = table.prefix_rows + grid_size[0] * grid_size[1] + table.suffix_rows
    elif grid_size is not None:
        raise SettingError(
            f"{table.name} has no grid: its positions are a sequence. Give a length instead of a "
            f"grid size."
        )
    if length is None or length < 1 or length * table.d_model > MOST_VALUES:
        most = MOST_VALUES // table.d_model
        raise SettingError(
            f"The new length is a whole number from 1 to {most} for this table; {length} was "
            f"given. Choose one of those."
        )
    kept = kept_positions(table, keep)
    places = places_of(kept, table.n_positions, length)
    rest = np.delete(np.arange(table.n_positions), kept)
    free = np.delete(np.arange(length), places)
    new = np.empty((length, table.d_model), dtype=np.float32)
    new[list(places)] = table.weights[list(kept)]
    if table.grid is not None:
        assert grid_size is not None
        new[free] = _on_a_grid(table, rest, kept, chosen, laid, grid_size, antialias)
    elif len(free) and not len(rest):
        raise SettingError(
            f"{len(free)} new rows need rows to be made from; all {table.n_positions} are kept. "
            f"Keep fewer."
        )
    elif len(free):
        core = table.weights[rest] if kept else table.weights
        new[free] = _along(core, len(free), chosen, laid, seed, antialias)
    used = laid.key if chosen.uses_grid else None
    how = " ".join(filter(None, (method, used, "antialias" if antialias else "")))
    derived = table.derive(
        np.concatenate([table.raw[: table.row_offset], new]),
        note=f"{how}, {table.n_positions} to {length}",
        grid=grid_size,
    )
    return Extended(derived, method, used, kept, places)


def _along(
    rows: Array, length: int, method: Method, grid: Grid, seed: int, antialias: bool
) -> Array:
    old = len(rows)
    if length == old:
        return rows
    if method.family == "append":
        if length < old:
            return rows[:length]
        new = method.function(rows, length, np.random.default_rng(seed))
        return np.concatenate([rows, new.astype(rows.dtype)])
    layout = grid if method.uses_grid else GRIDS["anchored"]
    places = layout.coordinates(old, length)
    function = method.smoothed if antialias and method.smoothed else method.function
    return function(rows, places)


def _on_a_grid(
    table: PositionTable,
    rest: NDArray[np.int64],
    kept: tuple[int, ...],
    method: Method,
    grid: Grid,
    size: tuple[int, int],
    antialias: bool,
) -> Array:
    assert table.grid is not None
    height, width = table.grid
    outside = table.prefix_rows + table.suffix_rows
    if method.family == "append" or len(kept) > outside:
        raise SettingError(
            f"{table.name} is a grid of {height} × {width}: its rows are resampled in two "
            f"dimensions and none inside it can be kept or appended. Choose a method that "
            f"resamples, and keep no row of the grid."
        )
    d_model = table.d_model
    down = _along(
        table.weights[rest].reshape(height, width * d_model), size[0], method, grid, 0, antialias
    )
    sideways = down.reshape(size[0], width, d_model).transpose(1, 0, 2).reshape(width, -1)
    across = _along(sideways, size[1], method, grid, 0, antialias)
    back = across.reshape(size[1], size[0], d_model).transpose(1, 0, 2)
    return back.reshape(size[0] * size[1], d_model)


def _grid_size(
    table: PositionTable, length: int | None, size: tuple[int, int] | None
) -> tuple[int, int]:
    """The new grid: as given, else the one of the same shape that has ``length`` positions."""
    assert table.grid is not None
    height, width = table.grid
    outside = table.prefix_rows + table.suffix_rows
    if size is None and length is not None and length > outside:
        factor = ((length - outside) / (height * width)) ** 0.5
        size = (round(height * factor), round(width * factor))
    if size is not None and min(size) >= 1 and length in (None, size[0] * size[1] + outside):
        return size
    beside = f" beside {outside} other rows" if outside else ""
    asked = "no grid size" if size is None else f"a grid of {size[0]} × {size[1]}"
    raise SettingError(
        f"{table.name} is a grid of {height} × {width}{beside}, so a new one needs a height and a "
        f"width that fill its length; a length of {length} with {asked} does not. Give the grid "
        f"size."
    )


def _chosen(method: str, grid: str) -> tuple[Method, Grid]:
    if method not in METHODS:
        raise SettingError(
            f"There is no method named “{method}”. Choose one of {', '.join(METHODS)}."
        )
    if grid not in GRIDS:
        raise SettingError(f"There is no grid named “{grid}”. Choose one of {', '.join(GRIDS)}.")
    return METHODS[method], GRIDS[grid]
