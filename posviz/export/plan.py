"""A checkpoint with another table: every file and every change of it, before one is written."""

from __future__ import annotations

import copy
import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import PosvizError, SourceError
from posviz.export.card import card
from posviz.export.lengths import FILE as CONFIG
from posviz.export.lengths import set_image_size, set_length
from posviz.export.limits import JSON, Lengths, follow, follow_image, limits
from posviz.export.stored import Member, Tensor, grown, is_buffer, rewritten
from posviz.export.targets import Governed, governed
from posviz.sources.companions import beside, left_out
from posviz.sources.configs import read_config
from posviz.sources.formats.tensors import shape_text
from posviz.sources.opening import BESIDE_LIMIT
from posviz.sources.readers import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from posviz.export.recipe import Recipe
    from posviz.interpolation import Extended
    from posviz.sources.bundle import Bundle

CARD = "README.md"
_INDEX = "model.safetensors.index.json"
_NAMED = 3  # dropped buffers that a line names


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
    config = copy.deepcopy(dict(bundle.checkpoint.config or {})) if bundle.weights.config else {}
    found = governed(bundle, recipe, config, parameter)
    weights, said = _weights(bundle, found)
    if bundle.weights.config:
        lines, images = _configure(config, found, bundle.checkpoint.name)
        said += lines
    else:
        images = None
    companions, lines = _companions(bundle, found.lengths, images, is_image=found.is_image)
    said += lines
    out = left_out(bundle.files.names, bundle.weights)
    names = [name for name in beside(bundle.files.names, bundle.weights) if not _index(name)]
    kept: list[Member] = []
    for name in names:
        if name == bundle.weights.config:
            kept.append(Member.of(name, _written(config)))
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
    gone = tuple(f"{name} {why}" for name, why in out.items() if not _index(name))
    text = card(bundle, recipe, found.extended, changed, gone, _card_before(bundle))
    members = (Member.of(CARD, text.encode()), *kept, *weights)
    length = found.extended.table.n_positions
    return Plan(
        f"{_plain(bundle.checkpoint.name)}-{length}", members, changed, gone, found.extended
    )


def _weights(bundle: Bundle, found: Governed) -> tuple[list[Member], list[str]]:
    """The weight files with their new tensors, the index of several, and what changed."""
    note = found.extended.table.provenance.note or ""
    folder = posixpath.dirname(bundle.weights.files[0])
    members, said, weight_map, total = [], [], {}, 0
    for old_name, file in bundle.opened.items():
        new_name = _weight_name(old_name, bundle)
        base = posixpath.basename(new_name)
        replaced: dict[str, Tensor] = {}
        dropped: set[str] = set()
        for entry in file.entries:
            if entry.name in found.tensors:
                replaced[entry.name] = found.tensors[entry.name]
                was, now = shape_text(entry.shape or ()), shape_text(replaced[entry.name].shape)
                said.append(f"{base}: {entry.name} from {was} to {now}")
            elif kind := is_buffer(entry, found.parent, found.lengths):
                if kind != "mask" and _is_counted(file.read_entry(entry).reshape(-1), kind):
                    replaced[entry.name] = grown(entry, kind, found.lengths)
                    was, now = shape_text(entry.shape or ()), shape_text(replaced[entry.name].shape)
                    said.append(f"{base}: {entry.name} from {was} to {now}")
                else:
                    dropped.add(entry.name)
        if dropped:
            named = ", ".join(sorted(dropped)[:_NAMED]) + (", …" if len(dropped) > _NAMED else "")
            said.append(
                f"{base}: {len(dropped)} buffers of the old length left out ({named}); models "
                f"make them anew"
            )
        if replaced or dropped or file.format != "safetensors":
            members.append(rewritten(file, new_name, replaced, dropped, note))
        else:
            reader = bundle.files.open(old_name)
            members.append(Member(new_name, reader.size, lambda reader=reader: pieces(reader)))  # type: ignore[misc]
        if file.format != "safetensors":
            said.append(f"{base}: written in place of {posixpath.basename(old_name)}, a pickle")
        for entry in file.entries:
            if entry.name not in dropped:
                weight_map[entry.name] = base
                new = replaced.get(entry.name)
                total += len(new.content) if new else entry.nbytes or 0
    if len(members) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        name = next((name for name in bundle.files.names if _index(name)), _INDEX)
        if not name.endswith(".safetensors.index.json"):
            name = _INDEX
        members.append(Member.of(posixpath.join(folder, posixpath.basename(name)), _written(index)))
    return members, said


def _configure(
    config: JSON, found: Governed, name: str
) -> tuple[list[str], tuple[tuple[int, int], tuple[int, int]] | None]:
    """config.json's own changes, and the picture's size before and after."""
    if found.is_image:
        old, new = found.grids
        said, before, after = set_image_size(config, found.suspect, old, new, name)
        if before is None:
            said = [f"{CONFIG}: no key for the size of a picture is known, so none was changed"]
        return said, None if before is None else (before, after)
    if found.key is None:
        return [f"{CONFIG}: no key that counts positions is known, so none was changed"], None
    return set_length(config, found.key, found.lengths), None


def _companions(
    bundle: Bundle,
    lengths: Lengths,
    images: tuple[tuple[int, int], tuple[int, int]] | None,
    *,
    is_image: bool,
) -> tuple[dict[str, bytes], list[str]]:
    """The JSON files beside the weights that hold a limit which had to follow."""
    files = {limit.file for limit in limits()} - {CONFIG}
    written, said = {}, []
    for name in bundle.files.names:
        base = posixpath.basename(name)
        if base not in files or bundle.files.size(name) > BESIDE_LIMIT:
            continue
        reader = bundle.files.open(name)
        try:
            content = read_config(reader, limit=BESIDE_LIMIT)
        except SourceError:  # whatever it is, it holds no limit that is known
            continue
        if is_image:
            lines = follow_image(base, content, *images) if images else []
        else:
            lines = follow(base, content, lengths)
        if lines:
            written[name] = _written(content)
            folder = posixpath.dirname(name)
            said += [f"{folder}/{line}" if folder else line for line in lines]
    return written, said


def _card_before(bundle: Bundle) -> str:
    if CARD not in bundle.files.names:
        return ""
    reader = bundle.files.open(CARD)
    return reader.read_at(0, min(reader.size, BESIDE_LIMIT)).decode("utf-8", "replace")


def _is_counted(values: Iterable[float], kind: str) -> bool:
    """Whether a buffer holds what a new one would: 0, 1, 2, …, or zeros."""
    return all(value == (place if kind == "ids" else 0) for place, value in enumerate(values))


def _weight_name(name: str, bundle: Bundle) -> str:
    """A weight file's name as safetensors, under which loaders look for it."""
    if bundle.opened[name].format == "safetensors":
        return name
    folder, base = posixpath.split(name)
    shard = re.search(r"-\d{5}-of-\d{5}", base)
    return posixpath.join(folder, f"model{shard[0] if shard else ''}.safetensors")


def _index(name: str) -> bool:
    return name.endswith(".index.json")


def _written(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "model"
