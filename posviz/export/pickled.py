"""A PyTorch checkpoint with settings beside its weights, written anew as torch.save would.

The few opcodes that describe plain data and tensors are written one by one: no object is ever
pickled, and ``torch.load(weights_only=True)`` reads what comes out.
"""

from __future__ import annotations

import struct
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from posviz.export.archive import Stored, pieces, size
from posviz.export.lengths import FILE as CONFIG
from posviz.export.limits import follow
from posviz.export.stored import Member, Tensor
from posviz.sources.formats.objects import SETTINGS
from posviz.sources.formats.tensors import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from posviz.export.limits import Lengths
    from posviz.sources.formats import TensorFile
    from posviz.sources.formats.outline import Outline

_ROOT = "archive"  # what torch.save calls the folder in the archive where it knows no name
_CLASSES = {
    "F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "F64": "DoubleStorage",
    "I64": "LongStorage", "I32": "IntStorage", "I16": "ShortStorage", "I8": "CharStorage",
    "U8": "ByteStorage", "BOOL": "BoolStorage", "C64": "ComplexFloatStorage",
    "C128": "ComplexDoubleStorage",
}  # fmt: skip
_DTYPES = {
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
_EMPTY_ORDERED = b"ccollections\nOrderedDict\n)R"


def follow_settings(outline: Outline, file: str, lengths: Lengths) -> list[str]:
    """Let the settings beside the weights follow a new length; changes them in place.

    Returns
    -------
    list of str
        One line a change.
    """
    said = []
    waiting = [(key, outline.content.get(key)) for key in SETTINGS]
    for path, part in waiting:
        if isinstance(part, dict):
            lines = follow(CONFIG, part, lengths)
            said += [line.replace(f"{CONFIG}: ", f"{file}: {path}.", 1) for line in lines]
            waiting += [(f"{path}.{key}", inner) for key, inner in part.items()]
    return said


def told(outline: Outline, file: str) -> list[str]:
    """What of a checkpoint is not in the file that :func:`repickled` writes, a line each."""
    said = [
        f"{file}: {name or 'the optimizer'} without its running means, which belong to the "
        f"training at the old length; its settings are kept"
        for name in outline.emptied
    ]
    said += [
        f"{file}: {name} is a plain dictionary in place of {kind}, whose class no data-only file "
        f"can name"
        for name, kind in outline.plain.items()
    ]
    said += [
        f"{file}: {name} left out: {kind} is no plain data" for name, kind in outline.lost.items()
    ]
    return said


def repickled(
    file: TensorFile, outline: Outline, name: str, replaced: Mapping[str, Tensor],
    dropped: set[str],
) -> Member:  # fmt: skip
    """A pickled checkpoint with some tensors replaced or left out, the rest streamed.

    Parameters
    ----------
    file : TensorFile
        With ``stored``.
    outline : Outline
        Of that file.
    name : str
        Of the new file.
    replaced : mapping of str to Tensor
    dropped : set of str
    """
    writer = _Writer(replaced, dropped)
    written = b"\x80\x02" + writer.value(outline.content) + b"."
    stored = file.stored
    assert stored is not None

    def numbers(entry: Entry) -> Iterator[bytes]:
        new = replaced.get(entry.name)
        return iter((new.content,)) if new else stored(entry)

    def nbytes(entry: Entry) -> int:
        new = replaced.get(entry.name)
        return len(new.content) if new else entry.nbytes or 0

    def small(leaf: str, content: bytes) -> Stored:
        return Stored(f"{_ROOT}/{leaf}", len(content), lambda: iter((content,)))

    members = [small("data.pkl", written), small("byteorder", b"little")]
    members += [
        Stored(f"{_ROOT}/data/{key}", nbytes(entry), partial(numbers, entry))
        for key, entry in enumerate(writer.keys)
    ]
    members.append(small("version", b"3\n"))
    return Member(name, size(members), lambda: pieces(members))


class _Writer:
    """Plain values as opcodes of pickle protocol 2; ``keys`` are the tensors met, in order."""

    def __init__(self, replaced: Mapping[str, Tensor], dropped: set[str]) -> None:
        self._replaced = replaced
        self._dropped = dropped
        self.keys: dict[Entry, int] = {}

    def value(self, value: Any) -> bytes:
        if isinstance(value, Entry):
            return self._tensor(value)
        if isinstance(value, dict):
            items = b"".join(
                self.value(key) + self.value(part)
                for key, part in value.items()
                if not (isinstance(part, Entry) and part.name in self._dropped)
            )
            return b"}(" + items + b"u"
        if isinstance(value, list):
            return b"](" + b"".join(map(self.value, value)) + b"e"
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.value, value)) + b"t"
        return _plain(value)

    def _tensor(self, entry: Entry) -> bytes:
        new = self._replaced.get(entry.name)
        shape = new.shape if new else entry.shape or ()
        steps = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
        key = self.keys.setdefault(entry, len(self.keys))
        dtype = entry.dtype or ""
        own = _CLASSES.get(dtype)
        count = prod(shape) if own else len(new.content) if new else entry.nbytes or 0
        kind = _named("torch", own) if own else _named("torch.storage", "UntypedStorage")
        at = (_plain("storage"), kind, _plain(str(key)), _plain("cpu"), _plain(count))
        storage = b"(" + b"".join(at) + b"tQ"
        head = storage + _plain(0) + self.value(shape) + self.value(steps) + b"\x89"
        if own:  # requires no gradient, has no hooks
            call = _named("torch._utils", "_rebuild_tensor_v2")
            return call + b"(" + head + _EMPTY_ORDERED + b"tR"
        call = _named("torch._utils", "_rebuild_tensor_v3")
        return call + b"(" + head + _EMPTY_ORDERED + _named("torch", _DTYPES[dtype]) + b"tR"


def _named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _plain(value: str | float | bool | None) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        return b"\x8a\x08" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    text = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(text)) + text
