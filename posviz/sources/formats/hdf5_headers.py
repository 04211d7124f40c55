"""Where an HDF5 file begins, and the messages of its objects: superblocks and object headers.

References
----------
HDF5 File Format Specification, version 3.0, parts II and IV.A.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.formats.hdf5_store import Store
from posviz.sources.formats.tensors import damaged
from posviz.sources.readers import Part

if TYPE_CHECKING:
    from posviz.sources.readers import Reader

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FIRST_PLACE = 512  # where a superblock may also lie; then at each power of two
_MOST_MESSAGES = 10_000
_TO_ROOT = (3, 1)  # addresses between the end of the file and the root group, old and new
_CONTINUATION = 0x10


def after_user_block(reader: Reader) -> Part | None:
    """The HDF5 file behind a block of a person's own, if there is one."""
    place = _FIRST_PLACE
    while place + len(SIGNATURE) <= reader.size:
        if reader.read_at(place, len(SIGNATURE)) == SIGNATURE:
            return Part(reader, place, reader.size - place)
        place *= 2
    return None


def superblock(reader: Reader) -> tuple[Store, int]:
    """The widths of addresses, and the address of the root group.

    Addresses count from the superblock, whatever it says: a block before it is a person's own.
    """
    head = reader.read_at(0, min(reader.size, 128))
    version = head[8] if len(head) > 8 else 255
    if version in (0, 1) and len(head) >= 96:
        offset_size, length_size = head[13], head[14]
        start = 24 + (4 if version == 1 else 0)
        widths = (offset_size, length_size)
        base = start
        root = start + 4 * offset_size + offset_size  # past four addresses and a name offset
    elif version in (2, 3) and len(head) >= 48:
        widths = (head[9], head[10])
        base = 12
        root = base + 3 * head[9]
    else:
        raise damaged(reader.name, "its HDF5 superblock cannot be read")
    if widths[0] not in (4, 8) or widths[1] not in (4, 8):
        raise damaged(reader.name, f"its HDF5 addresses are {widths[0]} bytes wide")
    store = Store(reader, *widths)
    end = int.from_bytes(head[root - _TO_ROOT[version > 1] * widths[0] :][: widths[0]], "little")
    before = store.address(head, base)  # bytes of a person's own before the superblock
    if reader.size + before < end and not store.is_undefined(end):
        raise SourceError(
            f"{reader.name} is incomplete: {reader.size + before:,} of {end:,} bytes are there. "
            f"Download it again."
        )
    return store, int.from_bytes(head[root : root + widths[0]], "little")


def read_messages(store: Store, address: int) -> list[tuple[int, bytes]]:
    """The messages of an object header, its continuations followed."""
    head = store.read(address, 16)
    if head[:4] == b"OHDR":
        return _messages_2(store, address)
    if head[0] != 1:
        raise damaged(store.name, "an object header cannot be read")
    found: list[tuple[int, bytes]] = []
    blocks = [(address + 16, int.from_bytes(head[8:12], "little"))]
    for start, length in blocks:  # which grows as continuations are found
        raw = store.read(start, length)
        at = 0
        while at + 8 <= len(raw):
            kind = int.from_bytes(raw[at : at + 2], "little")
            size = int.from_bytes(raw[at + 2 : at + 4], "little")
            body = raw[at + 8 : at + 8 + size]
            _take(store, found, blocks, kind, body)
            at += 8 + size
    return found


def _messages_2(store: Store, address: int) -> list[tuple[int, bytes]]:
    flags = store.read(address + 4, 2)[1]
    at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    length = store.number(at, width)
    head = 6 if flags & 0x04 else 4  # with or without the order of creation
    found: list[tuple[int, bytes]] = []
    blocks = [(at + width, length)]
    for number, (start, size) in enumerate(blocks):  # which grows as continuations are found
        if number:  # a continuation block has a signature and a checksum of its own
            if store.read(start, 4) != b"OCHK":
                raise damaged(store.name, "an object header is broken")
            start, size = start + 4, size - 8
        raw = store.read(start, max(size, 0))
        position = 0
        while position + head <= len(raw):
            kind = raw[position]
            length = int.from_bytes(raw[position + 1 : position + 3], "little")
            body = raw[position + head : position + head + length]
            _take(store, found, blocks, kind, body)
            position += head + length
    return found


def _take(
    store: Store,
    found: list[tuple[int, bytes]],
    blocks: list[tuple[int, int]],
    kind: int,
    body: bytes,
) -> None:
    if kind == _CONTINUATION:
        blocks.append((store.address(body, 0), store.length(body, store.offset_size)))
    else:
        found.append((kind, body))
    if len(found) + len(blocks) > _MOST_MESSAGES:
        raise damaged(store.name, "an object header goes on without end")
