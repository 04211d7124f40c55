"""PyTorch checkpoints, zip and legacy: a pickle of descriptions, and blocks of numbers.

The pickle is read as data (see :mod:`posviz.sources.formats.pickles`), never unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats import objects, zips
from posviz.sources.formats.dtypes import BITS, decode, decode_span
from posviz.sources.formats.inert import Inert, Storage, View
from posviz.sources.formats.outline import outline
from posviz.sources.formats.pickles import MAX_BYTES, MAX_STEPS, PickleError, interpret
from posviz.sources.formats.tensors import MAX_TENSORS, Entry, TensorFile, brief, damaged
from posviz.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_MAGIC = 0x1950A86A20F9469CFC6C
_PIECE = 4 << 20
_MOST_REPEATED = 1 << 22  # elements of an expanded view, which takes no room in the file
_MOST_GAP = 1 << 16  # bytes between the members of an archive that one request may include

Span = Callable[[Storage, int, int], bytes]


def open_zip(reader: Reader) -> TensorFile:
    """The tensors of a zip checkpoint (torch.save since 1.6, and TorchScript).

    Raises
    ------
    SourceError
        Damaged, compressed, or with a pickle beyond the bounds.
    """
    members = zips.directory(reader)
    pickles = [name for name in members if re.fullmatch(r"(?:[^/]*/)?data\.pkl", name)]
    if len(pickles) != 1:
        raise SourceError(
            f"{reader.name} is a zip archive without the data.pkl of a PyTorch checkpoint. "
            f"Unpack it and open the checkpoint inside."
        )
    root = pickles[0].removesuffix("data.pkl")
    order = members.get(f"{root}byteorder")
    if order is not None and _member(reader, order, "byteorder", 16).strip() != b"little":
        raise SourceError(f"{reader.name} was saved on a big-endian machine, which is not read.")
    try:
        pickled = interpret(_member(reader, members[pickles[0]], "data.pkl", MAX_BYTES))
    except PickleError as err:
        raise damaged(reader.name, f"its data.pkl cannot be read, {err}") from err

    def span(storage: Storage, start: int, length: int) -> bytes:
        member = members.get(f"{root}data/{storage.key}")
        if member is None:
            raise damaged(reader.name, f"the archive lacks data/{brief(storage.key)}")
        _check_plain(reader, member, f"data/{brief(storage.key)}")
        if start + length > member.size:
            raise damaged(reader.name, f"data/{brief(storage.key)} is shorter than data.pkl says")
        together = member.end - member.offset <= member.packed + _MOST_GAP
        if reader.remote and together and length * 2 > member.size:  # one request instead of two
            whole = reader.read_at(member.offset, member.end - member.offset)
            begin = zips.data_start(reader, member, whole) - member.offset + start
            return whole[begin : begin + length]
        return reader.read_at(zips.data_start(reader, member) + start, length)

    return _tensor_file(reader, "pytorch-zip", pickled.value, span, pickled.commands)


def open_legacy(reader: Reader) -> TensorFile:
    """The tensors of a checkpoint in torch's format from before 1.6.

    Raises
    ------
    SourceError
        Cut short, big-endian, or with a pickle beyond the bounds.
    """
    head = 1 << (16 if reader.remote else 20)
    while True:
        data = reader.read_at(0, min(head, reader.size))
        try:
            parts, end, storages, commands = _legacy_parts(data)
            break
        except PickleError as err:
            if len(data) == min(reader.size, MAX_BYTES) or "steps" in str(err):
                raise damaged(reader.name, f"its pickle cannot be read, {err}") from err
            head = min(head * 8, MAX_BYTES)
    system, value, keys = parts[2:] if len(parts) == 5 else (None, None, None)
    if not isinstance(keys, list):
        raise damaged(reader.name, "it does not follow PyTorch's format")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise SourceError(f"{reader.name} was saved on a big-endian machine, which is not read.")
    starts: dict[str, int] = {}
    for key in keys:
        storage = storages.get(key) if isinstance(key, str) else None
        if storage is None or storage.dtype is None:  # how long it is cannot be known
            break
        starts[key] = end
        end += 8 + storage.count * BITS[storage.dtype] // 8
    if end > reader.size:
        raise SourceError(
            f"{reader.name} is incomplete: {reader.size:,} of {end:,} bytes are there. Download or "
            f"save it again."
        )

    def span(storage: Storage, start: int, length: int) -> bytes:
        at = starts.get(storage.key)
        if at is None:
            raise damaged(reader.name, f"storage {brief(storage.key)} is missing")
        if int.from_bytes(reader.read_at(at, 8), "little") != storages[storage.key].count:
            raise damaged(reader.name, f"storage {brief(storage.key)} is not where it should be")
        return reader.read_at(at + 8 + start, length)

    return _tensor_file(reader, "pytorch-legacy", value, span, commands)


def _legacy_parts(
    data: bytes,
) -> tuple[list[object], int, dict[str, Storage], tuple[str, ...]]:
    """Magic number, version, system, the object and its storages' keys; the end; the commands."""
    parts: list[object] = []
    commands: tuple[str, ...] = ()
    end, steps, storages = 0, MAX_STEPS, {}
    while len(parts) < 5 and parts[:1] in ([], [_MAGIC]):
        pickled = interpret(data, end, steps)
        end, steps = pickled.end, pickled.steps_left
        storages.update(pickled.storages)
        parts.append(pickled.value)
        commands += pickled.commands
    return parts, end, storages, commands


def _member(reader: Reader, member: zips.Member, name: str, limit: int) -> bytes:
    _check_plain(reader, member, name)
    if member.size > limit:
        raise damaged(reader.name, f"its {name} claims {member.size:,} bytes")
    return reader.read_at(zips.data_start(reader, member), member.size)


def _check_plain(reader: Reader, member: zips.Member, name: str) -> None:
    if not member.is_plain:
        packed = "encrypted" if member.encrypted else "compressed"
        raise SourceError(
            f"{reader.name} holds {name} {packed}, which PyTorch itself never does. Unpack it and "
            f"save it again with torch.save."
        )


def _tensor_file(
    reader: Reader, format_: str, value: object, span: Span, commands: tuple[str, ...]
) -> TensorFile:
    views: dict[str, View] = {}
    entries: list[Entry] = []
    strange: dict[str, str] = {}  # tensors that are not read, and what they are stored as
    arrays: list[str] = []  # of NumPy, as the state of a random generator is
    twice: set[str] = set()
    for found_name, found in objects.tensors(reader.name, value):
        name = found_name or "tensor"  # the file is nothing but one
        if isinstance(found, Inert) and objects.is_array(found):
            arrays.append(name)
            continue
        if isinstance(found, Inert):
            strange.setdefault(name, objects.maker(found))
            continue
        dtype = found.storage.dtype
        if dtype is None:
            strange.setdefault(name, "numbers of an unknown type")
            continue
        if name in views:
            twice |= {name} if views[name] != found else set()
            continue
        if len(views) == MAX_TENSORS:
            raise damaged(reader.name, f"it holds more than {MAX_TENSORS:,} tensors")
        views[name] = found
        size = prod(found.shape) * BITS[dtype] // 8
        entries.append(Entry(name, found.shape, dtype, size, reader.name))

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        return _read(reader.name, entry, views[entry.name], span)

    def read_span(entry: Entry, first: int, last: int) -> NDArray[np.float32]:
        view = views[entry.name]
        if not _is_plain(view):
            return read_entry(entry).reshape(-1)[first:last]
        size = BITS[entry.dtype or "U8"] // 8
        return decode_span(
            lambda at, length: span(view.storage, view.offset * size + at, length),
            entry.dtype or "",
            (first, last),
            name=entry.name,
        )

    return TensorFile(
        format_,
        tuple(entries),
        read_entry,
        objects.settings(value),
        warnings=(
            *_asked(reader.name, commands),
            *_warnings(reader.name, value, strange, twice),
            *([] if entries else _only_arrays(reader.name, arrays)),
        ),
        read_span=read_span,
        stored=lambda entry: _stored(entry, views[entry.name], span),
        bare=isinstance(value, View),
        whole=isinstance(value, dict) and len(views) == len(value),
        outline=lambda: outline(value, {views[entry.name]: entry for entry in reversed(entries)}),
    )


def _asked(file: str, commands: tuple[str, ...]) -> tuple[str, ...]:
    if not commands:
        return ()
    names = ", ".join(brief(name) for name in commands)
    return (
        f"{file} asks whoever loads it to call {names}, which weights never need: it may be an "
        f"attack. Nothing was called here; do not load it with a program that unpickles.",
    )


def _warnings(
    file: str, value: object, strange: dict[str, str], twice: set[str]
) -> tuple[str, ...]:
    said = []
    if isinstance(value, Inert):
        said.append(
            f"{file} is a whole pickled object ({objects.maker(value)}), not a set of weights. Its "
            f"tensors were read as data; no class was imported."
        )
    if strange:
        name, kind = next(iter(strange.items()))
        more = f" So are {len(strange) - 1:,} more." if len(strange) > 1 else ""
        said.append(f"{brief(name)} is a tensor that is stored as {kind} and not read.{more}")
    if twice:
        said.append(
            f"{file} holds {counted(len(twice), 'tensor')} under the name of another one "
            f"({brief(min(twice))}); the first of a name is shown."
        )
    return tuple(said)


def _only_arrays(file: str, arrays: list[str]) -> list[str]:
    if not arrays:
        return []
    return [
        f"{file} holds no tensor but {counted(len(arrays), 'array')} of NumPy "
        f"({brief(arrays[0])}), which are not read from a pickle. Save them with numpy.savez."
    ]


def _stored(entry: Entry, view: View, span: Span) -> Iterator[bytes]:
    """A view's bytes row by row; one with strides is gathered from the block that it spans."""
    size = BITS[entry.dtype or "U8"] // 8
    if _is_plain(view):
        end = size * (view.offset + prod(view.shape))
        for start in range(size * view.offset, end, _PIECE):
            yield span(view.storage, start, min(_PIECE, end - start))
    elif prod(view.shape):
        lengths = zip(view.shape, view.strides, strict=True)
        reach = 1 + sum((length - 1) * stride for length, stride in lengths)
        flat = np.frombuffer(span(view.storage, size * view.offset, size * reach), f"V{size}")
        steps = tuple(size * stride for stride in view.strides)
        yield np.lib.stride_tricks.as_strided(flat, view.shape, steps).tobytes()


def _is_plain(view: View) -> bool:
    """Whether the numbers lie row by row in one piece of a storage of their own type."""
    steps = [prod(view.shape[axis + 1 :]) for axis in range(len(view.shape))]
    end = view.offset + prod(view.shape)
    return list(view.strides) == steps and end <= view.storage.count and view.storage.dtype != "U8"


def _read(file: str, entry: Entry, view: View, span: Span) -> NDArray[np.float32]:
    """A view's numbers; a view with strides is read as the block it spans, then gathered."""
    dtype, shape, strides = entry.dtype or "", view.shape, view.strides
    size = BITS[dtype] // 8
    count = prod(shape)
    if not count:
        return np.zeros(shape, np.float32)
    reach = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    available = view.storage.count * (BITS[view.storage.dtype or dtype] // 8) // size
    if view.offset + reach > available and view.storage.dtype != dtype:
        available = view.storage.count // size
    if view.offset + reach > available:
        raise damaged(file, f"{entry.name} reaches beyond its storage")
    if count > available and count > _MOST_REPEATED:
        raise SourceError(
            f"{entry.name} in {file} repeats the same numbers over and over (an expanded view). "
            f"Save it again with .contiguous()."
        )
    raw = span(view.storage, view.offset * size, reach * size)
    flat = decode(raw, dtype, (reach,), name=entry.name)
    if _is_plain(view):
        return flat.reshape(shape)  # and so it need not be copied to be kept
    steps = tuple(stride * flat.itemsize for stride in strides)
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, shape, steps))
