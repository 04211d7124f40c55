"""A table back in the tensors it came from: one, one of a stack, or two that make it together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.export.stored import Tensor, encode
from posviz.sources.shapes import as_rows, as_stored
from posviz.table import PositionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from posviz.export.recipe import Recipe
    from posviz.interpolation import Extended
    from posviz.sources.bundle import Bundle
    from posviz.sources.suspects import Suspect

Size = tuple[int, int]
_CLOSE = 1e-5  # of the largest number: what float32 sums in another order may differ by


def rewrite(
    bundle: Bundle, suspect: Suspect, recipe: Recipe, extended: Extended
) -> tuple[dict[str, Tensor], tuple[Size, Size] | None]:
    """The tensors of a table at its new length, in their stored types.

    Parameters
    ----------
    bundle : Bundle
    suspect : Suspect
        The tensor or tensors, examined.
    recipe : Recipe
        How the table was extended; the other tables of a stack are extended the same way.
    extended : Extended

    Returns
    -------
    mapping of str to Tensor, pair of (int, int) or None
        By name; of a table made of two, how many rows each had and has.

    Raises
    ------
    SourceError
        The new rows have no place in the stored axes, or are no sum or pair of two tables.
    """
    if suspect.combine:
        return _pair(bundle, suspect, recipe, extended)
    entry, (how, *_) = suspect.parts[0], suspect.axes
    grid = extended.table.grid
    tables = [extended.table.raw]
    if how.parts > 1:
        names = [f"{entry.name}[{part}]" if part else entry.name for part in range(how.parts)]
        tables = [
            extended.table.raw
            if part == suspect.part
            else recipe.apply(bundle.checkpoint.table(name)).table.raw
            for part, name in enumerate(names)
        ]
    values = as_stored(tables, entry.shape or (), how, grid)
    if values is None:
        raise SourceError(
            f"{entry.name} is stored as {len(entry.shape or ())} axes of which no single table can "
            f"be written back. Save the table alone."
        )
    return {entry.name: encode(values, entry.dtype or "", name=entry.name)}, None


def _pair(
    bundle: Bundle, suspect: Suspect, recipe: Recipe, extended: Extended
) -> tuple[dict[str, Tensor], tuple[Size, Size]]:
    """Each of the two extended along its own axis, where that makes the very same table."""
    old = (suspect.axes[0].n_rows, suspect.axes[1].n_rows)
    new = extended.table.grid or (extended.table.n_positions // old[1], old[1])
    tables: list[NDArray[np.float32]] = []
    for entry, how, length in zip(suspect.parts, suspect.axes, new, strict=True):
        rows = as_rows(bundle.checkpoint.read(entry.name), how)
        one = replace(recipe, length=length, grid_size=None)
        same = length == len(rows)
        part = PositionTable(rows, name=entry.name, provenance=extended.table.provenance)
        tables.append(rows if same else one.apply(part).table.raw)
    made = _together(suspect, tables)
    wanted = extended.table.raw
    close = _CLOSE * float(np.abs(wanted).max(initial=0.0))
    if made.shape != wanted.shape or not np.allclose(made, wanted, rtol=0, atol=close):
        raise SourceError(
            f"{suspect.parameter} is made of two tables, {old[0]:,} and {old[1]:,} rows, and this "
            f"one of {len(wanted):,} is not: another method, or a multiple of {old[1]:,} "
            f"positions, may be. Save the table alone, or try method tile."
        )
    tensors = {}
    for entry, how, rows in zip(suspect.parts, suspect.axes, tables, strict=True):
        values = as_stored([rows], entry.shape or (), how, None)
        assert values is not None, "each of the two is a plain table"
        tensors[entry.name] = encode(values, entry.dtype or "", name=entry.name)
    return tensors, (old, new)


def _together(suspect: Suspect, tables: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    by_name = {entry.name: rows for entry, rows in zip(suspect.parts, tables, strict=True)}
    axes = tuple(
        replace(how, order="rows", n_rows=len(rows))
        for how, rows in zip(suspect.axes, tables, strict=True)
    )
    return replace(suspect, axes=axes).rows(lambda entry: by_name[entry.name])
