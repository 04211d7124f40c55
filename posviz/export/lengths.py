"""config.json: the key that counts the positions of a table, and its new value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from posviz.errors import SourceError
from posviz.export.limits import JSON, Lengths, limits
from posviz.sources import configs

if TYPE_CHECKING:
    from posviz.sources.suspects import Suspect

FILE = "config.json"


@dataclass(frozen=True)
class LengthKey:
    """Where a config counts the positions of a table.

    Parameters
    ----------
    part : tuple of str
        Path of the part of the config, such as ``("text_config",)``; empty for the whole.
    key : str
    counts_offset : bool
        Whether the number counts offset rows too (RoBERTa's does, OPT's does not).
    """

    part: tuple[str, ...]
    key: str
    counts_offset: bool

    def __str__(self) -> str:
        return ".".join((*self.part, self.key))


def length_key(suspect: Suspect, n_positions: int, config: JSON) -> LengthKey | None:
    """The key that counts a table's positions, or None where config.json has none.

    Parameters
    ----------
    suspect : Suspect
        The table's tensor, examined under this very ``config``.
    n_positions : int
        As it is now.
    config : dict
    """
    known = suspect.known
    if known is not None and known.length != "-":
        key, _, how = known.length.partition(":")
        chain = suspect.chain or (config,)
        # Where a part leaves the key out, its class has a default: the closest part gets the key.
        holder = next((part for part in chain if part.get(key) is not None), chain[0])
        return LengthKey(_path(config, holder), key, how == "stored")
    lengths = Lengths(n_positions, n_positions, suspect.n_rows - n_positions)
    for part in suspect.chain:
        for limit in limits(FILE):
            value = part.get(limit.key)
            if limit.rule == "same" and lengths.swapped(value) is not None:
                return LengthKey(_path(config, part), limit.key, value != n_positions)
    return None


def set_length(config: JSON, key: LengthKey, lengths: Lengths) -> list[str]:
    """Write the new length into a config, under every key of that part which held the old one.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    for path in (key.part, *_twin(config, key.part)):
        part = _at(config, path)
        named = [limit.key for limit in limits(FILE) if limit.rule == "same"]
        for name in dict.fromkeys((key.key, *named)):
            new = lengths.swapped(part.get(name))
            if name == key.key:
                new = lengths.new + (lengths.offset if key.counts_offset else 0)
            if new is not None and part.get(name) != new:
                before = part.get(name, "its default")
                said.append(f"{FILE}: {'.'.join((*path, name))} from {before} to {new}")
                part[name] = new
    return said


def set_image_size(
    config: JSON, suspect: Suspect, old: tuple[int, int], new: tuple[int, int], name: str
) -> tuple[list[str], tuple[int, int] | None, tuple[int, int]]:
    """Write the new picture size of a grid into a config.

    Parameters
    ----------
    old, new : (int, int)
        Height and width of the grid, in patches.
    name : str
        Of the model, for messages.

    Returns
    -------
    list of str, (int, int) or None, (int, int)
        One line a change; height and width in pixels before (None where no key says) and after.

    Raises
    ------
    SourceError
        The architecture takes one side for both, and the new grid is no square.
    """
    if suspect.known is not None and suspect.known.grid == "wh":
        old, new = old[::-1], new[::-1]
    keys = {limit.key: limit for limit in limits(FILE) if limit.rule == "image"}
    for part in suspect.chain:
        patch = _pair(configs.value(suspect.chain, "patch_size"))
        for key, limit in keys.items():
            size = _pair(part.get(key))
            if size is None or patch is None:
                continue
            if (size[0] // patch[0], size[1] // patch[1]) != old:
                continue
            after = (new[0] * patch[0], new[1] * patch[1])
            square = after[0] == after[1]
            types = configs.types(suspect.chain, suspect.parts[0].name)
            if not square and not set(types[:1]) & set(limit.types):
                raise SourceError(
                    f"{name}: {types[0] if types else 'this architecture'} takes one {key} for "
                    f"height and width, so a grid of {new[0]} × {new[1]} has no place in its "
                    f"config.json. Choose a square grid, or save the table alone."
                )
            path = _path(config, part)
            said = []
            for place in (path, *_twin(config, path)):
                holder = _at(config, place)
                value = after[0] if square and type(part[key]) is int else list(after)
                said.append(
                    f"{FILE}: {'.'.join((*place, key))} from {holder.get(key, 'its default')} to "
                    f"{value}"
                )
                if place != path:
                    holder[key] = value
            cast("JSON", part)[key] = value
            return said, size, after
    return [], None, new


def _pair(value: object) -> tuple[int, int] | None:
    if type(value) is int and value > 0:
        return value, value
    if isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value):
        return value[0], value[1]
    return None


def _path(config: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a part of the config lies in it; found by identity, since equal parts may repeat."""
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), config)]
    for path, found in waiting:
        if found is part:
            return path
        waiting += [((*path, key), sub) for key, sub in found.items() if isinstance(sub, dict)]
    raise AssertionError("the part was taken from this config")


def _at(config: JSON, path: tuple[str, ...]) -> JSON:
    for key in path:
        config = config[key]
    return config


def _twin(config: JSON, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """CLIP's ``text_config_dict`` beside ``text_config``: where it is, its values win."""
    if not path:
        return []
    beside = (*path[:-1], f"{path[-1]}_dict")
    return [beside] if isinstance(_at(config, path[:-1]).get(beside[-1]), dict) else []
