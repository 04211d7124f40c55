"""Models in several numbered files: which belong together, and where a missing table may lie."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import layouts
from posviz.sources.formats import open_tensors
from posviz.sources.formats.tensors import brief
from posviz.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from posviz.sources.folders import FileSet, Weights
    from posviz.sources.formats.tensors import TensorFile

_NUMBERED = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\.[\w.]+)")


@dataclass(frozen=True)
class Numbered:
    """What the name of one of several files says; equal for all files of one model.

    Parameters
    ----------
    stem, ending : str
        What stands before and after the numbers.
    number, count : int
        Which file it is, from 1, and of how many.
    """

    stem: str
    ending: str
    number: int = field(compare=False)
    count: int


def numbered(name: str) -> Numbered | None:
    """The place of a file among several, by its name (``model-00001-of-00004.safetensors``)."""
    found = _NUMBERED.fullmatch(posixpath.basename(name))
    return Numbered(found[1], found[4], int(found[2]), int(found[3])) if found else None


def these(files: Sequence[str]) -> str:
    """Some files in words, by the first of them."""
    first = brief(posixpath.basename(files[0]))
    return first if len(files) == 1 else f"{first} and {counted(len(files) - 1, 'other file')}"


def open_sound(
    files: FileSet, names: Sequence[str]
) -> tuple[dict[str, TensorFile], dict[str, str]]:
    """The weight files that can be read, and what is wrong with the others, each by name.

    Raises
    ------
    SourceError
        None can be read; or a request failed, which says nothing of the file.
    """
    opened: dict[str, TensorFile] = {}
    broken: dict[str, SourceError] = {}
    for name in names:
        try:
            opened[name] = open_tensors(files.open(name))
        except SourceError as err:
            if files.remote:
                raise
            broken[name] = err
    if broken and not opened:
        raise next(iter(broken.values()))
    return opened, {name: str(err) for name, err in broken.items()}


def about(broken: Mapping[str, str], weights: Weights) -> list[str]:
    """A warning for each file that cannot be read: what is wrong, and what it takes along."""
    said = []
    for name, fault in broken.items():
        tables = _tables_in(name, weights)
        if tables:
            what = f"The position table {brief(tables[0])} lies in it."
        elif weights.weight_map is None or name not in weights.weight_map.values():
            what = "The others were read; it may hold a position table too."
        else:
            what = "The others were read; by the index no position table lies in it."
        said.append(f"{fault} {what}")
    return said


def elsewhere(weights: Weights, broken: Mapping[str, str]) -> str | None:
    """The sentence for a table in a file that is missing or cannot be read; None without one."""
    for file in dict.fromkeys((weights.weight_map or {}).values()):
        tables = _tables_in(file, weights)
        if tables and (file in broken or file not in weights.files):
            is_what = "cannot be read. Mend it" if file in broken else "is missing. Add it"
            return (
                f"The position table {brief(tables[0])} lies in "
                f"{brief(posixpath.basename(file))}, which {is_what}."
            )
    return None


def _tables_in(file: str, weights: Weights) -> list[str]:
    """The tensors that an index sees in a file and that have the name of a position table."""
    tensors = (weights.weight_map or {}).items()
    return [tensor for tensor, holder in tensors if holder == file and layouts.rule(tensor)]


def perhaps_elsewhere(weights: Weights, broken: Mapping[str, str]) -> str | None:
    """The sentence for files that are only some of those of a model; None where all are there."""
    listed = (weights.weight_map or {}).values()
    doubtful = [name for name in broken if name not in listed]
    if doubtful:
        return (
            f"No position table was found in the files that can be read. {these(doubtful)} cannot, "
            f"and may hold it: download or save {'it' if len(doubtful) == 1 else 'them'} again."
        )
    first = numbered(weights.files[0])
    count = first.count if first else 0
    if weights.weight_map is not None or count <= len(weights.files):
        return None
    there = these(weights.files)
    verb = "is" if len(weights.files) == 1 else "are"
    return (
        f"No position table was found: {there} {verb} {len(weights.files):,} of the {count:,} "
        f"files of a model. Open their folder, or add the others."
    )
