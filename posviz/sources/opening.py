"""From a set of files to a Checkpoint: weights chosen, opened, investigated."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import adapters, configs, detective, folders, layouts, ownnames, shards
from posviz.sources.checkpoint import Checkpoint, listed
from posviz.sources.formats.tensors import Entry, TensorFile
from posviz.sources.parts import Span, read_part
from posviz.sources.readers import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.folders import FileSet, Weights
    from posviz.sources.readers import Reader

BESIDE_LIMIT = 64 << 20
"""Bytes of a file beside the weights: the largest tokenizers have half of it."""


@dataclass(frozen=True)
class Origin:
    """Who asked for what: the parts of a checkpoint that its files do not say.

    Parameters
    ----------
    ref, source, name : str
        As in Checkpoint.
    traffic : Traffic
        Counts what the readers read.
    revision : str or None
    """

    ref: str
    source: str
    name: str
    traffic: Traffic = field(default_factory=Traffic)
    revision: str | None = None


def open_files(files: FileSet, origin: Origin, weights: Weights | None = None) -> Checkpoint:
    """The checkpoint that a set of files holds.

    Raises
    ------
    SourceError
        No weights, or weights that cannot be read.
    """
    alone = weights is not None and len(weights.files) == 1  # it was named, and not found
    files, looked_into = _noting(files)
    weights = weights or folders.choose(files)
    config, doubts = configs.config_of(files, weights.config) if weights.config else (None, ())
    opened, broken = shards.open_sound(files, worth_opening(files, weights))
    by_name = _entries(opened, weights)
    entries = tuple(by_name.values())
    holders = {posixpath.basename(name): file for name, file in opened.items()}
    faults = {posixpath.basename(name): fault for name, fault in broken.items()}
    own = next(iter(opened.values())) if opened else None
    if config is None and own is not None and own.config:
        config = dict(own.config)
    if own is not None and own.bare and not any(layouts.rule(entry.name) for entry in entries):
        config = None  # a table without a name may come from anywhere
    warnings = [*weights.warnings, *doubts, *shards.about(broken, weights)]
    warnings += [text for file in opened.values() for text in file.warnings]
    warnings += _repeated(opened)

    def holder(entry: Entry) -> TensorFile:
        file = holders.get(entry.file)
        if file is None:
            if entry.file in faults:
                raise SourceError(
                    f"{entry.name} lies in a file that cannot be read. {faults[entry.file]}"
                )
            raise SourceError(
                f"{entry.name} lies in {entry.file}, which was not opened. Open that file itself."
            )
        return file

    def read(entry: Entry) -> NDArray[np.float32]:
        return holder(entry).read_entry(entry)

    def part(name: str, rows: Span, columns: Span | None) -> NDArray[np.float32]:
        entry = by_name[name]
        return read_part(holder(entry), entry, rows, columns, scattered=not files.remote)

    case = detective.Case(
        entries,
        config,
        read,
        remote=files.remote,
        offset_rows=own is None or own.format != "gguf",
        bare=own is not None and own.bare,
        metadata=own.metadata if own is not None else {},
    )
    found = detective.investigate(case)
    if not found.tables:
        found = _explained(found, files, weights, entries, alone=alone, broken=broken)
    elif adapters.is_adapter(weights, entries):
        said = adapters.with_table(files, weights)
        found = replace(found, warnings=(*found.warnings, said))
    counted = {*weights.files, *filter(None, (weights.index,))} - {*broken} | {*looked_into}
    return Checkpoint(
        ref=origin.ref,
        source=origin.source,
        name=origin.name,
        format=_format(own, weights),
        model_type=configs.model_type(config),
        config=config,
        entries=entries,
        tables=found.tables,
        scheme=found.scheme,
        message=found.message,
        warnings=(*warnings, *found.warnings),
        size=sum(files.size(name) for name in counted),
        read_entry=lambda name: read(by_name[name]),
        read_table=lambda chosen: detective.read_table(chosen, case),
        by_hand=lambda parameter: detective.by_hand(parameter, case),
        read_block=part,
        read_beside=lambda name: _beside(files, weights, name),
        revision=origin.revision,
        traffic=origin.traffic,
        notes=weights.notes,
    )


def _noting(files: FileSet) -> tuple[FileSet, list[str]]:
    """The same files, and the names of those that will have been opened."""
    names: list[str] = []

    def noted(name: str) -> Reader:
        reader = files.open(name)
        names.append(name)
        return reader

    return replace(files, open=noted), names


def _explained(
    found: detective.Findings,
    files: FileSet,
    weights: Weights,
    entries: tuple[Entry, ...],
    *,
    alone: bool,
    broken: Mapping[str, str],
) -> detective.Findings:
    """Findings without a table, once what the files are is known beside what is in them.

    Raises
    ------
    SourceError
        A folder or repository holds nothing but an adapter.
    """
    if adapters.is_adapter(weights, entries):
        said = adapters.without_table(files, weights, entries)
        if not alone:
            raise SourceError(said)
        return replace(found, message=said)
    said_so = shards.elsewhere(weights, broken)
    if said_so is None and found.scheme == "unknown":
        said_so = shards.perhaps_elsewhere(weights, broken)
    return found if said_so is None else replace(found, message=said_so)


def _beside(files: FileSet, weights: Weights, name: str) -> bytes | None:
    """A small file that lies in the folder of the weights, such as a tokenizer; None without."""
    path = posixpath.join(posixpath.dirname(weights.files[0]), name)
    if path not in files.names or files.size(path) > BESIDE_LIMIT:
        return None
    return files.open(path).read_at(0, files.size(path))


def worth_opening(files: FileSet, weights: Weights) -> list[str]:
    """All weight files; of a remote model with an index, only those that may hold a table."""
    if not files.remote or weights.weight_map is None:
        return list(weights.files)
    tensors = weights.weight_map.items()
    holding = {file for tensor, file in tensors if layouts.rule(tensor)}
    if not holding:
        holding = {file for tensor, file in tensors if ownnames.speaks_of_positions(tensor)}
        holding |= {*weights.files} - {*weights.weight_map.values()}
    return [name for name in weights.files if name in holding]


def _entries(opened: Mapping[str, TensorFile], weights: Weights) -> dict[str, Entry]:
    """Every tensor by name, of the first file that holds it; unopened shards give names only."""
    found: dict[str, Entry] = {}
    for file in opened.values():
        for entry in file.entries:
            found.setdefault(entry.name, entry)
    for tensor, name in (weights.weight_map or {}).items():
        if name not in opened and name in weights.files and tensor not in found:
            found[tensor] = Entry(tensor, None, None, None, posixpath.basename(name))
    return found


def _repeated(opened: Mapping[str, TensorFile]) -> list[str]:
    """The sentence about tensors that several files of one model hold."""
    if len(opened) < 2:
        return []
    seen: set[str] = set()
    twice = []
    for file in opened.values():
        names = {entry.name for entry in file.entries}
        twice += sorted(seen & names)
        seen |= names
    if not twice:
        return []
    return [f"Several of the files hold {listed(twice)}; that of the first file is shown."]


def _format(file: TensorFile | None, weights: Weights) -> str:
    if file is None:
        return "safetensors-sharded" if weights.files[0].endswith(".safetensors") else "pytorch-zip"
    sharded = weights.weight_map is not None or len(weights.files) > 1
    return "safetensors-sharded" if sharded and file.format == "safetensors" else file.format
