"""A checkpoint with another table: every file and every change of it, before one is written."""

from __future__ import annotations

import copy
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import PosvizError, SourceError
from posviz.export.card import card
from posviz.export.lengths import FILE as CONFIG
from posviz.export.lengths import set_length
from posviz.export.limits import JSON, Lengths, Sizes, follow, limits
from posviz.export.sizes import SizeKey, set_size
from posviz.export.stored import Member
from posviz.export.targets import Governed, governed
from posviz.export.weights import is_index, weight_files, written
from posviz.sources.companions import beside, left_out
from posviz.sources.configs import read_config
from posviz.sources.opening import BESIDE_LIMIT
from posviz.sources.readers import pieces

if TYPE_CHECKING:
    from posviz.export.recipe import Recipe
    from posviz.interpolation import Extended
    from posviz.sources.bundle import Bundle

CARD = "README.md"


@dataclass(frozen=True, eq=False)
class Plan:
    """A checkpoint that can be written, to a folder or as a zip.

    Parameters
    ----------
    name : str
        For the file or folder.
    members : tuple of Member
        Every file, the small ones first.
    changed : tuple of str
        One line a change, ``FILE: WHAT from BEFORE to AFTER``.
    left_out : tuple of str
        Files of the source that have no place beside the new table, each with the reason.
    extended : Extended
        The table and how it was made.
    """

    name: str
    members: tuple[Member, ...]
    changed: tuple[str, ...]
    left_out: tuple[str, ...]
    extended: Extended

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(member.size for member in self.members)


def plan(bundle: Bundle, recipe: Recipe, *, parameter: str | None = None) -> Plan:
    """Everything that follows from giving one table of a checkpoint another length.

    Tables that the same key of config.json counts (a decoder's beside an encoder's) and copies of
    the table get the same recipe; buffers of the old length grow or go; limits follow.

    Parameters
    ----------
    bundle : Bundle
    recipe : Recipe
    parameter : str or None
        Which table; None for the one that opens.

    Raises
    ------
    SourceError
        The table is stored in a way that cannot be written, or the model cannot take the length.
    SettingError
        As :func:`posviz.interpolation.extend`.
    """
    config = copy.deepcopy(dict(bundle.checkpoint.config or {}))
    found = governed(bundle, recipe, config, parameter)
    weights, said = weight_files(bundle, found)
    sizes = None
    if bundle.weights.config:
        lines, sizes = _configure(config, found, bundle.checkpoint.name)
        said += lines
    companions, lines = _companions(bundle, found.lengths if found.grid_before is None else sizes)
    said += lines
    out = left_out(bundle.files.names, bundle.weights)
    names = [name for name in beside(bundle.files.names, bundle.weights) if not is_index(name)]
    kept: list[Member] = []
    for name in names:
        if name == bundle.weights.config:
            kept.append(Member.of(name, written(config)))
        elif name in companions:
            kept.append(Member.of(name, companions[name]))
        elif name != CARD:
            try:
                reader = bundle.files.open(name)
            except PosvizError as err:  # a pipe, or a link that leaves the folder
                out[name] = f"cannot be read: {err}"
                continue
            kept.append(Member(name, reader.size, lambda reader=reader: pieces(reader)))  # type: ignore[misc]
    changed = tuple(said)
    gone = tuple(f"{name} {why}" for name, why in out.items() if not is_index(name))
    text = card(bundle, recipe, found.extended, changed, gone, _card_before(bundle))
    members = (Member.of(CARD, text.encode()), *kept, *weights)
    length = found.extended.table.n_positions
    return Plan(
        f"{_plain(bundle.checkpoint.name)}-{length}", members, changed, gone, found.extended
    )


def _configure(config: JSON, found: Governed, name: str) -> tuple[list[str], Sizes | None]:
    """config.json's own changes, and the size of an image table's input before and after."""
    if isinstance(found.key, SizeKey):
        assert found.extended.table.grid is not None
        return set_size(config, found.key, found.suspect, found.extended.table.grid, name)
    if found.key is not None:
        return set_length(config, found.key, found.lengths), None
    what = "that counts positions" if found.grid_before is None else "for the size of a picture"
    return [f"{CONFIG}: no key {what} is known, so none was changed"], None


def _companions(
    bundle: Bundle, change: Lengths | Sizes | None
) -> tuple[dict[str, bytes], list[str]]:
    """The JSON files beside the weights that hold a limit which had to follow."""
    files = {limit.file for limit in limits()} - {CONFIG}
    written_anew: dict[str, bytes] = {}
    said: list[str] = []
    for name in bundle.files.names if change else ():
        base = posixpath.basename(name)
        if base not in files or bundle.files.size(name) > BESIDE_LIMIT:
            continue
        reader = bundle.files.open(name)
        try:
            content = read_config(reader, limit=BESIDE_LIMIT)
        except SourceError:  # whatever it is, it holds no limit that is known
            continue
        assert change is not None
        lines = follow(base, content, change)
        if lines:
            written_anew[name] = written(content)
            folder = posixpath.dirname(name)
            said += [f"{folder}/{line}" if folder else line for line in lines]
    return written_anew, said


def _card_before(bundle: Bundle) -> str:
    if CARD not in bundle.files.names:
        return ""
    reader = bundle.files.open(CARD)
    return reader.read_at(0, min(reader.size, BESIDE_LIMIT)).decode("utf-8", "replace")


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "model"
