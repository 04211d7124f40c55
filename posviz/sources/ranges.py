"""A file on the Hub, read by byte ranges and never as a whole.

One request asks where the file lies (the Hub answers with a signed address), then every read
is one ranged request there. A server that ignores the range would send hundreds of megabytes:
only status 206 with exactly the range asked for is read (or 200 where that is the whole of a
small file), and never more bytes than that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from posviz.errors import SourceError
from posviz.sources import readers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from posviz.sources.cache import RangeCache

BLOCK = 64 << 10
"""The least a request asks for, so that small reads of a header share one."""

_KEPT = 2 * BLOCK  # bytes of an answer that stays in memory; larger ones lie in the cache
_TIMEOUT = 20.0  # seconds without a byte
_GRACE, _SLOWEST = 20.0, 20_000  # seconds, and bytes a second after them: a drip never ends
_RETRIED = (401, 403, 416, 500, 502, 503, 504)  # a signed address may have expired


@dataclass(frozen=True)
class Address:
    """Where a file can be read, and the headers to send there."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class RemoteFile:
    """One file of a Hub repository at a fixed commit.

    Parameters
    ----------
    name : str
        Base name.
    size : int
        As the listing says; every answer must agree.
    locate : function
        Asks the Hub for the address; called again when an address has expired.
    traffic : Traffic
    cache : RangeCache or None
        Ranges read before, at the same commit.
    """

    name: str
    size: int
    locate: Callable[[], Address]
    traffic: readers.Traffic
    cache: RangeCache | None = None
    remote: bool = True
    _address: Address | None = None
    _answers: list[tuple[int, int, bytes | None]] = field(default_factory=list)

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, from what was read before where it suffices."""
        readers.check_span(self.name, self.size, offset, length)
        parts = []
        at, end = offset, offset + length
        while at < end:
            parts.append(self._held(at, end) or self._missing(at, end))
            at += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _held(self, at: int, end: int) -> bytes:
        """The longest start of a span that one earlier answer holds."""
        for begin, length, block in self._answers:
            if begin <= at < begin + length:
                if block is None and self.cache is not None:
                    block = self.cache.get(begin, length)
                if block is not None:
                    return block[at - begin : end - begin]
        return b""

    def _missing(self, at: int, end: int) -> bytes:
        """The span up to the next answer; no byte of an answer is asked for again."""
        after = min([begin for begin, _, _ in self._answers if begin > at], default=self.size)
        end = min(end, after)
        if end - at >= BLOCK:  # a tensor, or a directory: exactly its bytes
            begin, stop = at, end
        else:  # a block; at the end of the file the last block, where archives keep their directory
            before = [stop for start, length, _ in self._answers if (stop := start + length) <= at]
            begin = max(0, min(at, self.size - BLOCK), *before)
            stop = min(begin + BLOCK, after)
        data = self._fetch(begin, stop - begin)
        small = len(data) <= _KEPT
        if small or self.cache is not None:  # tensors are not kept twice
            self._answers.append((begin, len(data), data if small else None))
        return data[at - begin : end - begin]

    def _fetch(self, start: int, length: int) -> bytes:
        kept = self.cache.get(start, length) if self.cache else None
        if kept is not None:
            return kept
        data = self._request(start, length, again=True)
        if self.cache:
            self.cache.put(start, data)
        return data

    def _request(self, start: int, length: int, *, again: bool) -> bytes:
        import httpx2
        from huggingface_hub import get_session

        if self._address is None:
            self._address = self.locate()
        wanted = f"bytes={start}-{start + length - 1}"
        headers = {**self._address.headers, "Range": wanted, "Accept-Encoding": "identity"}
        try:
            with get_session().stream(
                "GET", self._address.url, headers=headers, timeout=_TIMEOUT
            ) as answer:
                self.traffic.add(requests=1)
                if answer.status_code == 206:
                    self._check_range(answer.headers.get("Content-Range"), start, length)
                whole = answer.status_code == 200 and (start, length) == (0, self.size)
                if answer.status_code == 206 or whole:  # of a small file the range is all of it
                    return self._body(answer.iter_raw(), length)
                status = answer.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as err:
            if again:
                return self._request(start, length, again=False)
            raise SourceError(
                f"{self.name} could not be read from {self._host('the')}: the connection failed. "
                f"Check the network and try again."
            ) from err
        if again and status in _RETRIED:
            self._address = None
            return self._request(start, length, again=False)
        if status == 200:
            raise SourceError(
                f"{self._host()} ignores byte ranges and would send all {self.size:,} bytes of "
                f"{self.name}. Download the file and open it from disk."
            )
        raise SourceError(
            f"{self._host()} answered {status} for a part of {self.name}. Try again later, or "
            f"download the file and open it from disk."
        )

    def _check_range(self, said: str | None, start: int, length: int) -> None:
        if said != f"bytes {start}-{start + length - 1}/{self.size}":
            raise SourceError(
                f"{self._host()} sent another part of {self.name} than was asked for "
                f"({said or 'no range'}). Download the file and open it from disk."
            )

    def _body(self, chunks: Iterable[bytes], length: int) -> bytes:
        data, late = bytearray(), False
        deadline = time.monotonic() + _GRACE + length / _SLOWEST
        for chunk in chunks:
            data += chunk
            late = time.monotonic() > deadline
            if len(data) > length or late:
                break
        self.traffic.add(nbytes=len(data))
        if len(data) < length and late:
            raise SourceError(
                f"{self._host()} is too slow: {len(data):,} of {length:,} bytes of {self.name} "
                f"came in {_GRACE + length / _SLOWEST:,.0f} seconds. Try again later, or download "
                f"the file and open it from disk."
            )
        if len(data) != length:
            raise SourceError(
                f"{self._host()} sent {len(data):,} of {length:,} bytes of {self.name}. Try again."
            )
        return bytes(data)

    def _host(self, article: str = "The") -> str:
        host = urlsplit(self._address.url).hostname if self._address else None
        return f"{article} Hub ({host})" if host else f"{article} Hub"
