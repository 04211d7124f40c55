"""Groups of an HDF5 file: the old symbol tables, and the dense storage of the new ones.

References
----------
HDF5 File Format Specification, version 3.0, sections III.A (B-trees), III.B to III.D (symbol
tables, local heaps) and III.G (fractal heaps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.sources.formats.hdf5_btree import LINK_NAMES, records
from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from posviz.sources.formats.hdf5_store import Store

Links = dict[str, int]
"""Addresses of object headers by name."""

MOST_LINKS = 100_000
_MOST_NODES = 100_000
_MOST_DEPTH = 16


def symbol_links(store: Store, tree: int, heap: int) -> Links:
    """The links of an old group: names in a local heap, indexed by a B-tree of symbol nodes."""
    head = store.read(heap, 8 + 2 * store.length_size + store.offset_size)
    if head[:4] != b"HEAP":
        raise damaged(store.name, "the names of a group cannot be read")
    names = store.read(store.address(head, 8 + 2 * store.length_size), store.length(head, 8))
    links: Links = {}
    entry_size = 2 * store.offset_size + 24
    for node in _symbol_nodes(store, tree):
        head = store.read(node, 8)
        if head[:4] != b"SNOD":
            raise damaged(store.name, "a group cannot be read")
        count = int.from_bytes(head[6:8], "little")
        raw = store.read(node + 8, count * entry_size)
        for index in range(count):
            at = index * entry_size
            start = store.address(raw, at)
            cached = int.from_bytes(raw[at + 2 * store.offset_size :][:4], "little")
            if cached != 2:  # 2 is a soft link
                links[store.text(names, start)] = store.address(raw, at + store.offset_size)
                if len(links) > MOST_LINKS:
                    raise damaged(store.name, f"a group holds more than {MOST_LINKS:,} names")
    return links


def _symbol_nodes(store: Store, tree: int) -> Iterator[int]:
    waiting = [(tree, 0)]
    seen: set[int] = set()
    while waiting:
        address, depth = waiting.pop()
        if address in seen or depth > _MOST_DEPTH or len(seen) > _MOST_NODES:
            raise damaged(store.name, "the index of a group goes in circles")
        seen.add(address)
        head = store.read(address, 8)
        if head[:4] != b"TREE" or head[4] != 0:
            raise damaged(store.name, "the index of a group cannot be read")
        level, count = head[5], int.from_bytes(head[6:8], "little")
        step = store.length_size + store.offset_size
        raw = store.read(address + 8 + 2 * store.offset_size, count * step + store.length_size)
        children = [store.address(raw, index * step + store.length_size) for index in range(count)]
        if level == 0:
            yield from children
        else:
            waiting += [(child, depth + 1) for child in reversed(children)]


def dense_links(store: Store, info: bytes) -> tuple[Links, int]:
    """The links of a new group with many members, and how many lead out of the file.

    Parameters
    ----------
    info : bytes
        The group's link-info message; without a heap the links are messages of their own.
    """
    at = 2 + (8 if info[1:2] and info[1] & 1 else 0)
    heap_address, tree = store.address(info, at), store.address(info, at + store.offset_size)
    if store.is_undefined(heap_address) or store.is_undefined(tree):
        return {}, 0
    heap = _heap(store, heap_address)
    links: Links = {}
    outside = 0
    for record in records(store, tree, LINK_NAMES):
        name, target = store.link(heap.get(store, record[4:]))
        if target is None:
            outside += 1
        else:
            links[name] = target
        if len(links) > MOST_LINKS:
            raise damaged(store.name, f"a group holds more than {MOST_LINKS:,} names")
    return links, outside


@dataclass(frozen=True)
class _Heap:
    """A fractal heap: small objects in blocks that double in size, found by a linear offset."""

    width: int
    start_size: int
    most_direct: int
    offset_bytes: int
    length_bytes: int
    root: int
    rows: int
    block_head: int

    def get(self, store: Store, identity: bytes) -> bytes:
        if not identity or identity[0] >> 4 & 3 != 0:  # only objects managed in the blocks
            raise damaged(store.name, "a group keeps a name where it cannot be read")
        offset = int.from_bytes(identity[1 : 1 + self.offset_bytes], "little")
        after = identity[1 + self.offset_bytes :]
        length = int.from_bytes(after[: self.length_bytes], "little")
        if self.rows == 0:
            return store.read(self.root + offset, length)
        return store.read(self._block(store, self.root, self.rows, offset), length)

    def _size(self, row: int) -> int:
        return self.start_size << max(row - 1, 0)

    def _block(self, store: Store, address: int, rows: int, offset: int, depth: int = 0) -> int:
        """The file address of a heap offset, below one indirect block."""
        if depth > _MOST_DEPTH or store.read(address, 4) != b"FHIB":
            raise damaged(store.name, "the names of a group cannot be followed")
        at = address + self.block_head
        start = 0
        for row in range(rows):
            size = self._size(row)
            if offset < start + self.width * size:
                column, inside = divmod(offset - start, size)
                child = store.number(
                    at + (row * self.width + column) * store.offset_size, store.offset_size
                )
                if size <= self.most_direct:
                    return child + inside
                below = 1 + (size // (self.width * self.start_size)).bit_length() - 1
                return self._block(store, child, below, inside, depth + 1)
            start += self.width * size
        raise damaged(store.name, "the names of a group cannot be followed")


def _heap(store: Store, address: int) -> _Heap:
    wide, long = store.offset_size, store.length_size
    raw = store.read(address, 14 + 12 * long + 3 * wide + 8)
    if raw[:4] != b"FRHP" or int.from_bytes(raw[7:9], "little"):  # filtered heaps are not read
        raise damaged(store.name, "the names of a group cannot be read")
    most_managed = int.from_bytes(raw[10:14], "little")
    at = 14 + long + wide + long + wide + 8 * long
    width = int.from_bytes(raw[at : at + 2], "little")
    start_size, most_direct = store.length(raw, at + 2), store.length(raw, at + 2 + long)
    at += 2 + 2 * long
    bits = int.from_bytes(raw[at : at + 2], "little")
    root = store.address(raw, at + 4)
    rows = int.from_bytes(raw[at + 4 + wide : at + 6 + wide], "little")
    offset_bytes = -(-bits // 8)
    if not width or not start_size or rows > 64:
        raise damaged(store.name, "the names of a group cannot be read")
    smaller = min(most_direct, most_managed)
    length_bytes = -(-max(smaller.bit_length(), 1) // 8)
    return _Heap(
        width, start_size, most_direct, offset_bytes, length_bytes, root, rows,
        5 + wide + offset_bytes,
    )  # fmt: skip
