"""What the names of a model's tensors and settings give away where it stores no position table.

``signs.tsv`` of the catalogue lists tensors and settings that only models of one scheme have,
``looks.tsv`` how the families name their tensors, so that a file without its config.json is
known by its looks. Adding a family is adding a line there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from posviz.sources import layouts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from posviz.sources.formats.tensors import Entry

_MOST_NAMES = 20_000  # that are looked at: one layer is named like the next
_LONGEST = 200  # characters of a name, from its end
_MOST_SETTINGS = 1_000


@dataclass(frozen=True)
class Look:
    """How some families name their tensors; a line of looks.tsv.

    Parameters
    ----------
    layout : str
        The families, for sentences.
    scheme : str
        What they do in place of a table, or ``unknown`` where names alone do not tell.
    has, lacks : tuple of pattern
        What must all be among the names, and what must not.
    note : str
        A sentence without its full stop, or nothing.
    """

    layout: str
    scheme: str
    has: tuple[re.Pattern[str], ...]
    lacks: tuple[re.Pattern[str], ...]
    note: str


@dataclass(frozen=True)
class Sign:
    """A tensor or a setting that only models of one scheme have; a line of signs.tsv."""

    scheme: str
    pattern: re.Pattern[str]


def look(entries: Sequence[Entry]) -> Look | None:
    """The first look that the names of some tensors have.

    Every number in a name counts as 0, so that the layers of a model have few names together.
    """
    plain = (
        re.sub(r"\d+", "0", entry.name[-_LONGEST:]).replace("/", ".")
        for entry in islice(entries, _MOST_NAMES)
    )
    names = "\n".join(dict.fromkeys(plain))
    for known in _looks():
        if not all(pattern.search(names) for pattern in known.has):
            continue
        if not any(pattern.search(names) for pattern in known.lacks):
            return known
    return None


def tensor_sign(entries: Sequence[Entry]) -> tuple[str, Entry] | None:
    """A tensor that gives the scheme away, and the scheme."""
    # One search instead of one a tensor.
    names = "\n".join(entry.name[-_LONGEST:].replace("\n", " ") for entry in entries)
    for sign in _signs("tensor"):
        found = sign.pattern.search(names)
        if found is not None:
            return sign.scheme, entries[names.count("\n", 0, found.end())]
    return None


def setting_sign(config: Mapping[str, object] | None) -> str | None:
    """The scheme that a setting of a config gives away."""
    stated = [key for key, value in islice((config or {}).items(), _MOST_SETTINGS) if value]
    for sign in _signs("setting"):
        if any(sign.pattern.fullmatch(key) for key in stated):
            return sign.scheme
    return None


@cache
def _looks() -> tuple[Look, ...]:
    return tuple(
        Look(
            line["layout"],
            line["scheme"],
            _patterns(line["has"]),
            _patterns(line["lacks"]),
            line["note"].removeprefix("-"),
        )
        for line in layouts.read_catalogue("looks.tsv")
    )


@cache
def _signs(of: str) -> tuple[Sign, ...]:
    return tuple(
        Sign(line["scheme"], _pattern(line["pattern"]))
        for line in layouts.read_catalogue("signs.tsv")
        if line["of"] == of
    )


def _patterns(column: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_pattern(word) for word in column.split() if word != "-")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("{start}", r"(?:^|[./])"), re.MULTILINE)
