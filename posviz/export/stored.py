"""Tensors as a file holds them: rows in the stored type, buffers of a new length, whole files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.dtypes import BITS, FLOAT8, encode_float8

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.export.limits import Lengths
    from posviz.sources.formats import Entry, TensorFile

_LARGEST_HALF = float(np.finfo(np.float16).max)
_MASK = re.compile(r"(?:^|[._])(?:bias|masked_bias|mask|causal_mask|tril)$")
_INTEGERS = {"I64": "<i8", "I32": "<i4"}
_MAKE_MASKS = {"gpt2", "openai-gpt", "gpt_neo", "gpt_bigcode", "imagegpt", "decision_transformer"}


@dataclass(frozen=True)
class Tensor:
    """One tensor to be written: its stored shape and bytes."""

    shape: tuple[int, ...]
    content: bytes


@dataclass(frozen=True)
class Member:
    """One file to be written.

    Parameters
    ----------
    name : str
        Path relative to the checkpoint, with forward slashes.
    size : int
        Bytes.
    pieces : function
        The content from its start, in pieces that fit in little memory.
    """

    name: str
    size: int
    pieces: Callable[[], Iterator[bytes]]

    @classmethod
    def of(cls, name: str, content: bytes) -> Member:
        """A small file whose content is known."""
        return cls(name, len(content), lambda: iter((content,)))


def encode(values: NDArray[np.float32], dtype: str, *, name: str) -> Tensor:
    """Float32 values in a stored type, rounded to the nearest, ties to even.

    Raises
    ------
    SourceError
        A type that is not written, or values too large for float16.
    """
    if dtype in ("F32", "F64"):
        content = values.astype("<f4" if dtype == "F32" else "<f8").tobytes()
    elif dtype == "F16":
        if np.abs(values).max(initial=0.0) > _LARGEST_HALF:
            raise SourceError(
                f"{name} is stored as float16, and some of its new values are beyond "
                f"{_LARGEST_HALF:,.0f}. Choose another method, or save the table alone."
            )
        content = values.astype("<f2").tobytes()
    elif dtype == "BF16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        content = rounded.astype("<u2").tobytes()
    elif dtype in FLOAT8:
        content = encode_float8(values, dtype, name=name).tobytes()
    else:
        raise SourceError(
            f"{name} is stored as {dtype}, which is read but not written. Save the table alone, or "
            f"the model in float16 first."
        )
    return Tensor(values.shape, content)


def is_buffer(entry: Entry, parent: str, lengths: Lengths) -> str | None:
    """Whether a tensor is a constant of the old length: ``ids``, ``zeros``, ``mask``, or None.

    Parameters
    ----------
    entry : Entry
    parent : str
        Dotted path of the module that holds the position table's own module.
    lengths : Lengths
    """
    shape, prefix = entry.shape or (), f"{parent}." if parent else ""
    whole, leaf = entry.name, entry.name.rpartition(".")[2]
    counted = (lengths.old, lengths.old + lengths.offset)
    if not whole.startswith(prefix):
        return None
    if entry.dtype in _INTEGERS and shape and shape[-1] in counted and set(shape[:-1]) <= {1}:
        kinds = {"position_ids": "ids", "token_type_ids": "zeros"}
        return kinds.get(leaf) if whole == f"{prefix}{leaf}" else None
    square = len(shape) > 1 and shape[-1] == shape[-2] and shape[-1] in counted
    if _MASK.search(whole) and (
        (square and len(shape) > 2 and set(shape[:-2]) <= {1})
        or (square and leaf in ("tril", "mask", "causal_mask"))
        or (leaf == "masked_bias" and shape == ())
    ):
        return "mask"
    return None


def grown(
    file: TensorFile, entry: Entry, kind: str, lengths: Lengths, masks: dict[object, Tensor]
) -> Tensor | None:
    """A buffer at the new length, or None where it is not what it seemed.

    Parameters
    ----------
    file : TensorFile
        With ``stored``.
    entry : Entry
    kind : str
        As :func:`is_buffer` says.
    lengths : Lengths
    masks : dict
        Those that were grown before: every layer has the same.
    """
    shape = entry.shape or ()
    if not shape:  # the number that masks fill in has no length
        return Tensor((), _whole(file, entry))
    new = lengths.swapped(shape[-1])
    assert new is not None
    if kind == "mask":
        return _grown_mask(file, entry, new, masks)
    row = np.frombuffer(_whole(file, entry), _INTEGERS[entry.dtype or ""]).reshape(shape)
    first = int(row.flat[0])
    step = 0 if kind == "zeros" else 1
    if not np.array_equal(row, np.broadcast_to(first + step * np.arange(shape[-1]), shape)):
        return None
    values = np.broadcast_to(first + step * np.arange(new), (*shape[:-1], new)).astype(row.dtype)
    return Tensor(values.shape, values.tobytes())


def _grown_mask(
    file: TensorFile, entry: Entry, new: int, masks: dict[object, Tensor]
) -> Tensor | None:
    """A causal mask: one value up to the diagonal, one beyond, whatever the two are."""
    shape, content = entry.shape or (), _whole(file, entry)
    known = (entry.dtype, shape, content)
    if known not in masks:
        kind = np.dtype(f"u{BITS[entry.dtype or 'U8'] // 8}")
        square = np.frombuffer(content, kind).reshape(-1, shape[-1], shape[-1])
        inside, beyond = square[0, 0, 0], square[0, 0, -1]
        if not np.array_equal(
            square, np.broadcast_to(_causal(shape[-1], inside, beyond), square.shape)
        ):
            return None
        values = np.broadcast_to(_causal(new, inside, beyond), (*shape[:-2], new, new))
        masks[known] = Tensor(values.shape, values.tobytes())
    return masks[known]


def _causal(length: int, inside: NDArray[Any], beyond: NDArray[Any]) -> NDArray[Any]:
    return np.where(np.tri(length, dtype=bool), inside, beyond)


def _whole(file: TensorFile, entry: Entry) -> bytes:
    assert file.stored is not None
    return b"".join(file.stored(entry))


def is_made_anew(model_type: str | None) -> bool:
    """Whether a class of transformers makes its causal masks itself and ignores stored ones."""
    return model_type in _MAKE_MASKS


def rewritten(
    file: TensorFile, name: str, replaced: Mapping[str, Tensor], dropped: set[str], note: str
) -> Member:
    """A weight file as safetensors, some of its tensors replaced or left out, the rest streamed.

    Parameters
    ----------
    file : TensorFile
        With ``stored``.
    name : str
        Of the new file.
    replaced : mapping of str to Tensor
        In the stored type of the tensor they replace.
    dropped : set of str
    note : str
        What was done, for the header.
    """
    entries = [entry for entry in file.entries if entry.name not in dropped]
    if file.format != "safetensors":  # wider types first, so that every number lies aligned
        entries.sort(key=lambda entry: -BITS[entry.dtype or ""])
    metadata = {"format": "pt", **file.metadata, "posviz.note": note}
    header: dict[str, Any] = {"__metadata__": metadata}
    reached = 0
    for entry in entries:
        new = replaced.get(entry.name)
        shape = new.shape if new else entry.shape or ()
        end = reached + (len(new.content) if new else entry.nbytes or 0)
        header[entry.name] = {
            "dtype": entry.dtype, "shape": list(shape), "data_offsets": [reached, end],
        }  # fmt: skip
        reached = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    start = len(text).to_bytes(8, "little") + text
    stored = file.stored
    assert stored is not None

    def pieces() -> Iterator[bytes]:
        yield start
        for entry in entries:
            new = replaced.get(entry.name)
            if new is not None:
                yield new.content
            else:
                yield from stored(entry)

    return Member(name, len(start) + reached, pieces)
