"""Models in several numbered files: which belong together, and where a missing table may lie."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.sources import layouts
from posviz.sources.formats.tensors import brief
from posviz.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.sources.folders import Weights

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


def elsewhere(weights: Weights) -> str | None:
    """The sentence for a table that lies in a missing file; None where none is known to."""
    for tensor, file in (weights.weight_map or {}).items():
        if file not in weights.files and layouts.rule(tensor) is not None:
            return (
                f"The position table {brief(tensor)} lies in {brief(posixpath.basename(file))}, "
                f"which is missing. Add it."
            )
    return None


def perhaps_elsewhere(weights: Weights) -> str | None:
    """The sentence for files that are only some of those of a model; None where all are there."""
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
