"""Bytes at an offset: the one thing every format reader asks for.

A file on disk, an upload in memory and a file behind ranged HTTP requests all answer the
same question, so a format is written once and never touches more of a file than it names.
"""

from __future__ import annotations

import os
import stat
import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol

from posviz.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SMALL = 1 << 16
_PIECE = 4 << 20


@dataclass
class Traffic:
    """What opening one checkpoint has cost so far: bytes read, and requests if remote.

    A byte of a file on this machine or of an upload counts once, however often it is looked at,
    so that what was read is a share of the file; of a remote file every byte that was sent counts.
    """

    bytes_read: int = 0
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, nbytes: int = 0, requests: int = 0) -> None:
        """Count a read; readers of one checkpoint may run beside each other."""
        with self._lock:
            self.bytes_read += nbytes
            self.requests += requests


class Spans:
    """Stretches of one file that have been read, joined where they meet."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._lock = threading.Lock()

    def add(self, start: int, end: int) -> int:
        """Take in a stretch; the bytes of it that were in none before."""
        with self._lock:
            first = bisect_left(self._ends, start)
            last = bisect_right(self._starts, end)
            met = list(zip(self._starts[first:last], self._ends[first:last], strict=True))
            held = sum(min(old_end, end) - max(old, start) for old, old_end in met)
            if met:
                self._starts[first:last] = [min(start, met[0][0])]
                self._ends[first:last] = [max(end, met[-1][1])]
            else:
                self._starts.insert(first, start)
                self._ends.insert(first, end)
            return end - start - held


class Reader(Protocol):
    """One file, readable at any offset.

    ``remote`` is true where every read is a request, so that readers keep their first reads
    small and their limits tight.
    """

    @property
    def name(self) -> str:
        """Base name of the file, for messages and for its ending."""

    @property
    def size(self) -> int:
        """How many bytes the file holds."""

    @property
    def remote(self) -> bool:
        """Whether a read is a request."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`; SourceError where the file ends before."""


class LocalFile:
    """A regular file on this machine.

    Nothing stays open between reads: each one opens the file, checks that it is still the
    file that was first seen, and closes it. A pipe or device that carries a checkpoint's name
    is refused without waiting for it.
    """

    remote = False

    def __init__(self, path: Path, traffic: Traffic, *, name: str | None = None) -> None:
        self.name = name or path.name
        self._path = path
        self._traffic = traffic
        descriptor, status = self._open()
        os.close(descriptor)
        self.size = status.st_size
        self._identity = _identity(status)
        self._start = b""  # the first bytes, which every format asks for again; all of a small file
        self._seen = Spans()

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`."""
        check_span(self.name, self.size, offset, length)
        start = self._start  # another thread may put a shorter one there
        if self.size <= _SMALL and not start:
            start = self._start = self._read(0, self.size)
        if offset + length <= len(start):
            return start[offset : offset + length]
        data = self._read(offset, length)
        if offset == 0 and length <= _SMALL:
            self._start = data
        return data

    def _read(self, offset: int, length: int) -> bytes:
        descriptor, status = self._open()
        try:
            if _identity(status) != self._identity:
                raise SourceError(f"{self.name} changed while it was being read. Open it again.")
            parts = []
            while length > 0:
                part = os.pread(descriptor, min(length, 1 << 30), offset)
                if not part:
                    raise SourceError(f"{self.name} changed while it was being read. Try again.")
                parts.append(part)
                self._traffic.add(nbytes=self._seen.add(offset, offset + len(part)))
                offset += len(part)
                length -= len(part)
            return parts[0] if len(parts) == 1 else b"".join(parts)
        except OSError as err:
            raise SourceError(f"{self.name} could not be read: {err.strerror}.") from err
        finally:
            os.close(descriptor)

    def _open(self) -> tuple[int, os.stat_result]:
        try:
            # Non-blocking, so that a pipe without a writer is refused instead of waited for.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as err:
            raise SourceError(f"{self.name} could not be opened: {err.strerror}.") from err
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise SourceError(
                f"{self.name} is not a regular file (it is a folder, pipe or device). "
                f"Give a checkpoint file."
            )
        return descriptor, status


class MemoryFile:
    """An upload: bytes, or a seekable binary stream that stays in memory or on disk."""

    remote = False

    def __init__(self, name: str, content: bytes | IO[bytes], traffic: Traffic) -> None:
        self.name = name
        self._content = content
        self._traffic = traffic
        self._lock = threading.Lock()
        self._seen = Spans()
        self.size = len(content) if isinstance(content, bytes) else content.seek(0, os.SEEK_END)

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`."""
        check_span(self.name, self.size, offset, length)
        self._traffic.add(nbytes=self._seen.add(offset, offset + length))
        if isinstance(self._content, bytes):
            return self._content[offset : offset + length]
        with self._lock:
            self._content.seek(offset)
            data = self._content.read(length)
        if len(data) != length:
            raise SourceError(f"{self.name} ended while it was being read. Upload it again.")
        return bytes(data)


@dataclass(frozen=True)
class Part:
    """A stretch of another file that is a file of its own, such as a stored archive member."""

    whole: Reader
    start: int
    size: int

    @property
    def name(self) -> str:
        """The name of the whole file, which is the one a person knows."""
        return self.whole.name

    @property
    def remote(self) -> bool:
        """As the whole file."""
        return self.whole.remote

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset` of this part."""
        check_span(self.name, self.size, offset, length)
        return self.whole.read_at(self.start + offset, length)


def pieces(reader: Reader, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
    """A stretch of a file, or the rest of it, in pieces that fit in little memory."""
    end = reader.size if length is None else offset + length
    for start in range(offset, end, _PIECE):
        yield reader.read_at(start, min(_PIECE, end - start))


def check_span(name: str, size: int, offset: int, length: int) -> None:
    """Refuse a span that lies outside the file, before anything is allocated for it."""
    if offset < 0 or length < 0 or offset + length > size:
        raise SourceError(
            f"{name} is damaged or incomplete: it points to bytes {offset:,} to "
            f"{offset + length:,}, and the file has {size:,}. Download or save it again."
        )


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
