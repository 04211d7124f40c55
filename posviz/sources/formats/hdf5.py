"""HDF5 weight files (Keras, TensorFlow's tf_model.h5), read as data and without the C library.

That library follows links into other files of the machine, and external and virtual
datasets, whatever file is opened. Here only what lies plainly in this one file is read:
groups, and contiguous or compact datasets of numbers. Everything else has a name and is not
followed.

References
----------
HDF5 File Format Specification, version 3.0: superblocks 0 to 3, object headers 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats import zips
from posviz.sources.formats.dtypes import BITS, decode
from posviz.sources.formats.hdf5_groups import Links, dense_links, symbol_links
from posviz.sources.formats.hdf5_headers import read_messages, superblock
from posviz.sources.formats.tensors import (
    MAX_AXES,
    MAX_NAME,
    Entry,
    TensorFile,
    brief,
    check_entries,
    damaged,
)
from posviz.sources.readers import Part
from posviz.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.formats.hdf5_store import Store
    from posviz.sources.readers import Reader

_MOST_OBJECTS = 100_000
_MOST_DEPTH = 32
_DATASPACE, _LINK_INFO, _DATATYPE, _LINK, _EXTERNAL = 0x01, 0x02, 0x03, 0x06, 0x07
_LAYOUT, _FILTERS, _SYMBOLS = 0x08, 0x0B, 0x11


@dataclass(frozen=True)
class _Dataset:
    """Where the numbers lie: at an offset of the file, or inside the header itself."""

    offset: int
    data: bytes | None
    refusal: str | None
    swapped: bool = False  # big-endian


def open_hdf5(reader: Reader) -> TensorFile:
    """The datasets of an HDF5 file, by path.

    Raises
    ------
    SourceError
        Damaged, or nested and numerous beyond the bounds.
    """
    store, root = superblock(reader)
    entries: list[Entry] = []
    datasets: dict[str, _Dataset] = {}
    outside = 0
    seen: set[int] = set()
    waiting = [("", root, 0)]
    while waiting:
        path, address, depth = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        if len(seen) > _MOST_OBJECTS or depth > _MOST_DEPTH:
            raise damaged(reader.name, "it nests or holds too many groups")
        messages = read_messages(store, address)
        links, elsewhere = _links(store, messages)
        outside += elsewhere
        if len(path) > MAX_NAME or len(waiting) + len(links) > _MOST_OBJECTS:
            raise damaged(reader.name, "it nests or holds too many groups")
        waiting += [
            (f"{path}/{name}" if path else name, target, depth + 1)
            for name, target in sorted(links.items(), reverse=True)
            if target not in seen
        ]
        found = _dataset(store, messages)
        if found is not None:
            dtype, shape, dataset = found
            size = prod(shape) * BITS[dtype] // 8
            entries.append(Entry(path, shape, dtype, size, reader.name))
            check_entries(reader.name, entries[-1:])
            datasets[path] = dataset

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        dataset = datasets[entry.name]
        size = entry.nbytes or 0
        if dataset.refusal is not None:
            raise SourceError(f"{brief(entry.name)} in {reader.name} {dataset.refusal}")
        raw = dataset.data if dataset.data is not None else reader.read_at(dataset.offset, size)
        if len(raw) < size:
            raise damaged(reader.name, f"{brief(entry.name)} is shorter than its shape says")
        raw = raw[:size]
        if dataset.swapped:
            width = BITS[entry.dtype or ""] // 8
            raw = np.frombuffer(raw, f">u{width}").astype(f"<u{width}").tobytes()
        return decode(raw, entry.dtype or "", entry.shape or (), name=entry.name)

    said = []
    if outside:
        leading = counted(outside, "link")
        said.append(f"{reader.name} holds {leading} that may lead out of it; none was followed.")
    return TensorFile("hdf5", tuple(entries), read_entry, warnings=tuple(said))


def open_keras(reader: Reader) -> TensorFile:
    """The weights in a .keras archive, which holds them as HDF5.

    Raises
    ------
    SourceError
        The archive holds no weights, or holds them compressed.
    """
    member = zips.directory(reader).get("model.weights.h5")
    if member is None or not member.is_plain:
        raise SourceError(
            f"{reader.name} holds no model.weights.h5 that could be read in place. Save the model "
            f"again, or only its weights with save_weights."
        )
    return open_hdf5(Part(reader, zips.data_start(reader, member), member.size))


def _links(store: Store, messages: list[tuple[int, bytes]]) -> tuple[Links, int]:
    """What a group holds, and how many of its links lead out of the file."""
    links: Links = {}
    outside = 0
    for kind, body in messages:
        if kind == _SYMBOLS:
            links |= symbol_links(
                store, store.address(body, 0), store.address(body, store.offset_size)
            )
        elif kind == _LINK:
            name, target = store.link(body)
            if target is not None:
                links[name] = target
            else:
                outside += 1
        elif kind == _LINK_INFO:
            dense, elsewhere = dense_links(store, body)
            links |= dense
            outside += elsewhere
    return links, outside


def _dataset(
    store: Store, messages: list[tuple[int, bytes]]
) -> tuple[str, tuple[int, ...], _Dataset] | None:
    """Type, shape and place of a dataset of numbers; None for groups and other contents."""
    by_kind = dict(reversed(messages))
    if not {_DATASPACE, _DATATYPE, _LAYOUT} <= by_kind.keys():
        return None
    dtype = _dtype(by_kind[_DATATYPE])
    shape = _shape(store, by_kind[_DATASPACE])
    if dtype is None or shape is None:
        return None
    if _EXTERNAL in by_kind:
        return (
            dtype,
            shape,
            _Dataset(0, None, "keeps its numbers in another file, which is not opened."),
        )
    if _FILTERS in by_kind:
        return dtype, shape, _Dataset(0, None, "is compressed, which is not read. Save it without.")
    place = _layout(store, by_kind[_LAYOUT])
    return dtype, shape, replace(place, swapped=bool(by_kind[_DATATYPE][1] & 1))


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


def _shape(store: Store, body: bytes) -> tuple[int, ...] | None:
    if len(body) < 4:
        return None
    version, rank = body[0], body[1]
    start = {1: 8, 2: 4}.get(version)
    if start is None or rank > MAX_AXES or len(body) < start + rank * store.length_size:
        return None
    return tuple(store.length(body, start + axis * store.length_size) for axis in range(rank))


def _layout(store: Store, body: bytes) -> _Dataset:
    version = body[0] if body else 0
    if version in (3, 4) and len(body) > 1:
        kind = body[1]
        if kind == 0:
            size = int.from_bytes(body[2:4], "little")
            return _Dataset(0, body[4 : 4 + size], None)
        if kind == 1:
            return _place(store, body, 2)
        if kind == 3:
            return _Dataset(0, None, "is put together from other files, which are not opened.")
    elif version in (1, 2) and len(body) > 8 and body[2] == 1:
        return _place(store, body, 8)
    return _Dataset(0, None, "is stored in chunks, which are not read. Save it in one piece.")


def _place(store: Store, body: bytes, at: int) -> _Dataset:
    address = store.address(body, at)
    if store.is_undefined(address):
        return _Dataset(0, None, "was never written. Save the weights again.")
    return _Dataset(address, None, None)
