"""A file on the Hub, read by byte ranges and never as a whole.

One request asks where the file lies (the Hub answers with a signed address), then every read
is one ranged request there. A server that ignores the range would send hundreds of megabytes:
only status 206 with exactly the range asked for is read, and never more bytes than that.
"""

from __future__ import annotations

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

_TIMEOUT = 20.0  # seconds without a byte
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
    _blocks: list[tuple[int, bytes]] = field(default_factory=list)

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, from what was read before where it suffices."""
        readers.check_span(self.name, self.size, offset, length)
        if length == 0:
            return b""
        head = self._held(offset, length)
        if len(head) == length:
            return head
        start, missing = offset + len(head), length - len(head)
        if missing >= BLOCK:  # a tensor: exactly its bytes, and not kept twice
            return head + self._fetch(start, missing)
        # A block; at the end of the file the last block, where archives keep their directory.
        begin = max(0, min(start, self.size - BLOCK))
        block = self._fetch(begin, min(BLOCK, self.size - begin))
        self._blocks.append((begin, block))
        return head + block[start - begin : start - begin + missing]

    def _held(self, offset: int, length: int) -> bytes:
        """The longest start of a span that lies in one block."""
        for begin, block in self._blocks:
            if begin <= offset < begin + len(block):
                return block[offset - begin : offset - begin + length]
        return b""

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
                    return self._body(answer.iter_raw(), length)
                status = answer.status_code
        except httpx2.HTTPError as err:
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
        data = bytearray()
        for chunk in chunks:
            data += chunk
            if len(data) > length:
                break
        self.traffic.add(nbytes=len(data))
        if len(data) != length:
            raise SourceError(
                f"{self._host()} sent {len(data):,} of {length:,} bytes of {self.name}. Try again."
            )
        return bytes(data)

    def _host(self, article: str = "The") -> str:
        host = urlsplit(self._address.url).hostname if self._address else None
        return f"{article} Hub ({host})" if host else f"{article} Hub"
