"""Limits beside the table: which keys of which files say how long an input may be.

The keys are data: ``limits.tsv`` of the catalogue lists them, and ``tables.tsv`` names the one
by which each architecture of transformers counts its positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from posviz.sources.layouts import read_catalogue

NO_LIMIT = 10**9
"""Tokenizers write "no limit" as a number of thirty digits; nothing this large cuts an input."""

JSON = dict[str, Any]


@dataclass(frozen=True)
class Lengths:
    """What a table counted before and counts now.

    Parameters
    ----------
    old, new : int
        Positions, offset rows left out.
    offset : int
        Offset rows.
    """

    old: int
    new: int
    offset: int = 0

    def swapped(self, value: object) -> int | None:
        """The new value of a number that equals the old length, counted either way."""
        if type(value) is not int:
            return None
        if value == self.old:
            return self.new
        return self.new + self.offset if value == self.old + self.offset else None


@dataclass(frozen=True)
class Limit:
    """One key that may have to follow the table; a line of limits.tsv.

    Parameters
    ----------
    file : str
        Base name.
    key : str
        Dotted path in its JSON.
    rule : str
        ``same``: follows where it equals the old length. ``limit``: cuts inputs, so it is raised
        to the new length, or lowered where longer inputs would now fail. ``padding``: a fixed
        length becomes the longest of the batch. ``image``, ``pixels``: sides of a picture.
    types : tuple of str
        For ``image``: the architectures that take a height and a width.
    """

    file: str
    key: str
    rule: str
    types: tuple[str, ...]


@cache
def limits(file: str | None = None) -> tuple[Limit, ...]:
    """The limits of one file, or all."""
    lines = read_catalogue("limits.tsv")
    known = [Limit(x["file"], x["key"], x["rule"], tuple(x["types"].split(","))) for x in lines]
    return tuple(limit for limit in known if file in (None, limit.file))


def follow(file: str, content: JSON, lengths: Lengths) -> list[str]:
    """Let the limits of one JSON file follow a sequence's length; changes it in place.

    Parameters
    ----------
    file : str
        Base name.
    content : dict
        The parsed file.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    for limit in limits(file):
        rule = _RULES.get(limit.rule)
        holder, key = _holder(content, limit.key)
        if rule is None or holder is None or holder.get(key) is None:
            continue
        before, after = holder[key], rule(holder[key], lengths)
        if after is not None and after != before:
            holder[key] = after
            said.append(f"{file}: {limit.key} from {_short(before)} to {_short(after)}")
    return said


def follow_image(
    file: str, content: JSON, before: tuple[int, int], after: tuple[int, int]
) -> list[str]:
    """Let the picture sizes of one JSON file follow an image table; changes it in place.

    Parameters
    ----------
    before, after : (int, int)
        Height and width in pixels.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    for limit in limits(file):
        value = content.get(limit.key)
        if limit.rule == "pixels" and value is not None:
            new = _pixels(value, before, after)
            if new != value:
                content[limit.key] = new
                said.append(f"{file}: {limit.key} from {_short(value)} to {_short(new)}")
    return said


def _holder(content: JSON, path: str) -> tuple[JSON | None, str]:
    *parts, key = path.split(".")
    found: Any = content
    for part in parts:
        found = found.get(part) if isinstance(found, dict) else None
    return (found if isinstance(found, dict) else None), key


def _same(value: object, lengths: Lengths) -> int | None:
    return lengths.swapped(value)


def _limit(value: object, lengths: Lengths) -> int | None:
    if type(value) is not int or not 0 < value < NO_LIMIT:
        return None
    if lengths.new >= lengths.old:
        return max(value, lengths.new)
    return lengths.new if lengths.new < value <= lengths.old + lengths.offset else None


def _padding(value: object, lengths: Lengths) -> str | None:
    return "BatchLongest" if isinstance(value, dict) and "Fixed" in value else None


_RULES: dict[str, Callable[[object, Lengths], object]] = {
    "same": _same,
    "limit": _limit,
    "padding": _padding,
}


def _pixels(value: object, before: tuple[int, int], after: tuple[int, int]) -> object:
    """A picture size as image processors write it, where it was the old one."""
    if type(value) is int and (value, value) == before:
        return after[0] if after[0] == after[1] else {"height": after[0], "width": after[1]}
    if value == {"height": before[0], "width": before[1]}:
        return {"height": after[0], "width": after[1]}
    if isinstance(value, dict) and set(value) == {"shortest_edge"} and len(set(before)) == 1:
        # A crop follows, so the shorter edge must hold the larger side.
        return {"shortest_edge": max(after)} if value["shortest_edge"] == before[0] else value
    return value


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
