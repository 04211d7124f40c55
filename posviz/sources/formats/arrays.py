"""NumPy's own formats: one array (.npy) or an archive of them (.npz), never unpickled."""

from __future__ import annotations

import io
import tokenize
import zlib
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats import zips
from posviz.sources.formats.dtypes import from_numpy
from posviz.sources.formats.tensors import Entry, TensorFile, damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_HEADER = 16 << 10  # NumPy's own limit is 10,000 characters
_MOST_UNPACKED = 64 << 20  # bytes a packed member may take without a look at its ratio
_MOST_RATIO = 50  # weights hardly shrink; a bomb shrinks a thousandfold


class _Header:
    """What the first bytes of a .npy say: stored type, shape, order, where the numbers start."""

    def __init__(self, name: str, head: bytes) -> None:
        stream = io.BytesIO(head)
        try:
            major, _ = np.lib.format.read_magic(stream)
            read = (
                np.lib.format.read_array_header_1_0
                if major == 1
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(stream)
        except (ValueError, SyntaxError, RecursionError, TypeError, tokenize.TokenError) as err:
            raise damaged(name, "its .npy header cannot be read") from err
        if dtype.hasobject:
            raise SourceError(
                f"{name} holds Python objects, which are never unpickled. Save the numbers as a "
                f"float array."
            )
        self.dtype, self.start, self.fortran = dtype, stream.tell(), fortran
        if any(type(length) is not int or length < 0 for length in shape):
            raise damaged(name, f"its shape is {shape}")
        self.shape: tuple[int, ...] = tuple(shape)
        self.nbytes = prod(self.shape) * dtype.itemsize

    def array(self, name: str, raw: bytes) -> NDArray[np.float32]:
        if self.dtype.kind not in "fiub":
            raise SourceError(f"{name} holds {self.dtype}, no real numbers. Save it as float32.")
        stored = np.frombuffer(raw, dtype=self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            values = stored.astype(np.float32, copy=False)
        if self.fortran:  # the first axis runs fastest
            return np.ascontiguousarray(values.reshape(self.shape[::-1]).T)
        return values.reshape(self.shape)


def open_npy(reader: Reader) -> TensorFile:
    """The one array of a .npy file.

    Raises
    ------
    SourceError
        Damaged, cut, or an array of Python objects.
    """
    header = _Header(reader.name, reader.read_at(0, min(reader.size, _HEADER)))
    if reader.size < header.start + header.nbytes:
        raise SourceError(
            f"{reader.name} is incomplete: {reader.size:,} of {header.start + header.nbytes:,} "
            f"bytes are there. Copy or save it again."
        )
    if reader.size > header.start + header.nbytes:
        extra = reader.size - header.start - header.nbytes
        raise damaged(reader.name, f"{extra:,} bytes follow its array")
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
    headers, entries = {}, []
    for name, member in members.items():
        header = _Header(f"{name} in {reader.name}", _unpack(reader, name, member, _HEADER))
        if header.start + header.nbytes != member.size:
            raise damaged(reader.name, f"{name} is not as long as its shape says")
        headers[name] = header
        entries.append(
            Entry(name, header.shape, from_numpy(header.dtype), header.nbytes, reader.name)
        )

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        header = headers[entry.name]
        raw = _unpack(reader, entry.name, members[entry.name], members[entry.name].size)
        return header.array(entry.name, raw[header.start :])

    return TensorFile("npz", tuple(entries), read_entry, bare=len(entries) == 1)


def _unpack(reader: Reader, name: str, member: zips.Member, length: int) -> bytes:
    """The first `length` bytes of a member."""
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
