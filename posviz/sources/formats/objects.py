"""The tensors inside what a pickle holds: dictionaries in dictionaries, modules, whole objects."""

from __future__ import annotations

from collections.abc import Iterator

from posviz.sources.formats.inert import Global, Inert, View
from posviz.sources.formats.tensors import MAX_NAME, brief, damaged

_MAX_DEPTH = 64
_MAX_CONTAINERS = 300_000
_MODULE_PARTS = ("_modules", "_parameters", "_buffers")
SETTINGS = ("model_args", "config", "hyper_parameters", "hparams", "cfg", "args")
_LONGEST_SETTING = 1_000  # characters
_KEPT = (dict, list, tuple, Inert, View)  # a vocabulary has many children and none of these

# A name is a chain of keys, put together only for tensors: a key of a container with a hundred
# thousand children would otherwise be copied for each.
_Chain = tuple["_Chain", str] | None


def tensors(file: str, value: object) -> Iterator[tuple[str, View | Inert]]:
    """Every tensor by dotted name, in the file's order, each container once.

    An :class:`Inert` is a tensor that is stored in a way that is not read, or an array of NumPy.

    Raises
    ------
    SourceError
        More containers than any checkpoint nests.
    """
    seen: set[int] = set()
    waiting: list[tuple[_Chain, object, int]] = [(None, value, 0)]
    while waiting:
        chain, found, depth = waiting.pop()
        if isinstance(found, View) or (isinstance(found, Inert) and _holds_numbers(found)):
            yield _joined(chain), found
            continue
        if not isinstance(found, (dict, list, tuple, Inert)) or depth > _MAX_DEPTH:
            continue
        if id(found) in seen:
            continue
        seen.add(id(found))
        if len(seen) > _MAX_CONTAINERS:
            raise damaged(file, f"it nests more than {_MAX_CONTAINERS:,} containers")
        below = _children(found)
        if len(waiting) + len(below) > _MAX_CONTAINERS:
            raise damaged(file, f"it holds more than {_MAX_CONTAINERS:,} containers and tensors")
        waiting += [
            ((chain, key) if key else chain, child, depth + 1) for key, child in reversed(below)
        ]


def is_array(found: Inert) -> bool:
    """Whether an object is an array of NumPy."""
    made_by = found.maker
    return (
        isinstance(made_by, Global)
        and made_by.module.partition(".")[0] == "numpy"
        and made_by.name == "_reconstruct"
    )


def maker(found: Inert) -> str:
    """The class that an object calls itself, for sentences."""
    return brief(str(found.maker)) if isinstance(found.maker, Global) else "an unknown object"


def settings(value: object) -> dict[str, object]:
    """Plain settings that training code keeps beside the weights."""
    if not isinstance(value, dict):
        return {}
    kept: dict[str, object] = {}
    for key in SETTINGS:
        part = value.get(key)
        part = part.state if isinstance(part, Inert) else part
        if isinstance(part, dict):
            kept |= {name: item for name, item in part.items() if _is_setting(item)}
    return kept


def _joined(chain: _Chain) -> str:
    keys: list[str] = []
    length = 0
    while chain is not None and length <= MAX_NAME:  # longer names are refused anyway
        chain, key = chain
        keys.append(key)
        length += len(key) + 1
    return ".".join(reversed(keys))


def _children(
    found: dict[str, object] | list[object] | tuple[object, ...] | Inert,
) -> list[tuple[str, object]]:
    if isinstance(found, dict):  # a module's own dictionaries are no part of a parameter's name
        return [
            ("" if key in _MODULE_PARTS else key, child)
            for key, child in found.items()
            if isinstance(child, _KEPT)
        ]
    if isinstance(found, Inert):
        state = found.state[0] if isinstance(found.state, tuple) and found.state else found.state
        own = _children(state) if isinstance(state, dict) else [("", state)]
        return [*found.mapping.items(), *own, *_numbered(found.items)]
    return _numbered(found)


def _numbered(items: list[object] | tuple[object, ...]) -> list[tuple[str, object]]:
    """Containers and tensors of a list, by position; plain values are left out."""
    return [(str(index), item) for index, item in enumerate(items) if isinstance(item, _KEPT)]


def _holds_numbers(found: Inert) -> bool:
    made_by = found.maker
    return is_array(found) or (
        isinstance(made_by, Global)
        and made_by.module == "torch._utils"
        and "tensor" in made_by.name
    )


def _is_setting(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < 1 << 63
    if isinstance(value, str):
        return len(value) <= _LONGEST_SETTING and value.isprintable()
    return isinstance(value, float)
