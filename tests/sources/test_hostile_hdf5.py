"""HDF5 structures that go in circles, go on without end, or are cut."""

from __future__ import annotations

import struct

from posviz import sources

SUPERBLOCK = (
    b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00" + struct.pack("<4Q", 0, 2**64 - 1, 0, 48) + bytes(4)
)


def header(*messages: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack("<BHB", kind, len(raw), 0) + raw for kind, raw in messages)
    return b"OHDR\x02\x02" + struct.pack("<I", len(body)) + body + bytes(4)


def link(name: bytes, address: int) -> tuple[int, bytes]:
    return 6, b"\x01\x02" + struct.pack("<I", len(name)) + name + struct.pack("<Q", address)


def continued() -> bytes:
    """A header whose continuation continues in itself."""
    start = (SUPERBLOCK + header((0x10, struct.pack("<QQ", 200, 28)))).ljust(200, b"\0")
    return start + b"OCHK" + struct.pack("<BHBQQ", 0x10, 16, 0, 200, 28) + bytes(100)


def nameless() -> bytes:
    """An old group whose heap of names is megabytes without an end of a name."""
    start = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
    start += struct.pack("<6Q", 0, 2**64 - 1, 0, 2**64 - 1, 0, 200)
    group = struct.pack("<BBHII4x", 1, 0, 1, 1, 24) + struct.pack("<HHB3xQQ", 0x11, 16, 0, 400, 300)
    heap = b"HEAP" + bytes(4) + struct.pack("<QQQ", 4_000_000, 0, 1_000_000)
    tree = b"TREE\0\0" + struct.pack("<HQQQQQ", 1, 2**64 - 1, 2**64 - 1, 0, 1000, 0)
    node = b"SNOD\1\0" + struct.pack("<H", 20_000)
    node += b"".join(struct.pack("<QQII16x", i, 200, 0, 0) for i in range(20_000))
    file = (start.ljust(200, b"\0") + group).ljust(300, b"\0") + heap
    file = (file.ljust(400, b"\0") + tree).ljust(1000, b"\0") + node
    return file.ljust(1_000_000, b"\0") + b"n" * 4_000_000


def chained() -> bytes:
    """Groups in groups, each of a long name, then one with many links."""
    name = b"n" * 900
    size = len(header(link(name, 0)))
    groups = b"".join(header(link(name, 48 + size * (depth + 1))) for depth in range(20))
    return SUPERBLOCK + groups + header(*(link(b"%d" % i, 48) for i in range(2000))) + bytes(100)


def test_structures_of_hdf5_end(refused):
    assert "goes on without end" in refused("m.h5", continued())
    assert "has more than 1,000 bytes" in refused("m.h5", nameless())
    assert "nests or holds too many groups" in refused("m.h5", chained())
    itself = SUPERBLOCK + header(link(b"me", 48), link(b"also", 48)) + bytes(100)
    assert sources.open_upload({"m.h5": itself}).entries == ()


def test_a_shape_of_255_axes_is_none():
    space = b"\x01\xff\0\0" + bytes(4) + struct.pack("<Q", 2**63 - 1) * 255
    kind = b"\x11\0\0\0" + struct.pack("<I", 4) + bytes(12)
    place = b"\x03\x01" + struct.pack("<QQ", 48, 100)
    file = (SUPERBLOCK + header(link(b"wpe", 200))).ljust(200, b"\0")
    content = file + header((1, space), (3, kind), (8, place)) + bytes(1000)
    assert sources.open_upload({"m.h5": content}).entries == ()


def test_a_cut_hdf5_file_says_how_much_is_missing(data, refused):
    content = (data / "keras3-latest.weights.h5").read_bytes()
    assert refused("m.h5", content[:-64]) == (
        f"m.h5 is incomplete: {len(content) - 64:,} of {len(content):,} bytes are there. Download "
        f"it again."
    )
