"""Version 2 B-trees of an HDF5 file, which index the links of a group or the chunks of a dataset.

References
----------
HDF5 File Format Specification, version 3.0, section III.A.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from posviz.sources.formats.hdf5_store import Store

LINK_NAMES, CHUNKS, PACKED_CHUNKS = 5, 10, 11
"""What the records of a tree are."""

_MOST_NODES = 100_000
_MOST_DEPTH = 16


def records(store: Store, tree: int, *kinds: int, of: str = "a group") -> Iterator[bytes]:
    """The records of a tree, each of the same length, in no order.

    Parameters
    ----------
    kinds : int
        What its records may be.
    of : str
        What it is the index of, for messages.

    Raises
    ------
    SourceError
        Broken, of another kind, or of more nodes than weights need.
    """
    wide = store.offset_size
    head = store.read(tree, 16 + wide + 2 + store.length_size)
    if head[:4] != b"BTHD" or head[5] not in kinds:
        raise damaged(store.name, f"the index of {of} cannot be read")
    node_size = int.from_bytes(head[6:10], "little")
    record = int.from_bytes(head[10:12], "little")
    depth = int.from_bytes(head[12:14], "little")
    root, count = store.address(head, 16), int.from_bytes(head[16 + wide : 18 + wide], "little")
    if depth > _MOST_DEPTH or record < 5 or node_size < 16:
        raise damaged(store.name, f"the index of {of} cannot be read")
    most = _most_records(node_size, record, wide, depth)
    waiting = [] if store.is_undefined(root) else [(root, count, depth)]
    visited = 0
    while waiting:
        address, count, level = waiting.pop()
        visited += 1
        if visited > _MOST_NODES or count * record > node_size:
            raise damaged(store.name, f"the index of {of} is broken")
        raw = store.read(address, node_size)
        if raw[:4] != (b"BTIN" if level else b"BTLF"):
            raise damaged(store.name, f"the index of {of} is broken")
        for index in range(count):
            yield raw[6 + index * record : 6 + (index + 1) * record]
        if level:
            at = 6 + count * record
            own = _width(most[level - 1][0])
            total = _width(most[level - 1][1]) if level > 1 else 0
            for index in range(count + 1):
                child = at + index * (wide + own + total)
                number = int.from_bytes(raw[child + wide : child + wide + own], "little")
                waiting.append((store.address(raw, child), number, level - 1))


def _most_records(node_size: int, record: int, wide: int, depth: int) -> list[tuple[int, int]]:
    """By level from the leaves: the most records of a node, and of a node and all below it."""
    leaf = (node_size - 10) // record
    most = [(leaf, leaf)]
    for level in range(1, depth + 1):
        pointer = wide + _width(most[level - 1][0])
        pointer += _width(most[level - 1][1]) if level > 1 else 0
        own = (node_size - 10 - pointer) // (record + pointer)
        most.append((own, (own + 1) * most[level - 1][1] + own))
    return most


def _width(most: int) -> int:
    return -(-max(most.bit_length(), 1) // 8)
