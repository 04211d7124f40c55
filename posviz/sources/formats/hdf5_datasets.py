"""A dataset of an HDF5 file: its type, shape and place out of the messages of its header.

References
----------
HDF5 File Format Specification, version 3.0, section IV.A.2: dataspace (a), datatype (c), fill
value (d, e) and data layout (i) messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.dtypes import BITS, decode
from posviz.sources.formats.hdf5_chunks import Allowance, Chunked
from posviz.sources.formats.hdf5_filters import filters, unread
from posviz.sources.formats.hdf5_index import chunk_layout
from posviz.sources.formats.tensors import MAX_AXES, brief, damaged, shape_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.formats.hdf5_store import Store

Read = Callable[[int, int], "NDArray[np.float32]"]

_DATASPACE, _DATATYPE, _OLD_FILL, _FILL, _EXTERNAL = 0x01, 0x03, 0x04, 0x05, 0x07
_LAYOUT, _FILTERS = 0x08, 0x0B
_COMPACT, _CONTIGUOUS, _CHUNKED, _VIRTUAL = range(4)

_NEVER = "was never written. Save the weights again."
_ODD = "is stored in a kind of chunks that is not read. Save it in one piece."


@dataclass(frozen=True)
class Dataset:
    """A dataset of numbers.

    Parameters
    ----------
    dtype : str
    shape : tuple of int
    read : function
        From two numbers to the elements from the first to before the second, row by row, as
        float32; SourceError where they cannot be read.
    """

    dtype: str
    shape: tuple[int, ...]
    read: Read


def dataset(
    store: Store, messages: list[tuple[int, bytes]], path: str, allowance: Allowance
) -> Dataset | None:
    """The dataset of numbers that these messages describe; None for groups and other contents."""
    by_kind = dict(reversed(messages))
    if not {_DATASPACE, _DATATYPE, _LAYOUT} <= by_kind.keys():
        return None
    dtype = _dtype(by_kind[_DATATYPE])
    shapes = _shapes(store, by_kind[_DATASPACE])
    if dtype is None or shapes is None:
        return None
    try:
        read = _reads(store, by_kind, f"{brief(path)} in {store.name}", dtype, *shapes, allowance)
    except SourceError as err:  # told to whoever asks for it; the rest of the file is read
        return Dataset(dtype, shapes[0], partial(_refuse, str(err)))
    return Dataset(dtype, shapes[0], read)


def _refuse(sentence: str, first: int, last: int) -> NDArray[np.float32]:
    raise SourceError(sentence)


def _reads(
    store: Store,
    by_kind: dict[int, bytes],
    title: str,
    dtype: str,
    shape: tuple[int, ...],
    most: tuple[int | None, ...],
    allowance: Allowance,
) -> Read:
    """The function that reads elements, by the way in which they lie."""
    width = BITS[dtype] // 8
    is_swapped = bool(by_kind[_DATATYPE][1] & 1)  # big-endian
    body = by_kind[_LAYOUT]
    version, kind = _class(body)

    def numbers(raw: bytes) -> NDArray[np.float32]:
        if is_swapped:
            raw = np.frombuffer(raw, f">u{width}").astype(f"<u{width}").tobytes()
        return decode(raw, dtype, (len(raw) // width,), name=title)

    def place(read_at: Callable[[int, int], bytes], start: int = 0) -> Read:
        return lambda first, last: numbers(read_at(start + first * width, (last - first) * width))

    if _EXTERNAL in by_kind:
        raise SourceError(f"{title} keeps its numbers in another file, which is not opened.")
    if kind == _VIRTUAL:
        raise SourceError(f"{title} is put together from other files, which are not opened.")
    if prod(shape) == 0:
        raise SourceError(f"{title} holds no numbers: its shape is {shape_text(shape)}.")
    if kind == _COMPACT and version >= 3:
        held = body[4 : 4 + int.from_bytes(body[2:4], "little")]
        if len(held) < prod(shape) * width:
            raise damaged(store.name, f"{title} is shorter than its shape says")
        return place(lambda start, length: held[start : start + length])
    if kind == _CONTIGUOUS:
        address = store.address(body, 2 if version >= 3 else 8)
        if store.is_undefined(address):
            raise SourceError(f"{title} {_NEVER}")
        return place(store.reader.read_at, address)
    if kind != _CHUNKED or version < 3:
        raise SourceError(f"{title} {_ODD}")
    steps = filters(by_kind[_FILTERS]) if _FILTERS in by_kind else ()
    refusal = unread(steps)
    if steps is None or refusal is not None:
        raise SourceError(f"{title} {refusal}")
    layout = chunk_layout(store, body, shape, most, width=width, packed=bool(steps))
    if layout is None or store.is_undefined(layout.address):
        raise SourceError(f"{title} {_ODD if layout is None else _NEVER}")
    raw = _fill(by_kind)
    fill = float(numbers(raw)[0]) if len(raw) == width else 0.0
    return Chunked(store, title, shape, layout, steps, numbers, fill, allowance).read


def _class(body: bytes) -> tuple[int, int]:
    """The version of a layout message, and how the numbers lie."""
    version = body[0] if body else 0
    if version in (3, 4, 5) and len(body) > 1:
        return version, body[1]
    if version in (1, 2) and len(body) > 8:
        return version, body[2]
    return version, -1


def _dtype(body: bytes) -> str | None:
    """Floats and whole numbers, by their width."""
    if len(body) < 8:
        return None
    kind, flags, size = body[0] & 15, body[1], int.from_bytes(body[4:8], "little")
    if size not in (1, 2, 4, 8):
        return None
    if kind == 1:
        if size == 2 and len(body) >= 16 and body[13] == 8:  # eight bits of exponent
            return "BF16"
        return {2: "F16", 4: "F32", 8: "F64"}.get(size)
    if kind == 0:
        return f"{'I' if flags & 8 else 'U'}{size * 8}"
    return None


def _shapes(store: Store, body: bytes) -> tuple[tuple[int, ...], tuple[int | None, ...]] | None:
    """The shape, and the largest that it may grow to, None where it has no limit."""
    if len(body) < 4:
        return None
    version, rank, flags = body[0], body[1], body[2]
    start = {1: 8, 2: 4}.get(version)
    lists = 2 if flags & 1 else 1
    if start is None or rank > MAX_AXES or len(body) < start + lists * rank * store.length_size:
        return None
    lengths = [store.length(body, start + axis * store.length_size) for axis in range(lists * rank)]
    most = [None if store.is_endless(length) else length for length in lengths[-rank:]]
    return tuple(lengths[:rank]), tuple(most[:rank])


def _fill(by_kind: dict[int, bytes]) -> bytes:
    """What stands where nothing was written, as stored; empty if that is not said."""
    body = by_kind.get(_FILL, b"")
    if body[:1] == b"\3":
        at = 2 if len(body) > 1 and body[1] & 0x20 else None
    elif body[:1] in (b"\1", b"\2"):
        at = 4 if len(body) > 3 and body[3] else None
    else:
        body, at = by_kind.get(_OLD_FILL, b""), 0
    if at is None:
        return b""
    return body[at + 4 :][: int.from_bytes(body[at : at + 4], "little")]
