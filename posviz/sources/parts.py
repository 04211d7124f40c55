"""A part of one tensor: some of its rows, some of its columns, and no byte more than needed."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.tensors import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from posviz.sources.formats.tensors import Entry, TensorFile

Span = tuple[int, int]
"""From the first to behind the last, as in a slice."""

MAX_PART_BYTES = 1 << 28
"""Of what is read at once, counted as float32."""


def read_part(
    file: TensorFile, entry: Entry, rows: Span, columns: Span | None = None, *, scattered: bool
) -> NDArray[np.float32]:
    """Rows ``rows`` of a tensor, or columns ``columns`` of those rows.

    Parameters
    ----------
    file : TensorFile
        The file that holds the tensor.
    entry : Entry
        The tensor; of one axis or more, the first being its rows.
    rows : (int, int)
    columns : (int, int) or None
        On the second and last axis.
    scattered : bool
        Whether many small reads cost little, as on a disk. Otherwise columns are cut out of whole
        rows, in one read.

    Returns
    -------
    array of shape (rows, columns), or (rows, …) without columns
        float32.

    Raises
    ------
    SourceError
        The tensor has no such rows or columns, or the part is too large to be read at once.
    """
    shape = entry.shape or ()
    check(entry.name, shape, rows, columns)
    width = prod(shape[1:])
    start, stop = rows
    if file.read_span is None:
        part: NDArray[np.float32] = file.read_entry(entry)[start:stop]
        return part if columns is None else part[:, slice(*columns)]
    if columns is None or columns == (0, width):
        flat = file.read_span(entry, start * width, stop * width)
        return flat.reshape(stop - start, *shape[1:])
    left, right = columns
    if not (scattered and file.strips):
        whole = file.read_span(entry, start * width, stop * width)
        return whole.reshape(stop - start, width)[:, left:right]
    strips = [
        file.read_span(entry, row * width + left, row * width + right) for row in range(start, stop)
    ]
    return np.stack(strips) if strips else np.empty((0, right - left), np.float32)


def gather(
    read: Callable[[Span], NDArray[np.float32]], wanted: NDArray[np.integer]
) -> NDArray[np.float32]:
    """Rows by number, in the order asked for; neighbours are read together, repeats once.

    Parameters
    ----------
    read : function
        From a span of rows to their values.
    wanted : array of shape (n,)
        At least one row.
    """
    unique, back = np.unique(wanted, return_inverse=True)
    breaks = np.flatnonzero(np.diff(unique) > 1) + 1
    runs = [read((int(run[0]), int(run[-1]) + 1)) for run in np.split(unique, breaks)]
    found: NDArray[np.float32] = np.concatenate(runs)[back]
    return found


def check(name: str, shape: tuple[int, ...], rows: Span, columns: Span | None) -> None:
    """Refuse a part that is not in the tensor, or too large, before anything is read."""
    spans = (rows,) if columns is None else (rows, columns)
    flat = columns is None or len(shape) == 2
    inside = len(shape) >= len(spans) and all(
        0 <= start <= stop <= length for (start, stop), length in zip(spans, shape, strict=False)
    )
    if not flat or not inside:
        asked = " and ".join(
            f"{axis} {start:,} to {stop - 1:,}"
            for axis, (start, stop) in zip(("rows", "columns"), spans, strict=False)
        )
        raise SourceError(
            f"{name} has the shape {shape_text(shape)}; {asked} were asked for. Ask for a part "
            f"that is in it."
        )
    wide = columns[1] - columns[0] if columns else prod(shape[1:])
    if 4 * (rows[1] - rows[0]) * wide > MAX_PART_BYTES:
        raise SourceError(
            f"{rows[1] - rows[0]:,} rows of {name} would take more than "
            f"{MAX_PART_BYTES >> 20:,} MiB as float32. Ask for fewer at once."
        )
