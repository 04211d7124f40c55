"""What a pickle says, as data: classes and objects that are never built, and torch's tensors.

Of all functions that a checkpoint calls, only those that describe where numbers lie are
understood, and they are described, not called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

_MAX_AXES = 16
_LONGEST_KEY = 200  # characters
_MOST_PARTS = 8  # of a key that is a tuple
_SCALARS = (str, bytes, int, float, type(None))

_STORAGES = {
    "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
    "DoubleStorage": "F64", "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16",
    "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL", "UntypedStorage": "U8",
    "ComplexFloatStorage": "C64", "ComplexDoubleStorage": "C128",
}  # fmt: skip
_DTYPES = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "bool": "BOOL", "complex64": "C64", "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}  # fmt: skip
_TENSORS = {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"}
_PARAMETERS = {"_rebuild_parameter", "_rebuild_parameter_with_state"}


@dataclass(frozen=True)
class Global:
    """The name of a class or function; never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


# Calls that no weights need and that could do anything on the machine of whoever unpickles them.
_COMMANDS = {
    "asyncio", "ctypes", "importlib", "multiprocessing", "nt", "os", "pickle", "posix", "pty",
    "runpy", "shutil", "socket", "subprocess", "sys", "timeit", "webbrowser",
}  # fmt: skip
_BUILTINS = {"builtins", "__builtin__", "__builtins__"}
_COMMANDS_OF_PYTHON = {"__import__", "breakpoint", "compile", "eval", "exec", "execfile", "open"}


def is_command(maker: object) -> bool:
    """Whether a call of this would act on the machine instead of building data."""
    if not isinstance(maker, Global):
        return False
    if maker.module in _BUILTINS:
        return maker.name in _COMMANDS_OF_PYTHON
    return maker.module.partition(".")[0] in _COMMANDS


_FROM_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
_ORDERED = Global("collections", "OrderedDict")


@dataclass(eq=False)
class Inert:
    """An object that was not built: what it would have been made of."""

    maker: object
    arguments: object
    state: object = None
    items: list[object] = field(default_factory=list)
    mapping: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Storage:
    """A block of numbers outside the pickle: its key, stored type and number of elements."""

    key: str
    dtype: str | None
    count: int


@dataclass(frozen=True)
class View:
    """A tensor as a view of a storage; offset and strides count elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def storage(identity: Any) -> object:
    """A persistent identity as a storage, where it is torch's.

    Those are (``"storage"``, type, key, place, count) tuples, or ("module", class, …) for a
    class with its source text.

    Raises
    ------
    ValueError
        It calls itself a storage and makes no sense.
    """
    if not isinstance(identity, tuple) or not identity:
        return Inert("persistent", identity)
    kind = _text(identity[0])
    if kind == "module" and len(identity) > 1:
        return identity[1]
    if kind != "storage" or len(identity) < 5:
        return Inert("persistent", identity)
    made_of, key, _, count = identity[1:5]
    key = _text(key)
    if not isinstance(made_of, Global) or not isinstance(key, str) or not _is_count(count):
        raise ValueError("a storage that makes no sense")
    return Storage(key, _STORAGES.get(made_of.name), count)


def call(maker: Any, arguments: Any) -> object:
    """The result of a call, where it is one of the few that describe data; else inert."""
    if isinstance(arguments, tuple) and len(arguments) == 4 and maker == _FROM_TYPE:
        maker, arguments = arguments[0], arguments[2]  # a subclass of Tensor, made once and no more
    if isinstance(maker, Global) and isinstance(arguments, tuple):
        if maker.module == "torch._utils":
            if maker.name in _TENSORS:
                return _view(maker.name, arguments) or Inert(maker, arguments)
            if maker.name in _PARAMETERS and arguments:
                return arguments[0]
        elif maker == _ORDERED:
            return _ordered(arguments)
    return Inert(maker, arguments)


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def as_key(key: object) -> str:
    """A dictionary key as short text that prints.

    A deeply shared tuple would take exponential time to hash, and a key of megabytes would be
    copied wherever it is used.
    """
    if type(key) is str and len(key) <= _LONGEST_KEY and key.isprintable():
        return key  # nearly every key
    if isinstance(key, tuple) and len(key) <= _MOST_PARTS:
        parts = [as_key(part) if isinstance(part, _SCALARS) else "…" for part in key]
        return f"({', '.join(parts)})"
    if isinstance(key, bytes):
        key = key[: _LONGEST_KEY + 1].decode("latin-1")
    if isinstance(key, int) and abs(key) >> 64:
        return "<int>"
    if not isinstance(key, _SCALARS):
        return f"<{type(key).__name__}>"
    text = str(key)
    if len(text) > _LONGEST_KEY:
        text = f"{text[:_LONGEST_KEY]}…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _counts(value: object) -> tuple[int, ...] | None:
    if isinstance(value, Inert) and isinstance(value.arguments, tuple) and value.arguments:
        value = value.arguments[0]  # torch.Size((L, d))
    if isinstance(value, (tuple, list)) and len(value) <= _MAX_AXES and all(map(_is_count, value)):
        return tuple(value)
    return None


def _view(maker: str, arguments: tuple[Any, ...]) -> View | None:
    if len(arguments) < 4:
        return None
    storage, offset = arguments[:2]
    shape, strides = _counts(arguments[2]), _counts(arguments[3])
    if not isinstance(storage, Storage) or not _is_count(offset) or shape is None:
        return None
    if strides is None or len(strides) != len(shape):
        return None
    if min(shape, default=2) < 2:
        # What lies between the numbers of an axis with one number is whatever its writer liked.
        plain = (prod(shape[axis + 1 :]) for axis in range(len(shape)))
        strides = tuple(
            stride if length > 1 else step
            for length, stride, step in zip(shape, strides, plain, strict=True)
        )
    if maker == "_rebuild_tensor_v3":  # types that have no storage class of their own
        named = [part for part in arguments[4:] if isinstance(part, Global)]
        dtype = next((_DTYPES.get(part.name) for part in named if part.module == "torch"), None)
        storage = Storage(storage.key, dtype, storage.count)
    return View(storage, offset, shape, strides)


def work(maker: object, arguments: object) -> int:
    """How many steps a call stands for: a list that is named twice is gone through twice."""
    if isinstance(arguments, tuple) and arguments and isinstance(arguments[0], list):
        return len(arguments[0]) if maker == _ORDERED else 0
    return 0


def _ordered(arguments: tuple[Any, ...]) -> dict[str, object]:
    pairs = arguments[0] if arguments and isinstance(arguments[0], list) else []
    return {
        as_key(pair[0]): pair[1]
        for pair in pairs
        if isinstance(pair, (tuple, list)) and len(pair) == 2
    }
