"""What a pickled checkpoint holds beside its tensors, as plain data that can be written again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from posviz.sources.formats.inert import Global, Inert, View
from posviz.sources.formats.objects import maker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.sources.formats.tensors import Entry

_MOST_PARTS = 100_000
_MAX_DEPTH = 32
_LARGEST = 1 << 63
_OPTIMIZER = {"state", "param_groups"}


@dataclass(frozen=True, eq=False)
class Outline:
    """The dictionaries, lists and plain values of a pickled checkpoint.

    Parameters
    ----------
    content : dict
        With an :class:`Entry` wherever there is a tensor; names of one tensor share it.
    emptied : tuple of str
        Dotted names of the optimizers whose running means were left out; their settings are kept.
    plain : mapping of str to str
        Dotted names of objects that became dictionaries, and their classes.
    lost : mapping of str to str
        Dotted names of what only a pickle of the same program could hold, and what it is.
    """

    content: dict[str, Any]
    emptied: tuple[str, ...]
    plain: Mapping[str, str]
    lost: Mapping[str, str]


@dataclass
class _Draft:
    entries: Mapping[View, Entry]
    emptied: list[str] = field(default_factory=list)
    plain: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    parts: int = 0


class _TooMuchError(Exception):
    """More parts, or deeper ones, than settings have."""


def outline(value: object, entries: Mapping[View, Entry]) -> Outline | None:
    """The plain part of a pickle's value; None where it is no dictionary, or an endless one.

    Parameters
    ----------
    value : object
        As :func:`posviz.sources.formats.pickles.interpret` gives it.
    entries : mapping of View to Entry
        The tensors that are read.
    """
    if not isinstance(value, dict):
        return None
    draft = _Draft(entries)
    try:
        content = _dictionary(value, "", draft, 0)
    except _TooMuchError:
        return None
    return Outline(content, tuple(draft.emptied), draft.plain, draft.lost)


_LOST = object()


def _dictionary(value: dict[Any, Any], path: str, draft: _Draft, depth: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, part in value.items():
        name = f"{path}.{key}" if path else str(key)
        if key == "state" and value.keys() >= _OPTIMIZER and isinstance(part, dict):
            draft.emptied.append(path)
            kept[key] = {}
            continue
        found = _part(part, name, draft, depth + 1)
        if found is not _LOST:
            kept[key] = found
    return kept


def _part(value: Any, path: str, draft: _Draft, depth: int) -> Any:
    draft.parts += 1
    if draft.parts > _MOST_PARTS or depth > _MAX_DEPTH:
        raise _TooMuchError
    if isinstance(value, View):
        return _kept(draft.entries.get(value, _LOST), "a tensor of another kind", path, draft)
    if value is None or isinstance(value, (str, float, bool)):
        return value
    if isinstance(value, int):
        return _kept(value if abs(value) < _LARGEST else _LOST, "a huge number", path, draft)
    if isinstance(value, dict):
        if any(_was_no_text(key) for key in value):
            return _kept(_LOST, "a dictionary whose keys are no text", path, draft)
        return _dictionary(value, path, draft, depth)
    if isinstance(value, (list, tuple)):
        before = dict(draft.lost)
        parts = [_part(part, f"{path}.{n}", draft, depth) for n, part in enumerate(value)]
        if any(part is _LOST for part in parts):  # the places of the others would move
            inside = next(what for name, what in draft.lost.items() if name not in before)
            draft.lost = before
            return _kept(_LOST, f"a {type(value).__name__} with {inside}", path, draft)
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Inert):
        settings = value.mapping or value.state
        if isinstance(settings, dict) and not value.items:
            draft.plain[path] = maker(value)
            return _part(settings, path, draft, depth)
        return _kept(_LOST, maker(value), path, draft)
    if isinstance(value, Global):
        return _kept(_LOST, str(value), path, draft)
    return _kept(_LOST, f"a {type(value).__name__}", path, draft)


def _kept(value: Any, what: str, path: str, draft: _Draft) -> Any:
    if value is _LOST:
        draft.lost[path] = what
    return value


def _was_no_text(key: object) -> bool:
    """Whether a key was a number or an object, which reading turned into text."""
    return not isinstance(key, str) or key.lstrip("-").isdigit() or key.startswith(("<", "("))
