"""GGUF, the format of llama.cpp: typed keys, then a tensor directory, then the numbers.

The directory is walked by hand: every count is checked against what is left of the file
before anything is allocated or looped over, and only lists of text must be stepped through.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.formats import ggml
from posviz.sources.formats.tensors import (
    MAX_TENSORS,
    Entry,
    TensorFile,
    brief,
    check_name,
    damaged,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
            11: "<q", 12: "<d"}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_TEXT = 1 << 20
_MOST_STEPS = 3_000_000  # texts of all lists together, and lists in lists
_LONGEST_KEY = 256
_LONGEST_NAME = 256  # of a tensor; llama.cpp reads 63 letters
_LONGEST_KEPT = 4_096  # characters of a text that says something of the model
_MOST_KEYS = 100_000
_MOST_AXES = 8


class _Cursor:
    """A place in the file that only moves forwards, reading in large steps."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._step = 1 << (16 if reader.remote else 18)
        self._buffer, self._start = b"", 0
        self.position = 0
        self._steps = _MOST_STEPS

    def spend(self, steps: int) -> None:
        """Count what a file may make us go through one by one."""
        self._steps -= steps
        if self._steps < 0:
            raise damaged(self._reader.name, f"its lists hold more than {_MOST_STEPS:,} values")

    def take(self, length: int) -> bytes:
        begin = self.position - self._start
        if begin < 0 or begin + length > len(self._buffer):
            self._fill(length)
            begin = 0
        self.position += length
        return self._buffer[begin : begin + length]

    def skip(self, length: int) -> None:
        if length > self._reader.size - self.position:
            raise damaged(self._reader.name, f"it announces {length:,} bytes that are not there")
        self.position += length

    def number(self, code: str) -> int:
        return int(struct.unpack(code, self.take(struct.calcsize(code)))[0])

    def text(self) -> str:
        length = self.number("<Q")
        if length > _MOST_TEXT:
            raise damaged(self._reader.name, f"it holds a text of {length:,} bytes")
        return self.take(length).decode("utf-8", "replace")

    def skip_texts(self, count: int) -> None:
        """Step over texts in place; vocabularies hold hundreds of thousands."""
        if count * 8 > self._reader.size - self.position:
            raise damaged(self._reader.name, f"it announces {count:,} texts")
        self.spend(count)
        for _ in range(count):
            begin = self.position - self._start
            if begin + 8 > len(self._buffer):
                self._fill(8)
                begin = 0
            length = int.from_bytes(self._buffer[begin : begin + 8], "little")
            self.position += 8
            self.skip(length)
            if self.position > self._start + len(self._buffer):
                self._buffer, self._start = b"", self.position

    def _fill(self, length: int) -> None:
        left = self._reader.size - self.position
        if length > left:
            raise SourceError(
                f"{self._reader.name} is incomplete: its directory goes beyond its "
                f"{self._reader.size:,} bytes. Download it again."
            )
        self._start = self.position
        self._buffer = self._reader.read_at(self.position, min(max(length, self._step), left))


@dataclass(frozen=True)
class _Tensor:
    offset: int
    kind: ggml.Block


def open_gguf(reader: Reader) -> TensorFile:
    """The tensors of a GGUF file, and the keys of its model as a config.

    Raises
    ------
    SourceError
        Damaged, cut, big-endian, or with counts that the file cannot hold.
    """
    cursor = _Cursor(reader)
    cursor.take(4)
    version = cursor.number("<I")
    if version not in (2, 3):
        raise SourceError(
            f"{reader.name} is GGUF version {version}, or was written on a big-endian machine; "
            f"versions 2 and 3 are read. Convert the model again."
        )
    n_tensors, n_keys = cursor.number("<Q"), cursor.number("<Q")
    if n_tensors > MAX_TENSORS or n_keys > _MOST_KEYS:
        raise damaged(reader.name, f"it announces {n_tensors:,} tensors and {n_keys:,} keys")
    keys: dict[str, object] = {}
    for _ in range(n_keys):
        name = cursor.text()
        value = _value(reader, cursor, cursor.number("<I"))
        endless = isinstance(value, str) and len(value) > _LONGEST_KEPT  # a chat template
        if value is not None and not endless and len(name) <= _LONGEST_KEY:
            keys[name] = value
    entries, tensors = _directory(reader, cursor, n_tensors)
    start = _aligned(reader, cursor.position, keys)
    for entry in entries:
        if start + tensors[entry.name].offset + (entry.nbytes or 0) > reader.size:
            raise SourceError(
                f"{reader.name} is incomplete: {brief(entry.name)} lies beyond its {reader.size:,} "
                f"bytes. Download it again."
            )

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        tensor = tensors[entry.name]
        raw = reader.read_at(start + tensor.offset, entry.nbytes or 0)
        return ggml.decode(raw, tensor.kind, entry.shape or (), name=entry.name)

    return TensorFile("gguf", tuple(entries), read_entry, _config(keys))


def _value(reader: Reader, cursor: _Cursor, kind: int, depth: int = 0) -> object:
    """A key's value; lists are stepped over and give None."""
    if kind in _SCALARS:
        code = _SCALARS[kind]
        return struct.unpack(code, cursor.take(struct.calcsize(code)))[0]
    if kind == _STRING:
        return cursor.text()
    if kind != _ARRAY or depth > 3:
        raise damaged(reader.name, f"it holds a value of the unknown kind {kind}")
    inner, count = cursor.number("<I"), cursor.number("<Q")
    if inner in _SCALARS:
        cursor.skip(count * struct.calcsize(_SCALARS[inner]))
    elif inner == _STRING:
        cursor.skip_texts(count)
    elif count > 1000:
        raise damaged(reader.name, f"it nests {count:,} lists")
    else:
        cursor.spend(10 * count)
        for _ in range(count):
            _value(reader, cursor, inner, depth + 1)
    return None


def _directory(
    reader: Reader, cursor: _Cursor, count: int
) -> tuple[list[Entry], dict[str, _Tensor]]:
    entries, tensors = [], {}
    for _ in range(count):
        name = cursor.text()
        check_name(reader.name, name, most=_LONGEST_NAME)
        n_axes = cursor.number("<I")
        if n_axes > _MOST_AXES:
            raise damaged(reader.name, f"{brief(name)} has {n_axes:,} axes")
        shape = tuple(cursor.number("<Q") for _ in range(n_axes))[::-1]  # stored fastest first
        kind, offset = cursor.number("<I"), cursor.number("<Q")
        block = ggml.BLOCKS.get(kind)
        if block is None:
            raise SourceError(f"{reader.name}: {brief(name)} has the unknown type {kind}.")
        if name in tensors:
            raise damaged(reader.name, f"its directory names {brief(name)} twice")
        elements = prod(shape)
        if (shape[-1] if shape else 1) % block.elements:  # blocks never cross rows
            raise damaged(
                reader.name, f"rows of {brief(name)} do not fill blocks of {block.elements}"
            )
        entries.append(
            Entry(name, shape, block.name, elements // block.elements * block.nbytes, reader.name)
        )
        tensors[name] = _Tensor(offset, block)
    return entries, tensors


def _aligned(reader: Reader, position: int, keys: dict[str, object]) -> int:
    step = keys.get("general.alignment", 32)
    if type(step) is not int or not 1 <= step <= 1 << 20:
        raise damaged(reader.name, f"its alignment is {step}")
    return -(-position // step) * step


def _config(keys: dict[str, object]) -> dict[str, object]:
    """Keys of the model itself, without the architecture in front."""
    architecture = keys.get("general.architecture")
    config = {
        name.removeprefix(f"{architecture}."): value
        for name, value in keys.items()
        if name.startswith(f"{architecture}.")
    }
    return {"model_type": architecture, **config} if architecture else config
