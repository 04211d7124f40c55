"""What the names of a model's tensors and settings give away where it stores no position table.

``signs.tsv`` of the catalogue lists tensors and settings that only models of one scheme have, and
settings that switch a family's learned table off; ``looks.tsv`` how the families name their
tensors, so that a file without its config.json is known by its looks. Adding a family is adding
a line there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from posviz.sources import layouts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from posviz.sources.formats.tensors import Entry

_MOST_NAMES = 20_000  # that are looked at, those that differ in their numbers counted once
_LONGEST = 200  # characters of a name, from its end
_DIGITS = str.maketrans("123456789", "000000000")
_MOST_SETTINGS = 1_000
_MOST_INSIDE = 50  # of a part: the settings of attention, not a thousand labels
_LONGEST_VALUE = 40


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
    """A tensor or a setting that speaks for a scheme; a line of signs.tsv."""

    scheme: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Switch:
    """A setting by which a model has, or reads, no learned position table.

    Parameters
    ----------
    scheme : str
        What the model does instead; ``unknown`` where the setting only says that it has none.
    setting : str
        As in ``alibi = true``.
    """

    scheme: str
    setting: str


def look(entries: Sequence[Entry]) -> Look | None:
    """The first look that the names of some tensors have.

    Every number in a name counts as 0, so that the layers of a model have few names together.
    """
    plain = (re.sub("0+", "0", name).replace("/", ".") for name in _kinds(entries))
    names = "\n".join(dict.fromkeys(plain))
    for known in _looks():
        if not all(pattern.search(names) for pattern in known.has):
            continue
        if not any(pattern.search(names) for pattern in known.lacks):
            return known
    return None


def tensor_sign(entries: Sequence[Entry]) -> tuple[str, Entry] | None:
    """A tensor that gives the scheme away, and the scheme."""
    kinds = _kinds(entries)
    names = "\n".join(kinds)  # one search instead of one a tensor
    for sign in _signs("tensor"):
        found = sign.pattern.search(names)
        if found is not None:
            return sign.scheme, [*kinds.values()][names.count("\n", 0, found.end())]
    return None


def _kinds(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The first tensor of each name, all digits taken for 0: layers are named one like the next."""
    kinds: dict[str, Entry] = {}
    for entry in entries:
        kinds.setdefault(entry.name[-_LONGEST:].translate(_DIGITS).replace("\n", " "), entry)
        if len(kinds) == _MOST_NAMES:
            break
    return kinds


def setting_sign(configs: Sequence[Mapping[str, object]]) -> str | None:
    """The scheme that a setting gives away, of the first of several configs that has one."""
    for config in configs:
        stated = [key for key, value in islice(config.items(), _MOST_SETTINGS) if value]
        for sign in _signs("setting"):
            if any(sign.pattern.fullmatch(key) for key in stated):
                return sign.scheme
    return None


def switch(configs: Sequence[Mapping[str, object]]) -> Switch | None:
    """The setting of some configs, the closest first, that switches a learned table off."""
    stated: dict[str, str] = {}
    for config in configs:
        for key, value in islice(_settings(config), _MOST_SETTINGS):
            stated.setdefault(key, value)
    # One search instead of one a setting, and for most models one in all.
    settings = "\n".join(f"{key} = {value}" for key, value in stated.items())
    if _any_switch().search(settings) is None:
        return None
    for sign in _signs("switch"):
        found = sign.pattern.search(settings)
        if found is not None:
            return Switch(sign.scheme, found[0])
    return None


def _settings(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Switches and words of a config, and of the parts in it (``attn_config.alibi``)."""
    for key, value in islice(config.items(), _MOST_SETTINGS):
        if isinstance(value, dict):
            for name, one in islice(value.items(), _MOST_INSIDE):
                if (word := _word(one)) is not None:
                    yield f"{key}.{name}", word
        elif (word := _word(value)) is not None:
            yield key, word


def _word(value: object) -> str | None:
    """What a setting says in a word; None for a number, a list or a text."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_VALUE and value.isprintable() else None
    if isinstance(value, int) and 0 <= value <= 1:  # true and false are such numbers
        return "true" if value else "false"
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
        Sign(
            line["scheme"],
            _pattern(f"^(?:{line['pattern']})$" if of == "switch" else line["pattern"]),
        )
        for line in layouts.read_catalogue("signs.tsv")
        if line["of"] == of
    )


@cache
def _any_switch() -> re.Pattern[str]:
    return _pattern("|".join(sign.pattern.pattern for sign in _signs("switch")))


def _patterns(column: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_pattern(word) for word in column.split() if word != "-")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("{start}", r"(?:^|[./])"), re.MULTILINE)
