"""The layout that posviz writes in the header of a table it saves, read back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, get_args

from posviz.table import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Saved:
    """How the rows of a saved table lie; as in PositionTable."""

    kind: Kind
    row_offset: int
    prefix_rows: int
    suffix_rows: int
    grid: tuple[int, int] | None


def saved(metadata: Mapping[str, str], n_rows: int) -> Saved | None:
    """The saved layout, or None where a header has none or one that does not fit the rows."""
    kind = metadata.get("posviz.kind")
    if kind not in get_args(Kind):
        return None
    keys = ("posviz.row_offset", "posviz.prefix_rows", "posviz.suffix_rows")
    texts = [metadata.get(key, "0") for key in keys]
    if not all(re.fullmatch(r"[0-9]{1,9}", text) for text in texts):
        return None
    offset, prefix, suffix = map(int, texts)
    inside = n_rows - offset - prefix - suffix
    found = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", metadata.get("posviz.grid", ""))
    grid = (int(found[1]), int(found[2])) if found else None
    if inside < 0 or offset >= n_rows or (grid is not None and grid[0] * grid[1] != inside):
        return None
    return Saved(cast("Kind", kind), offset, prefix, suffix, grid)
