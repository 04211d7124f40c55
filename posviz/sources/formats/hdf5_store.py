"""Addresses and links of an HDF5 file: the smallest pieces that its structures are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from posviz.sources.readers import Reader

_MOST_AT_ONCE = 16 << 20
_BUDGET = 256 << 20  # bytes of structure that one file may make us read
_READ_COSTS = 512  # bytes that a read counts for, however little it takes
_BLOCK = 4 << 10
_MOST_BLOCKS = 1_024
_LONGEST_NAME = 1_000


@dataclass
class Store:
    """A file and the widths of the addresses and lengths in it.

    Parameters
    ----------
    reader : Reader
    offset_size, length_size : int
        4 or 8 bytes.
    """

    reader: Reader
    offset_size: int
    length_size: int
    _read: int = field(default=0, repr=False)
    _blocks: dict[int, bytes] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.reader.name

    def read(self, address: int, length: int) -> bytes:
        """A piece of structure."""
        self._read += length + _READ_COSTS
        if length > _MOST_AT_ONCE or self._read > _BUDGET:
            raise damaged(self.name, "its structure is larger than any weights need")
        number, begin = divmod(address, _BLOCK)
        if begin + length > _BLOCK or (number + 1) * _BLOCK > self.reader.size:
            return self.reader.read_at(address, length)
        block = self._blocks.get(number)  # headers lie close together
        if block is None:
            if len(self._blocks) == _MOST_BLOCKS:
                self._blocks.clear()
            block = self._blocks[number] = self.reader.read_at(number * _BLOCK, _BLOCK)
        return block[begin : begin + length]

    def number(self, address: int, width: int) -> int:
        """A whole number at an address."""
        return int.from_bytes(self.read(address, width), "little")

    def address(self, body: bytes, at: int) -> int:
        """An address inside a message."""
        return self._field(body, at, self.offset_size)

    def length(self, body: bytes, at: int) -> int:
        """A length inside a message."""
        return self._field(body, at, self.length_size)

    def is_undefined(self, address: int) -> bool:
        """Whether an address stands for "nowhere"."""
        return address == (1 << 8 * self.offset_size) - 1

    def is_endless(self, length: int) -> bool:
        """Whether a length stands for "without limit"."""
        return length == (1 << 8 * self.length_size) - 1

    def text(self, raw: bytes, start: int) -> str:
        """A name that ends with a zero byte, inside a heap of names."""
        end = raw.find(b"\0", start, start + _LONGEST_NAME)
        if end < 0:
            raise damaged(self.name, f"a name in it has more than {_LONGEST_NAME:,} bytes")
        return raw[start:end].decode("utf-8", "replace")

    def link(self, body: bytes) -> tuple[str, int | None]:
        """A link message: its name, and the address of an object in this file or None."""
        flags = body[1] if len(body) > 1 else 0
        at = 2
        kind = 0
        if flags & 0x08:
            kind, at = body[at], at + 1
        at += 8 if flags & 0x04 else 0
        at += 1 if flags & 0x10 else 0
        width = 1 << (flags & 3)
        length = self._field(body, at, width)
        if length > _LONGEST_NAME:
            raise damaged(self.name, f"a name in it has {length:,} bytes")
        name = body[at + width : at + width + length]
        if kind != 0:  # soft, external or made by a user
            return name.decode("utf-8", "replace"), None
        return name.decode("utf-8", "replace"), self.address(body, at + width + length)

    def _field(self, body: bytes, at: int, width: int) -> int:
        if at + width > len(body):
            raise damaged(self.name, "a message in it is cut short")
        return int.from_bytes(body[at : at + width], "little")
