"""Where each architecture keeps its position table: the catalogue, read from data files.

``rules.tsv`` says which names are position tables (a veto wins over any match),
``tables.tsv`` how the table of each architecture is laid out, and ``no_table.tsv`` what the
architectures without one use instead. Adding an architecture is adding a line there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from posviz.sources.names import unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CATALOGUE = Path(__file__).parents[1] / "data" / "catalogue"

_START = r"(?:^|[./])"
_LEAF = (
    r"(?:[./](?:weight|embeddings?(?:\.weight|:0)?|vars[./]0|value))?(?::0)?"
    r"(?:/\.ATTRIBUTES/VARIABLE_VALUE)?$"
)
_OTHER_LEAF = re.compile(r"(?:[./]embeddings?|/vars/0)?(?::0)?(?:/\.ATTRIBUTES/VARIABLE_VALUE)?$")
_MOST_WORDS = 10
_LONGEST = 300  # letters that patterns are tried on; real names have fewer


@dataclass(frozen=True)
class Layout:
    """How one architecture lays out one position table; a line of tables.tsv.

    Parameters
    ----------
    family : str
        Architecture, for sentences.
    types : tuple of str
        ``model_type`` values of config.json that it holds for; ``*`` for any.
    pattern : str
        Regular expression for the end of the tensor's name.
    axes : str
        Stored axes, such as ``(L,d)`` or ``(1,d,H,W)``.
    offset : str
        Leading rows no position uses: a number, or ``pad+1`` for one more than the config's
        ``pad_token_id``.
    prefix, suffix : str
        Used rows outside the grid: a number, a key of the config, or ``?`` where it varies.
    grid : str
        ``-`` positions are a sequence, ``hw`` image patches row by row, ``wh`` column by
        column, ``ft`` frequency by time, ``thw`` video, ``part`` one axis of a pair.
    kind : str
        ``learned``, ``sinusoidal`` (stored, never trained), ``box`` (coordinates of a layout
        box), ``auxiliary`` (tiles, output queries, tables no input reaches) or ``rotary``.
    length : str
        Config key that counts positions; with ``:stored`` it counts the offset rows too;
        ``fixed`` where the class sets the size of an image itself.
    note : str
    """

    family: str
    types: tuple[str, ...]
    pattern: str
    axes: str
    offset: str
    prefix: str
    suffix: str
    grid: str
    kind: str
    length: str
    note: str


@dataclass(frozen=True)
class Scheme:
    """What an architecture without a learned table uses instead; a line of no_table.tsv."""

    scheme: str
    detail: str


def is_near(name: str) -> bool:
    """Whether a name holds letters of which every position table has some; most hold none."""
    lower = name.lower()
    for letters in _all_letters():  # a loop costs half of what any() does
        if letters in lower:
            break
    else:
        return False
    return True


def rule(name: str) -> str | None:
    """The rule by which a tensor's name is that of a position table, or None."""
    if not is_near(name):
        return None
    lower = name.lower()
    name = _end(unwrapped(name))
    possible = [rule for rule in _rules() if rule.letters in lower]
    # Every rule begins a word, and a search would try all letters of a name made to be slow.
    for start in _beginnings(name):
        for known in possible:
            if _compiled(known.pattern).match(name, start):
                return None if _veto().search(name) else known.label
    return None


def _end(name: str) -> str:
    """The last words of a name without end, or nothing if they are one long word."""
    if len(name) <= _LONGEST:
        return name
    return name[-_LONGEST:].replace("/", ".").partition(".")[2]


def _beginnings(name: str) -> list[int]:
    """Where the last words of a dotted name begin, first to last; no rule reaches further back."""
    starts: list[int] = []
    at = len(name)
    while at > 0 and len(starts) < _MOST_WORDS:
        at = max(name.rfind(".", 0, at), name.rfind("/", 0, at), 0)
        starts.append(at)
    return starts[::-1]


def layout(types: Sequence[str], name: str) -> Layout | None:
    """The layout of a tensor under the first of several model types that knows it."""
    name = _end(unwrapped(name))
    # The catalogue spells names as PyTorch does; TensorFlow, Keras and Flax have other leaves.
    bare = _OTHER_LEAF.sub("", name)
    spellings = (name,) if bare == name else (name, f"{bare}.weight", bare)
    for model_type in (*types, "*"):
        for candidate in _layouts().get(model_type, ()):
            pattern = _pattern(candidate.pattern)
            if any(pattern.search(spelling) for spelling in spellings):
                return candidate
    return None


def scheme(model_type: str) -> Scheme | None:
    """What the catalogue knows of an architecture that has no learned table."""
    return _schemes().get(model_type)


def is_known(model_type: str) -> bool:
    """Whether the catalogue has a layout for this model type."""
    return model_type in _layouts()


def read_catalogue(file: str) -> Iterator[dict[str, str]]:
    """The lines of one catalogue file as dictionaries."""
    names, *lines = (CATALOGUE / file).read_text(encoding="utf-8").rstrip("\n").split("\n")
    columns = names.split("\t")
    for line in lines:
        yield dict(zip(columns, line.split("\t"), strict=True))


class _Rule(NamedTuple):
    """A pattern for names that are position tables; a line of rules.tsv."""

    label: str
    letters: str  # that every such name holds, in lower case
    pattern: str


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(line["rule"], line["letters"], line["pattern"])
        for line in read_catalogue("rules.tsv")
        if line["polarity"] == "+"
    )


@cache
def _all_letters() -> tuple[str, ...]:
    """Letters of which every position table has some, so that most names cost no pattern at all."""
    every = {rule.letters for rule in _rules()}
    return tuple(one for one in every if not any(other in one for other in every - {one}))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{start}", _START).replace("{leaf}", _LEAF))


@cache
def _veto() -> re.Pattern[str]:
    lines = read_catalogue("rules.tsv")
    return re.compile("|".join(f"(?:{x['pattern']})" for x in lines if x["polarity"] == "-"))


@cache
def _layouts() -> dict[str, list[Layout]]:
    by_type: dict[str, list[Layout]] = {}
    for line in read_catalogue("tables.tsv"):
        if line["types"] == "-":  # code bases that write no config: the rules alone find them
            continue
        types = tuple(line["types"].split(","))
        known = Layout(
            line["family"], types, line["name"], line["axes"], line["offset"], line["prefix"],
            line["suffix"], line["grid"], line["kind"], line["length"], line["note"],
        )  # fmt: skip
        for model_type in types:
            by_type.setdefault(model_type, []).append(known)
    return by_type


@cache
def _pattern(ending: str) -> re.Pattern[str]:
    return re.compile(f"{_START}(?:{ending})$")


@cache
def _schemes() -> dict[str, Scheme]:
    return {
        line["model_type"]: Scheme(line["scheme"], line["detail"] or line["scheme"])
        for line in read_catalogue("no_table.tsv")
    }
