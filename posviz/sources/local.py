"""Checkpoints on this machine and in uploads: a file, a folder, or files held in memory."""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import folders
from posviz.sources.access import Access, safe_join
from posviz.sources.checkpoint import listed
from posviz.sources.folders import FileSet, Weights, config_file
from posviz.sources.opening import Origin, open_files
from posviz.sources.readers import LocalFile, MemoryFile, Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.sources.checkpoint import Checkpoint

_DEEPEST = 2  # sub-folders below the opened folder that are looked into
_MOST_FILES = 10_000
_BESIDE = ("config.json", "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt",
           "tokenizer_config.json", "adapter_config.json")  # fmt: skip
_NUMBER = re.compile(r"[-_]\d{5}(?:-of-\d{5})?(?:\.weights)?$")  # of one file of several
_NAMELESS = {"model", "pytorch_model", "tf_model", "ckpt", "last", "best"}


def open_path(ref: str, access: Access) -> Checkpoint:
    """The checkpoint at a path: one file, or a folder with its config.json.

    Raises
    ------
    SourceError
        The path may not be opened, or holds no checkpoint.
    FileNotFoundError
        Nothing is there; the caller knows what else the reference could have meant.
    """
    path = access.local_path(ref)
    if path.name.endswith(".index.json"):
        path = path.parent
    if path.is_dir():
        return open_folder(path, Origin(ref, "file", path.name))
    return _open_file(path, access.absolute(ref), ref, access)


def open_folder(path: Path, origin: Origin) -> Checkpoint:
    """The checkpoint that a folder of this machine holds."""
    return open_files(folder_files(path, origin.traffic), origin)


def folder_files(path: Path, traffic: Traffic, *, only: tuple[str, ...] | None = None) -> FileSet:
    """The files of a folder of this machine, and of the folders in it; or some of them."""

    @cache
    def reader(name: str) -> LocalFile:
        return LocalFile(safe_join(path, name), traffic, name=posixpath.basename(name))

    names = _listing(path) if only is None else only
    return FileSet(names, reader, path.name, lambda name: reader(name).size)


def _open_file(path: Path, named: Path, ref: str, access: Access) -> Checkpoint:
    """One file; `named` is the path before links were followed, as in the Hub's own cache."""
    paths = {named.name: path}
    for beside in _BESIDE:  # without a config, names and shapes decide
        with suppress(SourceError, FileNotFoundError):
            paths[beside] = access.local_path(str(named.parent / beside))
    config = "config.json" if "config.json" in paths and named.name != "config.json" else None
    short = named.parent.name if named.stem in _NAMELESS else named.stem
    origin = Origin(ref, "file", short or named.stem)

    @cache
    def reader(name: str) -> LocalFile:
        return LocalFile(paths[name], origin.traffic, name=name)

    files = FileSet(tuple(paths), reader, named.name, lambda name: reader(name).size)
    return open_files(files, origin, Weights((named.name,), config))


def open_upload(files: Mapping[str, bytes | IO[bytes]]) -> Checkpoint:
    """The checkpoint in uploaded files: weights, and config.json or an index where given.

    Parameters
    ----------
    files : mapping
        From file names to their content: bytes, or a seekable binary stream.

    Raises
    ------
    SourceError
        No weights, or weights that cannot be read.
    """
    return open_files(*uploaded(files))


def uploaded(
    files: Mapping[str, bytes | IO[bytes]],
) -> tuple[FileSet, Origin, Weights | None]:
    """Uploaded files as a set, and which of them are the weights where that is plain.

    Raises
    ------
    SourceError
        Nothing was uploaded.
    """
    traffic = Traffic()
    readers: dict[str, MemoryFile] = {}
    for given, content in files.items():
        name = _uploaded_name(given)
        readers[name] = MemoryFile(Path(name).name, content, traffic)
    if not readers:
        raise SourceError("Nothing was uploaded. Choose a checkpoint file.")
    weights = [name for name in readers if not name.lower().endswith(".json")]
    if len(weights) > 1:  # a whole folder was dropped, with its notes and vocabularies
        weights = [name for name in weights if folders.is_weights(name)] or weights
    first = Path((weights or list(readers))[0])
    found = FileSet(
        tuple(readers), readers.__getitem__, first.name, lambda name: readers[name].size
    )
    chosen = None
    if len(weights) == 1:  # whatever its name, it is what the person wants to see
        chosen = Weights((weights[0],), config_file(tuple(readers)))
    elif weights:
        chosen = folders.choose(found)
        first = Path(chosen.files[0])
        left = sorted({*weights} - {*chosen.files})
        if left:
            many = (
                f"{first.name} is open. Uploaded with it and not open: {listed(left)}. Pick one of "
                f"several models at a time."
            )
            others = [said for said in chosen.warnings if not any(name in said for name in left)]
            chosen = replace(chosen, warnings=(many, *others), notes=())
    several = chosen is not None and len(chosen.files) > 1
    name = _NUMBER.sub("", first.stem) if several else first.stem
    origin = Origin(f"upload:{first.name}", "upload", name, traffic)
    return found, origin, chosen


def _uploaded_name(name: str) -> str:
    """A file name as it may be said and looked up: relative, short, and made of what prints."""
    plain = "".join(char if char.isprintable() else "�" for char in name.replace("\\", "/"))
    words = [word for word in plain.split("/") if word.strip(". ")]
    return (
        "/".join(word[:50] + word[-150:] if len(word) > 200 else word for word in words) or "file"
    )


def _listing(path: Path) -> tuple[str, ...]:
    """Regular files of a folder and the folders in it, as relative names."""
    names: list[str] = []
    waiting = [""]  # folders to look into, as relative names that end with a slash
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{path}/{folder}") as found:
                for entry in found:
                    if not _is_folder(entry):
                        names.append(folder + entry.name)
                    elif folder.count("/") < _DEEPEST and not _is_aside(entry):
                        waiting.append(f"{folder}{entry.name}/")
        except OSError as err:
            if not folder:  # one inside is passed over
                raise SourceError(f"{path.name} could not be opened: {err.strerror}.") from err
        if len(names) > _MOST_FILES:
            raise SourceError(
                f"{path.name} holds more than {_MOST_FILES:,} files. Open the folder of one model."
            )
    return tuple(sorted(names))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to where this process may not look, hides no other file
        return False


def _is_aside(folder: os.DirEntry[str]) -> bool:
    """Whether a folder is hidden, or lies elsewhere."""
    return folder.name.startswith(".") or folder.is_symlink()
