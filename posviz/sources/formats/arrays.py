"""NumPy's own formats: one array (.npy) or an archive of them (.npz), never unpickled."""

from __future__ import annotations

import re
import zlib
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats import zips
from posviz.sources.formats.dtypes import from_numpy
from posviz.sources.formats.tensors import (
    Entry,
    TensorFile,
    brief,
    check_entries,
    check_name,
    damaged,
    excerpt,
)
from posviz.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_HEADER = 16 << 10  # bytes; NumPy writes 128
_MOST_UNPACKED = 64 << 20  # bytes a packed member may take without a look at its ratio
_MOST_RATIO = 50  # weights hardly shrink; a bomb shrinks a thousandfold
_MOST_ARRAYS = 20_000  # each costs a read of its own

_MAGIC = b"\x93NUMPY"
_DESCR = re.compile(r"""['"]descr['"]\s*:\s*(?:['"]([^'"]{1,40})['"]|[\[(])""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([^()]{0,2000})\)""")
_TYPE = re.compile(r"[<>=|]?(?:[biufcSUVmM]\d{0,9}(?:\[\d{0,4}\w{1,7}\])?|\?)", re.ASCII)


class _ObjectsError(Exception):
    """An array of Python objects, or of records: text says which."""


class _Header:
    """What the first bytes of a .npy say: stored type, shape, order, where the numbers start.

    The three values are looked for one by one: the text is a Python expression, and is never
    handed to Python.
    """

    def __init__(self, name: str, head: bytes) -> None:
        width = {1: 2, 2: 4, 3: 4}.get(head[6] if len(head) > 6 else 0)
        if not head.startswith(_MAGIC) or width is None:
            raise damaged(name, "its .npy header cannot be read")
        length = int.from_bytes(head[8 : 8 + width], "little")
        self.start = 8 + width + length
        text = head[8 + width : self.start].decode(
            "utf-8" if head[6] == 3 else "latin-1", "replace"
        )
        descr, order, shape = (key.search(text) for key in (_DESCR, _ORDER, _SHAPE))
        if self.start > len(head) or descr is None or order is None or shape is None:
            raise damaged(name, "its .npy header cannot be read")
        self.dtype = _dtype(name, descr[1])
        self.fortran = order[1] == "True"
        lengths = [part.strip().removesuffix("L") for part in shape[1].split(",")]
        if lengths[-1] == "":
            lengths.pop()
        if not all(re.fullmatch(r"\d{1,18}", part, re.ASCII) for part in lengths):
            raise damaged(name, f"its shape is {brief(f'({shape[1]})')}")
        self.shape = tuple(map(int, lengths))
        check_entries(name, [Entry("array", self.shape, None, None, name)])
        self.nbytes = prod(self.shape) * self.dtype.itemsize

    def array(self, name: str, raw: bytes) -> NDArray[np.float32]:
        if self.dtype.kind not in "fiub":
            raise SourceError(f"{name} holds {self.dtype}, no real numbers. Save it as float32.")
        stored = np.frombuffer(raw, dtype=self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            values = stored.astype(np.float32, copy=False)
        if self.fortran:  # the first axis runs fastest
            return np.ascontiguousarray(values.reshape(self.shape[::-1]).T)
        return values.reshape(self.shape)


def _dtype(name: str, descr: str | None) -> np.dtype[np.generic]:
    if descr is None:
        raise _ObjectsError("holds records, no plain real numbers. Save one array of floats")
    if re.fullmatch(r"[|<>=]?O\d*", descr):
        raise _ObjectsError(
            "holds Python objects, which are never unpickled. Save the numbers as a float array"
        )
    try:
        if _TYPE.fullmatch(descr):
            return np.dtype(descr)
    except (TypeError, ValueError):
        pass
    raise damaged(name, f"its numbers are of the unknown type {excerpt(descr)}")


def open_npy(reader: Reader) -> TensorFile:
    """The one array of a .npy file.

    Raises
    ------
    SourceError
        Damaged, cut, or an array of Python objects.
    """
    try:
        header = _Header(reader.name, reader.read_at(0, min(reader.size, _HEADER)))
    except _ObjectsError as err:
        raise SourceError(f"{reader.name} {err}.") from err
    if reader.size < header.start + header.nbytes:
        raise SourceError(
            f"{reader.name} is incomplete: {reader.size:,} of {header.start + header.nbytes:,} "
            f"bytes are there. Copy or save it again."
        )
    if reader.size > header.start + header.nbytes:
        extra = reader.size - header.start - header.nbytes
        raise damaged(reader.name, f"{counted(extra, 'byte')} too many at its end")
    entry = Entry("array", header.shape, from_numpy(header.dtype), header.nbytes, reader.name)

    def read_entry(_: Entry) -> NDArray[np.float32]:
        return header.array(reader.name, reader.read_at(header.start, header.nbytes))

    return TensorFile("npy", (entry,), read_entry, bare=True)


def open_npz(reader: Reader) -> TensorFile:
    """The arrays of a .npz archive.

    Raises
    ------
    SourceError
        Damaged, or a member that would unpack to far more than it holds.
    """
    members = {
        name.removesuffix(".npy"): member
        for name, member in zips.directory(reader).items()
        if name.endswith(".npy")
    }
    if not members:
        raise SourceError(f"{reader.name} is a .npz archive without arrays. Save it again.")
    if len(members) > _MOST_ARRAYS:
        raise damaged(reader.name, f"it holds {len(members):,} arrays")
    headers, entries, objects = {}, [], []
    for name, member in members.items():
        check_name(reader.name, name)
        try:
            header = _Header(
                f"{brief(name)} in {reader.name}", _unpack(reader, name, member, _HEADER)
            )
        except _ObjectsError as err:
            objects.append(f"{brief(name)} in {reader.name} {err}.")
            continue
        if header.start + header.nbytes != member.size:
            raise damaged(reader.name, f"{brief(name)} is not as long as its shape says")
        headers[name] = header
        entries.append(
            Entry(name, header.shape, from_numpy(header.dtype), header.nbytes, reader.name)
        )

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        header = headers[entry.name]
        raw = _unpack(reader, entry.name, members[entry.name], members[entry.name].size)
        return header.array(entry.name, raw[header.start :])

    if objects and not entries:
        raise SourceError(objects[0])
    left = f" So do {len(objects) - 1:,} more." if len(objects) > 1 else ""
    said = (f"{objects[0]}{left}",) if objects else ()
    return TensorFile("npz", tuple(entries), read_entry, warnings=said, bare=len(entries) == 1)


def _unpack(reader: Reader, name: str, member: zips.Member, length: int) -> bytes:
    """The first `length` bytes of a member."""
    name = brief(name)
    length = min(length, member.size)
    if member.encrypted or member.method not in (zips.STORED, zips.DEFLATED):
        raise SourceError(
            f"{reader.name} packs {name} in a way that is not read. Save it with np.savez."
        )
    start = zips.data_start(reader, member)
    if member.method == zips.STORED:
        if member.size != member.packed:
            raise damaged(reader.name, f"{name} states two sizes")
        return reader.read_at(start, length)
    if length > _MOST_UNPACKED and member.size > _MOST_RATIO * member.packed:
        raise SourceError(
            f"{reader.name} is not unpacked: {name} would grow from {member.packed:,} to "
            f"{member.size:,} bytes. Save it with np.savez."
        )
    # A header needs only the first few packed bytes.
    packed = reader.read_at(start, min(member.packed, 2 * length + 1024))
    try:
        raw = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, length)
    except zlib.error as err:
        raise damaged(reader.name, f"{name} cannot be unpacked") from err
    if len(raw) != length:
        raise damaged(reader.name, f"{name} unpacks to {len(raw):,} of {length:,} bytes")
    return raw
