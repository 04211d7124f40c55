"""config.json: the key that counts the positions of a table, and its new value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posviz.export.limits import JSON, Lengths, follow, limits

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

    def count(self, n_positions: int, offset: int) -> int:
        """What the key says of a table with so many positions."""
        return n_positions + (offset if self.counts_offset else 0)

    def is_same(self, other: object) -> bool:
        """Whether two tables are counted by one number, each in its own way."""
        return isinstance(other, LengthKey) and (self.part, self.key) == (other.part, other.key)


def length_key(suspect: Suspect, n_positions: int, config: JSON) -> LengthKey | None:
    """The key that counts a table's positions, or None where config.json has none.

    Of an architecture that the catalogue knows, only the key that its class reads; of any other,
    one of the usual names that holds this very number.

    Parameters
    ----------
    suspect : Suspect
        The table's tensor, examined under this very ``config``.
    n_positions : int
        As it is now.
    config : dict
    """
    known = suspect.known
    if known is not None and "*" not in known.types:
        if known.length == "-":
            return None
        key, _, how = known.length.partition(":")
        chain = suspect.chain or (config,)
        # Where a part leaves the key out, its class has a default: the closest part gets the key.
        holder = next((part for part in chain if part.get(key) is not None), chain[0])
        return LengthKey(path_of(config, holder), key, how == "stored")
    lengths = Lengths(n_positions, n_positions, suspect.n_rows - n_positions)
    for part in suspect.chain:
        for limit in limits(FILE):
            value = part.get(limit.key)
            if limit.rule == "same" and lengths.swapped(value) is not None:
                return LengthKey(path_of(config, part), limit.key, value != n_positions)
    return None


def set_length(config: JSON, key: LengthKey, lengths: Lengths) -> list[str]:
    """Write the new length into a config, under every key of that part which held the old one.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    for path in (key.part, *twin(config, key.part)):
        part = at(config, path)
        new = lengths.new + (lengths.offset if key.counts_offset else 0)
        before = part.get(key.key, "its default")
        if before != new:
            said.append(f"{FILE}: {'.'.join((*path, key.key))} from {before} to {new}")
            part[key.key] = new
        others = {name: value for name, value in part.items() if name != key.key}
        inside = f"{FILE}: {'.'.join((*path, ''))}"
        said += [line.replace(f"{FILE}: ", inside, 1) for line in follow(FILE, others, lengths)]
        part |= others
    return said


def path_of(config: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a part of the config lies in it; found by identity, since equal parts may repeat."""
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), config)]
    for path, found in waiting:
        if found is part:
            return path
        waiting += [((*path, key), sub) for key, sub in found.items() if isinstance(sub, dict)]
    raise AssertionError("the part was taken from this config")


def at(config: JSON, path: tuple[str, ...]) -> JSON:
    """The part of a config at a path."""
    for key in path:
        config = config[key]
    return config


def twin(config: JSON, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Of CLIP, ``text_config_dict`` beside ``text_config``: where it is, its values win."""
    if not path:
        return []
    beside = (*path[:-1], f"{path[-1]}_dict")
    return [beside] if isinstance(at(config, path[:-1]).get(beside[-1]), dict) else []
