"""The weight files of a checkpoint with another table, and what changed in each."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.export.pickled import follow_settings, repickled, told
from posviz.export.stored import Member, Tensor, grown, is_buffer, is_made_anew, rewritten
from posviz.sources.formats.tensors import shape_text
from posviz.sources.readers import pieces
from posviz.sources.shards import numbered
from posviz.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.export.targets import Governed
    from posviz.sources.bundle import Bundle
    from posviz.sources.formats import TensorFile

INDEX = "model.safetensors.index.json"
_NAMED = 3  # dropped buffers that a line names


@dataclass
class _Change:
    """What becomes of one file's tensors."""

    replaced: dict[str, Tensor] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)


def weight_files(bundle: Bundle, found: Governed) -> tuple[list[Member], list[str]]:
    """The weight files with their new tensors, the index of several, and a line a change."""
    note = found.extended.table.provenance.note or ""
    members, said, weight_map, total = [], [], {}, 0
    for old_name, file in bundle.opened.items():
        stays = is_repickled(bundle, file)
        new_name = old_name if stays else as_safetensors(old_name, file)
        base = posixpath.basename(new_name)
        change = _changed(bundle, file, found, base)
        if stays:
            members.append(_repickled(file, new_name, found, change))
        elif change.replaced or change.dropped or file.format != "safetensors":
            members.append(rewritten(file, new_name, change.replaced, change.dropped, note))
        else:
            reader = bundle.files.open(old_name)
            members.append(Member(new_name, reader.size, lambda reader=reader: pieces(reader)))  # type: ignore[misc]
        said += change.said
        if not stays and file.format != "safetensors":
            said.append(f"{base}: written in place of {posixpath.basename(old_name)}, a pickle")
        for entry in file.entries:
            if entry.name not in change.dropped:
                weight_map[entry.name] = base
                new = change.replaced.get(entry.name)
                total += len(new.content) if new else entry.nbytes or 0
    if len(members) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        folder = posixpath.dirname(bundle.weights.files[0])
        members.append(Member.of(posixpath.join(folder, _index_name(bundle)), written(index)))
    return members, said


def is_repickled(bundle: Bundle, file: TensorFile) -> bool:
    """Whether a pickle is written as one again: loaders of its kind ask for that very file.

    Those are checkpoints of training code, with settings beside the weights, and bare weights
    without a config.json that transformers could read.
    """
    if file.outline is None:
        return False
    return not file.whole or not (bundle.weights.config or file.entries[0].file.endswith(".bin"))


def is_index(name: str) -> bool:
    """Whether a file says which weights lie in which file."""
    return name.endswith(".index.json")


def written(content: Mapping[str, object]) -> bytes:
    """A JSON file as the tools of the field write it."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _changed(bundle: Bundle, file: TensorFile, found: Governed, base: str) -> _Change:
    change = _Change()
    masks: dict[object, Tensor] = {}  # one for all layers
    for entry in file.entries:
        new = found.tensors.get(entry.name)
        kind = None if new else is_buffer(entry, found.parent, found.lengths)
        if kind and not (kind == "mask" and _leaves_masks_out(bundle, file)):
            new = grown(file, entry, kind, found.lengths, masks)
        if new is not None:
            change.replaced[entry.name] = new
            was, now = shape_text(entry.shape or ()), shape_text(new.shape)
            if was != now or entry.name in found.tensors:
                change.said.append(f"{base}: {entry.name} from {was} to {now}")
        elif kind:
            change.dropped.add(entry.name)
    if change.dropped:
        names = sorted(change.dropped)
        named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        change.said.append(
            f"{base}: {counted(len(names), 'buffer')} of the old length left out ({named}); models "
            f"make them anew"
        )
    return change


def _leaves_masks_out(bundle: Bundle, file: TensorFile) -> bool:
    """Whether the model's class makes its causal masks itself; they would take the most room."""
    by_transformers = bundle.weights.config is not None and not is_repickled(bundle, file)
    return by_transformers and is_made_anew(bundle.checkpoint.model_type)


def _repickled(file: TensorFile, name: str, found: Governed, change: _Change) -> Member:
    outline = file.outline() if file.outline else None
    assert outline is not None, "the bundle was checked"
    base = posixpath.basename(name)
    settings = follow_settings(outline, base, found.lengths)
    change.said += settings or [
        f"{base}: no setting that counts positions is known, so none was changed"
    ]
    change.said += told(outline, base)
    return repickled(file, outline, name, change.replaced, change.dropped)


def as_safetensors(name: str, file: TensorFile) -> str:
    """A weight file's name as safetensors, under which loaders look for it."""
    if file.format == "safetensors":
        return name
    folder, base = posixpath.split(name)
    place = numbered(base)
    shard = f"-{place.number:05}-of-{place.count:05}" if place else ""
    return posixpath.join(folder, f"model{shard}.safetensors")


def _index_name(bundle: Bundle) -> str:
    name = next((name for name in bundle.files.names if is_index(name)), INDEX)
    return posixpath.basename(name) if name.endswith(".safetensors.index.json") else INDEX
