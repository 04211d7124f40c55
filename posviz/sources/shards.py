"""Where the table of a model may be when the files that are there do not hold it."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from posviz.sources import layouts
from posviz.sources.formats.tensors import brief
from posviz.wording import counted

if TYPE_CHECKING:
    from posviz.sources.folders import Weights

_NUMBERED = re.compile(r".*-(\d{5})-of-(\d{5})\.[a-z]+", re.IGNORECASE)


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
    number = _NUMBERED.fullmatch(posixpath.basename(weights.files[0]))
    count = int(number[2]) if number else 0
    if weights.weight_map is not None or count <= len(weights.files):
        return None
    there = brief(posixpath.basename(weights.files[0]))
    if len(weights.files) > 1:
        there = f"{there} and {counted(len(weights.files) - 1, 'other file')}"
    verb = "is" if len(weights.files) == 1 else "are"
    return (
        f"No position table was found: {there} {verb} {len(weights.files):,} of the {count:,} "
        f"files of a model. Open their folder, or add the others."
    )
