"""Models on the Hugging Face Hub: only the table's bytes are fetched, at a fixed commit."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from posviz.errors import DamagedError, SourceError
from posviz.sources import folders
from posviz.sources.cache import RangeCache
from posviz.sources.folders import FileSet
from posviz.sources.indexes import read_index
from posviz.sources.local import open_folder
from posviz.sources.opening import Origin, open_files, worth_opening
from posviz.sources.presets import PRESETS
from posviz.sources.ranges import RemoteFile
from posviz.sources.readers import LocalFile, Traffic
from posviz.sources.repository import Repository, listing, locate, no_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.sources.access import Access
    from posviz.sources.checkpoint import Checkpoint
    from posviz.sources.repository import Listed

_REF = re.compile(r"hub:([^@]+)(?:@(.+))?")
_ID = re.compile(r"(?:[\w][\w.-]{0,95}/)?[\w][\w.-]{0,95}", re.ASCII)
_CACHED = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def is_id(text: str) -> bool:
    """Whether a text can be the id of a repository of the Hub."""
    return _ID.fullmatch(text) is not None and ".." not in text and "--" not in text


def open_hub(ref: str, access: Access) -> Checkpoint:
    """The checkpoint of a Hub model: ``hub:OWNER/NAME``, ``hub:OWNER/NAME@REVISION``, a preset.

    The Hub's own cache on this machine is used first, then the network.

    Raises
    ------
    SourceError
        No such model, revision or rights, no network, or nothing readable in it.
    """
    repository = repository_of(ref, access)
    name = repository.id.rpartition("/")[2]
    local = _snapshot(repository)
    if local is not None:
        return open_folder(local, Origin(ref, "hub", name, revision=local.name))
    traffic = Traffic()
    commit, files, warning = listing(repository, traffic)

    # What a token opened is never kept, so that no other visitor can be shown it.
    kept = access.cache_folder() / "hub" if access.token is False else None
    found = files_of(repository, commit, files, traffic, kept=kept)
    weights = folders.choose(found)
    first = worth_opening(found, weights)[:1]
    wanted = [path for path in (weights.config, *first) if path is not None]
    with ThreadPoolExecutor(max_workers=2) as pool:  # config.json travels beside the header
        list(pool.map(lambda path: found.open(path).read_at(0, min(1, files[path].size)), wanted))
    origin = Origin(ref, "hub", name, traffic, commit)
    checkpoint = open_files(found, origin, weights)
    if warning is None:
        return checkpoint
    return replace(checkpoint, warnings=(warning, *checkpoint.warnings))


def files_of(
    repository: Repository,
    commit: str,
    files: Mapping[str, Listed],
    traffic: Traffic,
    *,
    kept: Path | None = None,
) -> FileSet:
    """The files of a model on the Hub, each read range by range.

    Parameters
    ----------
    repository : Repository
    commit : str
    files : mapping from name to Listed
    traffic : Traffic
        Counts what is read.
    kept : Path or None
        The folder that keeps ranges which have been read.
    """

    @cache
    def reader(path: str) -> RemoteFile:
        key = f"{repository.endpoint} {repository.id} {commit} {path}"
        return RemoteFile(
            path.rpartition("/")[2],
            files[path].size,
            lambda: locate(repository, commit, path, files[path], traffic),
            traffic,
            RangeCache(kept, key) if kept is not None else None,
        )

    return FileSet(tuple(files), reader, repository.id, lambda path: files[path].size, remote=True)


def repository_of(ref: str, access: Access) -> Repository:
    """The repository that a reference or preset names; raises SourceError where none can be."""
    if ref in PRESETS:
        return Repository(PRESETS[ref].ref, "main", access)
    found = _REF.fullmatch(ref)
    if found is None:
        raise SourceError(
            f"{ref} names no Hub model; write hub:OWNER/NAME or hub:OWNER/NAME@REVISION."
        )
    if not is_id(found[1]):
        raise SourceError(no_id(found[1]))
    return Repository(found[1], found[2] or "main", access)


def on_this_machine(ref: str, access: Access) -> Path | None:
    """The folder of a Hub model in the Hub's own cache, if its weights are there; asks no network.

    Raises
    ------
    SourceError
        The reference cannot be the name of a Hub model.
    """
    return _snapshot(repository_of(ref, access))


def _snapshot(repository: Repository) -> Path | None:
    """The folder of this model in the Hub's own cache on this machine, if its weights are there."""
    if not repository.access.local_paths or repository.access.endpoint is not None:
        return None
    from huggingface_hub import try_to_load_from_cache

    for name in _CACHED:
        found = try_to_load_from_cache(repository.id, name, revision=repository.revision)
        if not isinstance(found, str):
            continue
        folder = Path(found).parent
        root = repository.access.local_root
        if root is not None and not folder.resolve().is_relative_to(root.resolve()):
            continue  # private models may lie there, which this visitor must not see
        if name.endswith(".index.json"):
            try:
                named = set(read_index(LocalFile(Path(found).resolve(), Traffic())).values())
            except DamagedError:
                continue  # what else lies there, or the Hub, may be sound
            if not all((folder / file).exists() for file in named):
                continue
        return folder
    return None
