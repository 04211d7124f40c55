"""Which rows are taken out before a table is stretched and put back unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.analysis.special import special_rows
from posviz.errors import SettingError

if TYPE_CHECKING:
    from posviz.table import PositionTable

GRAMMAR = (
    "a position such as 0, a range such as 3-5, first:20, last:2 or special, and several of them "
    "with commas"
)


def kept_positions(table: PositionTable, keep: str) -> tuple[int, ...]:
    """The positions that ``keep`` names, and the prefix and suffix rows, in order.

    Parameters
    ----------
    table : PositionTable
    keep : str
        Empty, or positions and ranges, ``first:K``, ``last:K`` and ``special`` with commas.

    Raises
    ------
    SettingError
        It cannot be read, or names positions that the table does not have.
    """
    count = table.n_positions
    kept = set(range(table.prefix_rows)) | set(range(count - table.suffix_rows, count))
    for part in filter(None, (part.strip() for part in keep.split(","))):
        if part == "special":
            kept |= {row.position for row in special_rows(table.weights)}
        else:
            kept |= set(_range(part, count))
    return tuple(sorted(kept))


def places_of(kept: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    """Where each kept row goes in the new table.

    Rows that run up to the end of the old table stay as far from the end, the others as far
    from the start.

    Raises
    ------
    SettingError
        A kept row has no place in the new table.
    """
    trailing = 0
    while trailing < len(kept) and kept[-1 - trailing] == old - 1 - trailing:
        trailing += 1
    split = len(kept) - trailing
    places = (*kept[:split], *(position + new - old for position in kept[split:]))
    if len(set(places)) < len(places) or any(not 0 <= place < new for place in places):
        raise SettingError(
            f"Every kept row needs a place in the new table; {len(kept)} rows up to position "
            f"{kept[-1]} do not fit in {new}. Keep fewer rows or choose a larger length."
        )
    return places


def _range(part: str, count: int) -> range:
    name, colon, number = part.partition(":")
    first, dash, last = part.partition("-")
    if colon and name in ("first", "last") and number.isdecimal():
        size = int(number)
        if size > count:
            raise SettingError(
                f"{part} asks to keep {size} rows; the table has {count}. Keep fewer."
            )
        return range(size) if name == "first" else range(count - size, count)
    if first.isdecimal() and (not dash or last.isdecimal()):
        low, high = int(first), int(last) if dash else int(first)
        if low <= high < count:
            return range(low, high + 1)
        raise SettingError(
            f"Rows to keep are positions from 0 to {count - 1}; {part} was given. Choose among "
            f"those."
        )
    raise SettingError(f"Rows to keep are named by {GRAMMAR}; “{part}” is none of these.")
