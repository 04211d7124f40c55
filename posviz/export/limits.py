"""Limits beside the table: which keys of which files say how long an input may be.

The keys are data: ``limits.tsv`` of the catalogue lists them, and ``tables.tsv`` names the one
by which each architecture of transformers counts its positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
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
    folds : pair of (int, int), or None
        Of a long axis that is stored as two: their lengths before and now.
    """

    old: int
    new: int
    offset: int = 0
    folds: tuple[tuple[int, int], tuple[int, int]] | None = None

    def swapped(self, value: object) -> int | None:
        """The new value of a number that equals the old length, counted either way."""
        if type(value) is not int:
            return None
        if value == self.old:
            return self.new
        return self.new + self.offset if value == self.old + self.offset else None


@dataclass(frozen=True)
class Sizes:
    """Height and width of what an image table lies over: pixels, or bands and frames of audio.

    Parameters
    ----------
    old, new : (int, int)
    """

    old: tuple[int, int]
    new: tuple[int, int]


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
        length becomes the longest of the batch. ``times:F``: F times the length. ``fold``: the two
        axes of a folded one. ``image``, ``pixels``: sides of a picture; ``side:0``, ``side:1``: one
        of them; ``patches``: their product in patches; ``grid``: height and width in patches.
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


def follow(file: str, content: JSON, change: Lengths | Sizes) -> list[str]:
    """Let the limits of one JSON file follow a table; changes it in place.

    Parameters
    ----------
    file : str
        Base name.
    content : dict
        The parsed file.
    change : Lengths or Sizes
        Of a sequence, or of what an image table lies over.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    for limit in limits(file):
        name, _, factor = limit.rule.partition(":")
        rule = _RULES[type(change)].get(name)
        holder, key = _holder(content, limit.key)
        if rule is None or holder is None or holder.get(key) is None:
            continue
        before = holder[key]
        after = rule(before, change, factor)
        if after is not None and after != before:
            holder[key] = after
            said.append(f"{file}: {limit.key} from {_short(before)} to {_short(after)}")
    return said


def _holder(content: JSON, path: str) -> tuple[JSON | None, str]:
    *parts, key = path.split(".")
    found: Any = content
    for part in parts:
        found = found.get(part) if isinstance(found, dict) else None
    return (found if isinstance(found, dict) else None), key


def _same(value: object, lengths: Lengths, _: str) -> int | None:
    return lengths.swapped(value)


def _limit(value: object, lengths: Lengths, _: str) -> int | None:
    if type(value) is not int or not 0 < value < NO_LIMIT:
        return None
    if lengths.new >= lengths.old:
        return max(value, lengths.new)
    return lengths.new if lengths.new < value <= lengths.old + lengths.offset else None


def _padding(value: object, _lengths: Lengths, _: str) -> str | None:
    return "BatchLongest" if isinstance(value, dict) and "Fixed" in value else None


def _times(value: object, lengths: Lengths, factor: str) -> int | None:
    """A multiple of the length, such as the audio frames that Whisper halves."""
    after = lengths.new * Fraction(factor)
    is_that = type(value) is int and value == lengths.old * Fraction(factor)
    return int(after) if is_that and after.denominator == 1 else None


def _fold(value: object, lengths: Lengths, _: str) -> list[int] | None:
    before, after = lengths.folds or (None, None)
    return list(after) if after and before and value == list(before) else None


def _pixels(value: object, sizes: Sizes, _: str) -> object:
    """A picture size as image processors write it, where it was the old one."""
    before, after = sizes.old, sizes.new
    if type(value) is int and (value, value) == before:
        return after[0] if after[0] == after[1] else {"height": after[0], "width": after[1]}
    if value == {"height": before[0], "width": before[1]}:
        return {"height": after[0], "width": after[1]}
    if isinstance(value, dict) and set(value) == {"shortest_edge"} and len(set(before)) == 1:
        # A crop follows, so the shorter edge must hold the larger side.
        return {"shortest_edge": max(after)} if value["shortest_edge"] == before[0] else value
    return None


def _side(value: object, sizes: Sizes, axis: str) -> int | None:
    return sizes.new[int(axis)] if value == sizes.old[int(axis)] else None


_RULES: dict[type, dict[str, Callable[[object, Any, str], object]]] = {
    Lengths: {
        "same": _same, "limit": _limit, "padding": _padding, "times": _times, "fold": _fold,
    },
    Sizes: {"pixels": _pixels, "side": _side},
}  # fmt: skip


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
