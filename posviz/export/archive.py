"""A zip archive of known size, made piece by piece: members stored, numbers aligned."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALIGNED = 64  # bytes, as torch.save aligns what it stores
_LOCAL = struct.Struct("<4s5H3L2H")
_ZIP64 = struct.Struct("<2H2Q")
_PADDING = struct.Struct("<2H")
_AFTER = struct.Struct("<4sL2Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_ENTRY64 = struct.Struct("<2H3Q")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_VERSION, _FLAGS, _DAY = 45, 0x8, 0x21  # zip64; sizes follow the bytes; 1980-01-01
_WIDE, _WIDE_COUNT = 0xFFFFFFFF, 0xFFFF


@dataclass(frozen=True)
class Stored:
    """One member: its name, its size, and its bytes from the start."""

    name: str
    size: int
    pieces: Callable[[], Iterator[bytes]]


def size(members: Sequence[Stored]) -> int:
    """Bytes of the archive that :func:`pieces` makes."""
    at = 0
    for member in members:
        at += len(_local(member, at)) + member.size + _AFTER.size
    return at + sum(map(_entry_size, members)) + _END64.size + _LOCATOR64.size + _END.size


def pieces(members: Sequence[Stored]) -> Iterator[bytes]:
    """The archive from its start; always in the form for large files, which every reader knows."""
    at = 0
    directory = []
    for member in members:
        head = _local(member, at)
        yield head
        crc = 0
        for piece in member.pieces():
            crc = zlib.crc32(piece, crc)
            yield piece
        yield _AFTER.pack(b"PK\x07\x08", crc, member.size, member.size)
        directory.append(_entry(member, crc, at))
        at += len(head) + member.size + _AFTER.size
    listed = b"".join(directory)
    count = len(members)
    yield listed
    yield _END64.pack(
        b"PK\x06\x06", _END64.size - 12, _VERSION, _VERSION, 0, 0, count, count, len(listed), at
    )
    yield _LOCATOR64.pack(b"PK\x06\x07", 0, at + len(listed), 1)
    yield _END.pack(b"PK\x05\x06", 0, 0, _WIDE_COUNT, _WIDE_COUNT, _WIDE, _WIDE, 0)


def _local(member: Stored, at: int) -> bytes:
    """A member's own header, filled up so that its bytes begin at a multiple of ALIGNED."""
    name = member.name.encode()
    wide = _ZIP64.pack(1, 16, 0, 0)
    bare = at + _LOCAL.size + len(name) + len(wide) + _PADDING.size
    fill = -bare % ALIGNED
    extra = wide + _PADDING.pack(0x4246, fill) + bytes(fill)  # "FB", as torch calls it
    return (
        _LOCAL.pack(
            b"PK\x03\x04", _VERSION, _FLAGS, 0, 0, _DAY, 0, _WIDE, _WIDE, len(name), len(extra)
        )
        + name
        + extra
    )


def _entry(member: Stored, crc: int, at: int) -> bytes:
    name = member.name.encode()
    extra = _ENTRY64.pack(1, 24, member.size, member.size, at)
    return (
        _ENTRY.pack(
            b"PK\x01\x02", _VERSION, _VERSION, _FLAGS, 0, 0, _DAY, crc, _WIDE, _WIDE, len(name),
            len(extra), 0, 0, 0, 0, _WIDE,
        )
        + name
        + extra
    )  # fmt: skip


def _entry_size(member: Stored) -> int:
    return _ENTRY.size + len(member.name.encode()) + _ENTRY64.size
