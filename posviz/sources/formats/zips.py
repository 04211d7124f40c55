"""The directory of a zip archive, strictly: what lies where, stored or compressed.

The standard library's reader follows the archive's own word about sizes; this one checks
every member against the file and against its neighbours, and refuses repeated names, so that
no two readers of the same file can see different numbers.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from posviz.sources.formats.tensors import brief, damaged

if TYPE_CHECKING:
    from posviz.sources.readers import Reader

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_MAX_DIRECTORY = 24 << 20  # bytes
_MAX_MEMBERS = 150_000
_TAIL = 1 << 16
_BEYOND = 0xFFFFFFFF  # stands for a number that is in the zip64 field
STORED, DEFLATED = 0, 8


class Member(NamedTuple):
    """One file of the archive.

    Parameters
    ----------
    offset : int
        Where its own header starts.
    end : int
        Where the next member, or the directory, starts.
    size, packed : int
        Bytes unpacked and in the archive.
    method : int
        STORED, DEFLATED or another compression.
    encrypted : bool
    """

    offset: int
    end: int
    size: int
    packed: int
    method: int
    encrypted: bool

    @property
    def is_plain(self) -> bool:
        """Whether its bytes lie in the archive as they are."""
        return self.method == STORED and self.size == self.packed and not self.encrypted


def directory(reader: Reader) -> dict[str, Member]:
    """Every member by name, in the archive's order.

    Raises
    ------
    SourceError
        No directory (a cut download), repeated names, members that overlap or leave the file.
    """
    name = reader.name
    start, length = _find_directory(reader)
    raw = reader.read_at(start, length)
    found: list[tuple[str, int, int, int, int, bool]] = []
    names: set[str] = set()
    position = 0
    while position < length:
        if position + _ENTRY.size > length:
            raise damaged(name, "the directory of the archive is cut short")
        fields = _ENTRY.unpack_from(raw, position)
        if fields[0] != b"PK\x01\x02":
            raise damaged(name, "the directory of the archive is broken")
        flags, method = fields[5], fields[6]
        packed, size, n_name, n_extra, n_comment = fields[10:15]
        offset = fields[18]
        body = position + _ENTRY.size
        member = raw[body : body + n_name].decode("utf-8" if flags & 0x800 else "cp437", "replace")
        extra = raw[body + n_name : body + n_name + n_extra]
        if _BEYOND in (size, packed, offset):
            size, packed, offset = _wide(extra, size, packed, offset)
        if member in names:
            raise damaged(name, f"the archive holds {brief(member)} twice")
        if len(found) == _MAX_MEMBERS:
            raise damaged(name, f"the archive holds more than {_MAX_MEMBERS:,} files")
        names.add(member)
        found.append((member, offset, size, packed, method, bool(flags & 1)))
        position = body + n_name + n_extra + n_comment
    return _bounded(name, found, start)


def data_start(reader: Reader, member: Member, head: bytes | None = None) -> int:
    """Where a member's bytes start, after its own header.

    Parameters
    ----------
    head : bytes or None
        The bytes at the member's offset, where they were read already.
    """
    raw = head if head is not None else reader.read_at(member.offset, _LOCAL.size)
    fields = _LOCAL.unpack_from(raw, 0)
    start = member.offset + _LOCAL.size + int(fields[-2]) + int(fields[-1])
    if fields[0] != b"PK\x03\x04" or start + member.packed > member.end:
        raise damaged(reader.name, "a member of the archive is not where its directory says")
    return start


def _find_directory(reader: Reader) -> tuple[int, int]:
    tail_start = max(0, reader.size - _TAIL - _END.size)
    tail = reader.read_at(tail_start, reader.size - tail_start)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(tail):
        raise damaged(reader.name, "the archive is incomplete, its directory at the end is missing")
    *_, length, start, _comment = _END.unpack_from(tail, at)
    if _is_locator(tail, at):
        magic, _, where, _ = _LOCATOR64.unpack_from(tail, at - _LOCATOR64.size)
        if magic == b"PK\x06\x07":
            raw = reader.read_at(where, _END64.size)
            *_, length, start = _END64.unpack(raw)
    if length > _MAX_DIRECTORY:
        raise damaged(reader.name, f"the directory of the archive claims {length:,} bytes")
    if start + length > reader.size:
        raise damaged(reader.name, "the directory of the archive lies outside the file")
    return start, length


def _is_locator(tail: bytes, at: int) -> bool:
    before = at - _LOCATOR64.size
    return before >= 0 and tail[before : before + 4] == b"PK\x06\x07"


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Sizes and offset beyond 4 GiB, from the zip64 field."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        body = extra[position + 4 : position + 4 + length]
        if kind == 1:
            numbers = [int.from_bytes(body[i : i + 8], "little") for i in range(0, len(body), 8)]
            values = []
            for value in (size, packed, offset):
                wide = value == _BEYOND and numbers
                values.append(numbers.pop(0) if wide else value)
            return values[0], values[1], values[2]
        position += 4 + length
    return size, packed, offset


def _bounded(
    name: str, found: list[tuple[str, int, int, int, int, bool]], limit: int
) -> dict[str, Member]:
    order = sorted(range(len(found)), key=lambda index: found[index][1])
    ends = [limit] * len(found)
    for index, after in pairwise(order):
        ends[index] = found[after][1]
    members = {}
    for (member, offset, size, packed, method, encrypted), end in zip(found, ends, strict=True):
        if offset + _LOCAL.size + packed > end:
            raise damaged(name, f"{brief(member)} overlaps what follows it in the archive")
        members[member] = Member(offset, end, size, packed, method, encrypted)
    return members
