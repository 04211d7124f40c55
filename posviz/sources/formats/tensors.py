"""What a format reader hands back: the tensors of one file, by name, read when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Entry:
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
    stored : function or None
        From an entry to its stored bytes, row by row and piece by piece, as a safetensors file
        would hold them; None where the format has none that it could.
    whole : bool
        Whether the entries are all that the file holds, so that a file of them can replace it.
    """

    format: str
    entries: tuple[Entry, ...]
    read_entry: Callable[[Entry], NDArray[np.float32]]
    config: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    bare: bool = False
    read_span: Callable[[Entry, int, int], NDArray[np.float32]] | None = None
    stored: Callable[[Entry], Iterator[bytes]] | None = None
    whole: bool = True


def counted(number: int, noun: str) -> str:
    """``1 tensor``, ``12,288 tensors``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shape_text(shape: tuple[int, ...]) -> str:
    """``1024 × 768``."""
    return " × ".join(str(length) for length in shape) or "single number"


def damaged(name: str, what: str) -> SourceError:
    """The one sentence for a file whose own directory does not add up."""
    return SourceError(f"{name} is damaged: {what}. Download or save the file again.")
