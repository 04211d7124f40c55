"""safetensors: a JSON header, then the raw numbers.

The header is checked as strictly as the format's own library does, and more (repeated names),
because the same check must hold for a header that came over the network.
"""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

from posviz.errors import SourceError
from posviz.sources.formats import jsons
from posviz.sources.formats.dtypes import BITS, decode, decode_span
from posviz.sources.formats.tensors import (
    MAX_AXES,
    MAX_TENSORS,
    Entry,
    TensorFile,
    brief,
    damaged,
    excerpt,
)
from posviz.sources.readers import pieces
from posviz.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_LIMIT = 25_000_000  # the Hub's own; 100,000 tensors with names of 190 letters fit
_MARKS = 8  # commas and braces of a header entry with four axes
_INT = frozenset({int})


def open_safetensors(reader: Reader) -> TensorFile:
    """The tensors of one safetensors file, after its header has been checked.

    Raises
    ------
    SourceError
        Empty, cut, over the header limit, or a header that does not describe the file.
    """
    name = reader.name
    header, start = _header(reader)
    metadata = _metadata(name, header.pop("__metadata__", None))
    spans: dict[str, tuple[int, int]] = {}
    entries = []
    reached, in_order = 0, True
    for tensor, fields in header.items():
        try:
            dtype, shape, (begin, end) = fields["dtype"], fields["shape"], fields["data_offsets"]
            sound = (
                type(shape) is list
                and len(shape) <= MAX_AXES
                and type(begin) is type(end) is int  # true is no number
                and _INT.issuperset(map(type, shape))
                and 0 <= begin <= end
                and min(shape, default=0) >= 0
                and prod(shape) * BITS[dtype] == 8 * (end - begin)
            )
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise _fault(name, tensor, fields)
        spans[tensor] = (begin, end)
        entries.append(Entry(tensor, tuple(shape), dtype, end - begin, name))
        in_order = in_order and begin == reached
        reached = end
    _check_end(reader, start + (reached if in_order else _cover(name, spans)))

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        begin, end = spans[entry.name]
        raw = reader.read_at(start + begin, end - begin)
        return decode(raw, entry.dtype or "", entry.shape or (), name=entry.name)

    def read_span(entry: Entry, first: int, last: int) -> NDArray[np.float32]:
        begin = start + spans[entry.name][0]
        return decode_span(
            lambda at, length: reader.read_at(begin + at, length),
            entry.dtype or "",
            (first, last),
            name=entry.name,
        )

    def stored(entry: Entry) -> Iterator[bytes]:
        begin, end = spans[entry.name]
        return pieces(reader, start + begin, end - begin)

    return TensorFile(
        "safetensors",
        tuple(entries),
        read_entry,
        metadata=metadata,
        read_span=read_span,
        stored=stored,
    )


def _header(reader: Reader) -> tuple[dict[str, Any], int]:
    name, size = reader.name, reader.size
    if size < 8:
        raise SourceError(
            f"{name} is incomplete: it has {size} bytes, and a safetensors file starts with 8 "
            f"bytes that give the length of its header. Download it again."
        )
    length = int.from_bytes(reader.read_at(0, 8), "little")
    if size > 8 and reader.read_at(8, 1) != b"{":
        raise SourceError(
            f"{name} is not a safetensors file, although its name says so: no header follows "
            f"its first 8 bytes. Check how it was saved or downloaded."
        )
    if length > _LIMIT:
        raise SourceError(
            f"{name} declares a header of {length:,} bytes; at most {_LIMIT:,} are read. "
            f"Save the position table alone in a file of its own."
        )
    if 8 + length > size:
        raise SourceError(
            f"{name} is incomplete: its header alone should end at byte {8 + length:,}, and "
            f"the file has {size:,} bytes. Download it again."
        )
    raw = reader.read_at(8, length)
    announced = raw.count(b'"data_offsets"')
    if announced > MAX_TENSORS:
        raise SourceError(
            f"{name} announces {announced:,} tensors; at most {MAX_TENSORS:,} are read. Save "
            f"the position table alone in a file of its own."
        )
    most = jsons.MOST_MARKS + _MARKS * announced
    header = jsons.parse(raw, name, what="its header", most_marks=most, strict=True)
    if not isinstance(header, dict):
        raise damaged(name, "its header is not a JSON object")
    # Every pair has its colon, so a pair is missing where a name came twice. A colon within a
    # text looks the same; then the header is read again, at half the speed, to see which it is.
    inside = sum(len(fields) for fields in header.values() if isinstance(fields, dict))
    if raw.count(b":") != len(header) + inside:
        _refuse_repeated(raw, name)
    return header, 8 + length


class _RepeatedNameError(Exception):
    pass


def _refuse_repeated(raw: bytes, name: str) -> None:
    """Refuse a header that gives one name twice, which JSON readers pass over in silence."""
    try:
        json.loads(raw, object_pairs_hook=_once)
    except _RepeatedNameError as err:
        raise damaged(name, f"its header names {brief(str(err))} twice") from err
    except RecursionError as err:  # Python's own reader goes less deep than the first one
        raise damaged(name, "its header is not valid JSON") from err


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedNameError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def _metadata(name: str, found: object) -> dict[str, str]:
    if found is None:  # some writers leave the note out or store null
        return {}
    if not isinstance(found, dict):
        raise damaged(name, "the __metadata__ of its header is not a set of text pairs")
    for key, value in found.items():
        if not isinstance(value, str):
            raise SourceError(
                f"{name}: the metadata value {excerpt(key)} must be text; it is {excerpt(value)}. "
                f"The tensors may be sound: save the file again with text metadata."
            )
    return found


def _fault(name: str, tensor: str, fields: object) -> SourceError:
    """What is wrong with a header entry that is not sound."""
    if not isinstance(fields, dict):
        return damaged(name, f"the header entry of {brief(tensor)} is not a JSON object")
    dtype, shape, span = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    tensor = brief(tensor)
    if not isinstance(dtype, str) or dtype not in BITS:
        return SourceError(
            f"{name}: {tensor} has the unknown type {excerpt(dtype)}. Save it as F32."
        )
    if not _are_counts(shape):
        return damaged(name, f"the shape of {tensor} is {excerpt(shape)}")
    if not _are_counts(span) or len(span) != 2 or span[0] > span[1]:
        return damaged(name, f"the byte range of {tensor} is {excerpt(span)}")
    length = span[1] - span[0]
    return damaged(name, f"{tensor} is {dtype} of shape {excerpt(shape)}, not {length:,} bytes")


def _are_counts(value: object) -> TypeGuard[list[int]]:
    """Whether a JSON value is a list of whole numbers from 0 upwards (true is no number)."""
    return isinstance(value, list) and {*map(type, value)} <= _INT and min(value, default=0) >= 0


def _cover(name: str, spans: dict[str, tuple[int, int]]) -> int:
    """Where the tensors end; they must follow each other with no hole and no overlap."""
    reached = 0
    for tensor, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin != reached:
            fault = "overlaps another tensor" if begin < reached else "leaves a hole before it"
            raise damaged(name, f"{brief(tensor)} {fault}")
        reached = end
    return reached


def _check_end(reader: Reader, end: int) -> None:
    """The last tensor must end where the file does."""
    if end > reader.size:
        raise SourceError(
            f"{reader.name} is incomplete: {reader.size:,} of {end:,} bytes are there. "
            f"Download it again."
        )
    if end < reader.size:
        extra = reader.size - end
        raise damaged(reader.name, f"{counted(extra, 'byte')} too many at its end")
