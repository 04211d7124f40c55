"""Rows that are equal to others, bit by bit: positions that a table cannot tell apart.

Such rows come of a constant filling, of a block that was copied to make a table longer, or of a
model that never learned; the numbers do not say which, and neither do the sentences here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_FEW = 16  # columns that tell nearly all rows apart
_MOST_ROWS = 1 << 17  # longer tables are only asked whether all their rows are equal
_NAMED = 3


def equal_rows(rows: NDArray[np.floating]) -> NDArray[np.intp]:
    """For every row the first row that is equal to it, which is the row itself where none is.

    Parameters
    ----------
    rows : array of shape (n_rows, d_model)

    Returns
    -------
    array of shape (n_rows,)
    """
    firsts = np.arange(len(rows))
    if len(rows) > _MOST_ROWS:
        return np.zeros_like(firsts) if (rows == rows[0]).all() else firsts
    import hashlib  # where it is used: importing it costs more than opening a table

    alike: dict[bytes, list[int]] = {}
    for row, start in enumerate(np.ascontiguousarray(rows[:, :_FEW])):
        alike.setdefault(start.tobytes(), []).append(row)
    for group in alike.values():
        seen: dict[bytes, int] = {}
        for row in group if len(group) > 1 else ():
            digest = hashlib.blake2b(rows[row].tobytes(), digest_size=16).digest()
            firsts[row] = seen.setdefault(digest, row)
    return firsts


def without_first(firsts: NDArray[np.intp], offset: int) -> NDArray[np.intp]:
    """The same of the rows from `offset` on, counted from there."""
    _, index, inverse = np.unique(firsts[offset:], return_index=True, return_inverse=True)
    found: NDArray[np.intp] = index[inverse]
    return found


def all_equal(firsts: NDArray[np.intp]) -> bool:
    """Whether there are several rows, and all are the same."""
    return len(firsts) > 1 and not firsts.any()


def in_words(firsts: NDArray[np.intp], *, zero: Sequence[int] = ()) -> str | None:
    """Which rows are equal, as a clause; None where none are.

    Parameters
    ----------
    firsts : array of shape (n_rows,)
        As :func:`equal_rows` returns it.
    zero : sequence of int
        Rows of zeros, of which something else is said.
    """
    if all_equal(firsts):
        return "every row is the same"
    repeated = np.setdiff1d(np.flatnonzero(firsts != np.arange(len(firsts))), zero)
    if not len(repeated):
        return None
    blocks = list(_blocks(repeated, firsts))
    said = [_block(first, last, int(firsts[first]), int(firsts[last])) for first, last in blocks]
    more = sum(last - first + 1 for first, last in blocks[_NAMED:])
    rest = [f"{count(more)} more equal an earlier row"] if more else []
    return ", ".join([*said[:_NAMED], *rest])


def _blocks(repeated: NDArray[np.intp], firsts: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Stretches of rows that all equal one row, or that repeat as many rows in their order."""
    start, step = int(repeated[0]), -1  # -1 until the second row of a stretch tells
    for before, row in zip(repeated[:-1].tolist(), repeated[1:].tolist(), strict=True):
        moved = int(firsts[row] - firsts[before])
        if row == before + 1 and moved in (0, 1) and step in (-1, moved):
            step = moved
        else:
            yield start, before
            start, step = row, -1
    yield start, int(repeated[-1])


def _block(first: int, last: int, copied: int, copied_last: int) -> str:
    if copied == copied_last and copied == first - 1:
        return f"rows {count(copied)} to {count(last)} are the same row"
    if first == last:
        return f"row {count(first)} equals row {count(copied)}"
    if copied == copied_last:
        return f"rows {count(first)} to {count(last)} equal row {count(copied)}"
    return (
        f"rows {count(first)} to {count(last)} repeat rows {count(copied)} to {count(copied_last)}"
    )
