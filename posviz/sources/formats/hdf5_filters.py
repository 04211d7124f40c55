"""What HDF5 does to a chunk before it is written, undone: deflate, shuffle, Fletcher's checksum.

References
----------
HDF5 File Format Specification, version 3.0, section IV.A.2.l (filter pipeline message).
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_UNREAD = {
    4: "SZIP", 5: "N-bit", 6: "scale-offset", 32000: "LZF", 32001: "Blosc", 32004: "LZ4",
    32008: "bitshuffle", 32013: "ZFP", 32015: "Zstandard", 32026: "Blosc2",
}  # fmt: skip
_MOST_FILTERS = 32  # a chunk's mask has one bit for each
_CHECKSUM = 4  # bytes, behind the chunk
_WORDS = 1 << 16  # summed at once: products stay below 2⁵³, which floats hold exactly


class BrokenError(Exception):
    """A chunk that does not unpack to what was packed; the text says how it fails."""


class Filter(NamedTuple):
    """One step of the way from numbers to stored bytes, and the width of an element in it."""

    kind: int
    width: int


def filters(body: bytes) -> tuple[Filter, ...] | None:
    """The steps that a filter message lists, as they were taken; None if it cannot be read."""
    if len(body) < 2 or body[0] not in (1, 2) or body[1] > _MOST_FILTERS:
        return None
    version, count = body[0], body[1]
    at = 8 if version == 1 else 2
    found = []
    for _ in range(count):
        kind = int.from_bytes(body[at : at + 2], "little")
        named = version == 1 or kind >= 256
        length = int.from_bytes(body[at + 2 : at + 4], "little") if named else 0
        at += 4 if named else 2
        values = int.from_bytes(body[at + 2 : at + 4], "little")
        at += 4 + (length + -length % 8 if version == 1 else length)
        width = int.from_bytes(body[at : at + 4], "little") if values else 0
        at += 4 * (values + (values % 2 if version == 1 else 0))
        if at > len(body):
            return None
        found.append(Filter(kind, width))
    return tuple(found)


def unread(steps: tuple[Filter, ...] | None) -> str | None:
    """Why chunks that went through these steps are not read; None if they are."""
    if steps is None:
        return "is packed in a way that cannot be read. Save it without compression."
    for step in steps:
        if step.kind not in (_DEFLATE, _SHUFFLE, _FLETCHER32):
            name = _UNREAD.get(step.kind, f"filter {step.kind}")
            return f"is compressed with {name}, which is not read. Save it with gzip, or without."
    if sum(step.kind == _DEFLATE for step in steps) > 1:
        return "is compressed twice, which is not read. Save it with gzip, or without."
    return None


def unpack(raw: bytes, steps: tuple[Filter, ...], skipped: int, size: int) -> bytes:
    """A chunk as it was before the steps.

    Parameters
    ----------
    skipped : int
        Bit `i` is set where step `i` was left out for this chunk.
    size : int
        Bytes of the numbers; never more than these and their checksums come out of deflate.

    Raises
    ------
    BrokenError
        A checksum does not fit, or another number of bytes comes out.
    """
    taken = [step for index, step in enumerate(steps) if not skipped >> index & 1]
    while taken:
        step = taken.pop()
        if step.kind == _FLETCHER32:
            raw = _checked(raw)
        elif step.kind == _SHUFFLE:
            raw = _unshuffled(raw, step.width)
        else:
            before = sum(other.kind == _FLETCHER32 for other in taken)
            raw = _inflated(raw, size + _CHECKSUM * before)
    if len(raw) != size:
        raise BrokenError(f"has {len(raw):,} bytes instead of {size:,}")
    return raw


def _inflated(raw: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(raw, size + 1)  # one more than there may be
    except zlib.error as err:
        raise BrokenError("cannot be unpacked") from err
    if len(found) != size or not stream.eof:
        raise BrokenError(f"does not unpack to its {size:,} bytes")
    return found


def _unshuffled(raw: bytes, width: int) -> bytes:
    """First bytes of all elements, then all second bytes, … put back; a rest stays where it is."""
    count = len(raw) // width if width > 1 else 0
    if count < 2:
        return raw
    whole = count * width
    turned = np.frombuffer(raw, np.uint8, whole).reshape(width, count).T
    return turned.tobytes() + raw[whole:]


def _checked(raw: bytes) -> bytes:
    if len(raw) < _CHECKSUM:
        raise BrokenError("is too short for its checksum")
    content, stored = raw[:-_CHECKSUM], int.from_bytes(raw[-_CHECKSUM:], "little")
    if fletcher32(content) != stored:
        raise BrokenError("does not fit its checksum")
    return content


def fletcher32(content: bytes) -> int:
    """Fletcher's checksum as HDF5 takes it: of 16-bit words, the first byte of each the higher."""
    words = np.frombuffer(content + b"\0" * (len(content) % 2), ">u2")
    plain = weighted = 0
    for start in range(0, len(words), _WORDS):
        part = words[start : start + _WORDS].astype(np.float64)
        weighted += len(part) * plain + int(part @ np.arange(len(part), 0, -1.0))
        plain += int(part.sum())
    # Sums are folded into 16 bits, which makes 65,535 of its multiples and 0 of nothing but zeros.
    low, high = ((total - 1) % 65_535 + 1 if total else 0 for total in (plain, weighted))
    return high << 16 | low
