"""What a format reader hands back: the tensors of one file, by name, read when asked for."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from posviz.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.formats.outline import Outline

MAX_TENSORS = 100_000  # the largest released models have fewer in all their files together
MAX_NAME = 1_000  # characters; real names stay far below 300
MAX_AXES = 32
_MAX_ELEMENTS = 1 << 56  # beyond any disk, and what NumPy can still count in bytes
_SHOWN = 120  # characters of a foreign name that a sentence repeats

_excerpt = reprlib.Repr()
_excerpt.maxstring = _excerpt.maxother = _excerpt.maxlong = 60
_excerpt.maxlist = _excerpt.maxtuple = 8


class Entry(NamedTuple):
    """One tensor of a checkpoint, as stored.

    Parameters
    ----------
    name : str
        Full dotted name, container keys included.
    shape : tuple of int or None
        Stored axes; None for a tensor of a shard that was not opened.
    dtype : str or None
        Stored type in safetensors spelling (``F32``, ``BF16``), or a GGUF type (``Q8_0``).
    nbytes : int or None
        Bytes the tensor takes in the file.
    file : str
        Base name of the file that holds it.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str | None
    nbytes: int | None
    file: str


@dataclass(frozen=True)
class TensorFile:
    """The tensors of one file.

    Parameters
    ----------
    format : str
        Key of FORMATS, as ``inspect`` prints it.
    entries : tuple of Entry
        In the file's own order.
    read_entry : function
        From an entry to its float32 values in the stored shape.
    config : mapping
        What the file itself says of the model (arguments beside the weights, GGUF keys).
    metadata : mapping
        Free text pairs of the header.
    warnings : tuple of str
        Full sentences a person should see.
    bare : bool
        Whether the file is nothing but an array, which is then the table whatever its name.
    read_span : function or None
        From an entry and two numbers to its elements from the first to before the second, row by
        row, as float32; None where only whole tensors are read.
    strips : bool
        Whether a few numbers of each of many rows cost hardly more than those numbers.
    stored : function or None
        From an entry to its stored bytes, row by row and piece by piece, as a safetensors file
        would hold them; None where the format has none that it could.
    whole : bool
        Whether the entries are all that the file holds, so that a file of them can replace it.
    outline : function or None
        The plain data around the tensors of a pickle, which may be None; None for other formats.
    """

    format: str
    entries: tuple[Entry, ...]
    read_entry: Callable[[Entry], NDArray[np.float32]]
    config: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    bare: bool = False
    read_span: Callable[[Entry, int, int], NDArray[np.float32]] | None = None
    strips: bool = True
    stored: Callable[[Entry], Iterator[bytes]] | None = None
    whole: bool = True
    outline: Callable[[], Outline | None] | None = None


def shape_text(shape: tuple[int, ...]) -> str:
    """``1024 × 768``."""
    return " × ".join(str(length) for length in shape) or "single number"


def damaged(name: str, what: str) -> DamagedError:
    """The one sentence for a file whose own directory does not add up."""
    return DamagedError(f"{name} is damaged: {what}. Download or save the file again.")


def brief(text: str) -> str:
    """A name or word out of a file as a sentence may repeat it: short, and only what prints."""
    if len(text) > _SHOWN:
        text = f"{text[: _SHOWN // 2]}…{text[-_SHOWN // 4 :]}"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def excerpt(value: object) -> str:
    """Any value out of a file as a sentence may repeat it, spelled as in Python."""
    return brief(_excerpt.repr(value))


def check_name(file: str, name: str, *, most: int = MAX_NAME) -> None:
    """Refuse a tensor's name that is no name: endless, or made of what does not print.

    Raises
    ------
    SourceError
    """
    if len(name) > most:
        raise damaged(file, f"it names a tensor with {len(name):,} characters ({brief(name)})")
    if not name.isprintable():
        raise damaged(file, f"the name of a tensor holds control characters ({brief(name)})")


def check_entries(file: str, entries: Sequence[Entry]) -> None:
    """Refuse tensors whose names or shapes no reader could follow, whatever the format.

    Raises
    ------
    SourceError
    """
    names = [entry.name for entry in entries]
    if not "".join(names).isprintable() or max(map(len, names), default=0) > MAX_NAME:
        for name in names:
            check_name(file, name)
    # Layers share their shapes, so that there are far fewer of them than tensors.
    wrong = {shape for shape in {entry.shape for entry in entries} if not _is_possible(shape or ())}
    if wrong:
        name, shape = next((entry.name, entry.shape) for entry in entries if entry.shape in wrong)
        if len(shape or ()) > MAX_AXES:
            raise damaged(file, f"{brief(name)} has {len(shape or ()):,} axes")
        raise damaged(file, f"no disk could hold the shape of {brief(name)}")


def _is_possible(shape: tuple[int, ...]) -> bool:
    """Whether some disk could hold a tensor of this shape, were none of its axes empty."""
    return len(shape) <= MAX_AXES and prod(filter(None, shape)) <= _MAX_ELEMENTS
