"""Where the chunks of an HDF5 dataset lie: its layout message, and the index that it names.

References
----------
HDF5 File Format Specification, version 3.0, sections III.A (B-trees), IV.A.2.i (data layout
message, versions 3 and 4) and VII (indexes of chunks). Version 5 of the message is version 4 with
other widths of lengths, which the indexes say themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posviz.sources.formats.hdf5_arrays import broken, extensible_array, fixed_array
from posviz.sources.formats.hdf5_btree import CHUNKS, PACKED_CHUNKS, records
from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from posviz.sources.formats.hdf5_store import Store

Place = tuple[int, ...]
"""A chunk's own number along each axis."""

OLD_TREE, SINGLE, IMPLICIT, FIXED, EXTENSIBLE, NEW_TREE = range(6)
_PARAMETERS = {IMPLICIT: 0, FIXED: 1, EXTENSIBLE: 5, NEW_TREE: 6}  # bytes before the address
_PLAIN_EDGES, _SINGLE_PACKED = 1, 2
_ALL_SKIPPED = 0xFFFF_FFFF
_SPARE = 1_024  # entries that an index may hold beyond the chunks there are, such as emptied ones


class Chunk(NamedTuple):
    """A stored chunk: its place in the file, its bytes there, and the filters it went without."""

    address: int
    nbytes: int
    skipped: int


@dataclass(frozen=True)
class Layout:
    """How a dataset is cut into chunks.

    Parameters
    ----------
    index : int
        What finds the chunks: OLD_TREE, SINGLE, …
    address : int
        Where that lies.
    chunk : tuple of int
        Elements of a whole chunk along each axis.
    nbytes : int
        Bytes of a whole chunk.
    grid : tuple of int
        Chunks along each axis.
    most : tuple of int or None
        As `grid`, of the largest shape the dataset may grow to; None without limit.
    packed : bool
        Whether chunks go through filters.
    plain_edges : bool
        Whether chunks that the edge cuts are left as they are.
    only : Chunk or None
        The one chunk, if there is but one.
    """

    index: int
    address: int
    chunk: Place
    nbytes: int
    grid: Place
    most: tuple[int | None, ...]
    packed: bool
    plain_edges: bool = False
    only: Chunk | None = None


def chunk_layout(
    store: Store,
    body: bytes,
    shape: Place,
    most: tuple[int | None, ...],
    *,
    width: int,
    packed: bool,
) -> Layout | None:
    """What a layout message of class 2 says; None for a kind of index that has no name.

    Parameters
    ----------
    width : int
        Bytes of an element.

    Raises
    ------
    SourceError
        The message does not fit the shape.
    """
    wrong = damaged(store.name, "chunks in it do not fit their shape")
    if len(body) < 5:
        raise wrong
    flags = index = 0
    if body[0] == 3:
        rank, at, size = body[2], 3 + store.offset_size, 4
    else:
        flags, rank, size, at = body[2], body[3], body[4], 5
    lengths = body[at : at + rank * size]
    at += rank * size
    if rank != len(shape) + 1 or rank < 2 or not 1 <= size <= 8 or len(body) < at + (body[0] > 3):
        raise wrong
    *chunk, element = (
        int.from_bytes(lengths[axis * size : (axis + 1) * size], "little") for axis in range(rank)
    )
    if element != width or 0 in chunk:
        raise wrong
    nbytes = prod(chunk) * width
    only = None
    if body[0] == 3:
        address = store.address(body, 3)
    else:
        index, at = body[at], at + 1
        if index == SINGLE:
            held, skipped = nbytes, 0
            if flags & _SINGLE_PACKED:
                held = store.length(body, at)
                skipped = int.from_bytes(body[at + store.length_size :][:4], "little")
                at += store.length_size + 4
            address = store.address(body, at)
            only = Chunk(address, held, skipped)
        elif index in _PARAMETERS:
            address = store.address(body, at + _PARAMETERS[index])
        else:
            return None
    grid = tuple(-(-length // step) for length, step in zip(shape, chunk, strict=True))
    most_grid = tuple(
        None if length is None else -(-length // step)
        for length, step in zip(most, chunk, strict=True)
    )
    plain_edges = bool(flags & _PLAIN_EDGES)
    return Layout(index, address, tuple(chunk), nbytes, grid, most_grid, packed, plain_edges, only)


def find_chunks(store: Store, layout: Layout) -> dict[Place, Chunk]:
    """The chunks that were written, by their place in the grid; the others hold the fill value.

    Raises
    ------
    SourceError
        The index is broken, or holds more than the chunks there are.
    """
    if layout.index == SINGLE:
        return {(0,) * len(layout.grid): layout.only} if layout.only else {}
    if layout.index == OLD_TREE:
        found = _of_old_tree(store, layout)
    elif layout.index == NEW_TREE:
        found = _of_new_tree(store, layout)
    else:
        found = _of_numbers(store, layout)
    chunks: dict[Place, Chunk] = {}
    most = 2 * prod(layout.grid) + _SPARE
    for number, (place, chunk) in enumerate(found):
        if place in chunks or number > most:
            raise broken(store)
        if all(at < count for at, count in zip(place, layout.grid, strict=True)):
            chunks[place] = chunk
    return chunks


def _of_old_tree(store: Store, layout: Layout) -> Iterator[tuple[Place, Chunk]]:
    """Version 1 B-tree: each key is a chunk's size, filters left out, and first element."""
    rank = len(layout.grid)
    key = [("nbytes", "<u4"), ("skipped", "<u4"), ("first", "<u8", (rank + 1,))]
    entry = np.dtype([*key, ("child", f"<u{store.offset_size}")])
    waiting: list[tuple[int, int | None]] = [(layout.address, None)]
    visited = 0
    while waiting:
        address, wanted = waiting.pop()
        head = store.read(address, 8)
        level, count = head[5], int.from_bytes(head[6:8], "little")
        visited += 1
        # Levels that fall by one leave no way round; an emptied tree keeps a few nodes.
        lost = wanted is not None and level != wanted
        if head[:5] != b"TREE\1" or lost or visited > 2 * prod(layout.grid) + _SPARE:
            raise broken(store)
        raw = store.read(address + 8 + 2 * store.offset_size, count * entry.itemsize)
        entries = np.frombuffer(raw, entry)
        if level:
            waiting += [(child, level - 1) for child in reversed(entries["child"].tolist())]
            continue
        places, rests = np.divmod(entries["first"][:, :rank], np.array(layout.chunk, np.uint64))
        if rests.any():
            raise broken(store)
        columns = (entries[name].tolist() for name in ("child", "nbytes", "skipped"))
        for place, *chunk in zip(places.tolist(), *columns, strict=True):
            yield tuple(place), Chunk(*chunk)


def _of_new_tree(store: Store, layout: Layout) -> Iterator[tuple[Place, Chunk]]:
    rank = len(layout.grid)
    kind = PACKED_CHUNKS if layout.packed else CHUNKS
    for record in records(store, layout.address, kind, of="its chunks"):
        head, places = record[: -8 * rank], np.frombuffer(record[-8 * rank :], "<u8")
        if len(head) < store.offset_size or len(places) != rank:
            raise broken(store)
        chunk = _chunk(store, layout, head)
        if chunk is not None:
            yield tuple(places.tolist()), chunk


def _of_numbers(store: Store, layout: Layout) -> Iterator[tuple[Place, Chunk]]:
    """Chunks that lie, or are listed, in the order of their numbers."""
    # The axis that may grow varies slowest, whichever it is.
    endless = [axis for axis, count in enumerate(layout.most) if count is None]
    if len(endless) != (layout.index == EXTENSIBLE):
        raise broken(store)
    order = endless + [axis for axis in range(len(layout.most)) if axis not in endless]
    steps, step = [0] * len(order), 1
    for axis in reversed(order):
        steps[axis] = step
        step *= layout.most[axis] or 1
    if layout.index == IMPLICIT:
        if layout.packed:
            raise broken(store)
        for place in product(*map(range, layout.grid)):
            number = sum(at * step for at, step in zip(place, steps, strict=True))
            yield place, Chunk(layout.address + number * layout.nbytes, layout.nbytes, 0)
        return
    array = fixed_array if layout.index == FIXED else extensible_array
    element = array(store, layout.address)
    for place in product(*map(range, layout.grid)):
        raw = element(sum(at * step for at, step in zip(place, steps, strict=True)))
        chunk = None if raw is None else _chunk(store, layout, raw)
        if chunk is not None:
            yield place, chunk


def _chunk(store: Store, layout: Layout, raw: bytes) -> Chunk | None:
    """An address, and for packed chunks the bytes there and the filters left out."""
    address = store.address(raw, 0)
    if store.is_undefined(address):
        return None
    if not layout.packed:
        return Chunk(address, layout.nbytes, 0)
    if len(raw) < store.offset_size + 5:
        raise broken(store)
    held = int.from_bytes(raw[store.offset_size : -4], "little")
    return Chunk(address, held, int.from_bytes(raw[-4:], "little"))
