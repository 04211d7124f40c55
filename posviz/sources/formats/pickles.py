"""A pickle read as data: nothing in it is ever imported, called or built.

A pickle is a program for a small stack machine. The standard library decodes its opcodes
(``pickletools``, which executes none of them); the machine here runs them on plain
containers. A class is an inert :class:`Global`, an instance an inert :class:`Inert`, and of
all functions only torch's tensor builders are understood, as descriptions of where numbers
lie. So a checkpoint that carries an optimizer, an argparse namespace or code to run still
gives its tensors, and the rest stays data.

Bounds: a number of opcodes, and keys turned into text (a key that is a deeply shared tuple
would take exponential time to hash).
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 64 << 20
_MAX_OPCODES = 1_000_000
_MAX_AXES = 16

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


class PickleError(Exception):
    """The stream is no pickle, is cut short, or goes beyond the bounds; text says which."""


@dataclass(frozen=True)
class Global:
    """The name of a class or function; never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


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


class _Machine:
    """The stack machine of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under open marks
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}

    def opened(self) -> list[Any]:
        """Everything since the last mark."""
        items = self.stack
        self.stack = self.below.pop()
        return items

    def run(self, name: str, argument: Any) -> None:
        _OPCODES[name](self, argument)

    def set_item(self, key: object, value: object) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            target[_key(key)] = value
        elif isinstance(target, Inert):
            target.mapping[_key(key)] = value
        else:
            raise PickleError("it sets an item of something that has none")

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Inert):
            target.items.extend(items)
        else:
            raise PickleError("it appends to something that is no list")

    def persistent(self, identity: Any) -> object:
        """A storage, from torch's (``"storage"``, type, key, place, count) tuples."""
        if not isinstance(identity, tuple) or not identity:
            return Inert("persistent", identity)
        kind = _text(identity[0])
        if kind == "module" and len(identity) > 1:  # a class with its source text
            return identity[1]
        if kind != "storage" or len(identity) < 5:
            return Inert("persistent", identity)
        made_of, key, _, count = identity[1:5]
        key = _text(key)
        if not isinstance(made_of, Global) or not isinstance(key, str) or not _is_count(count):
            raise PickleError("it describes a storage that makes no sense")
        return self.storages.setdefault(key, Storage(key, _STORAGES.get(made_of.name), count))

    def call(self, maker: Any, arguments: Any) -> object:
        """The result of a call, where it is one of the few that describe data."""
        if isinstance(maker, Global) and isinstance(arguments, tuple):
            if maker.module == "torch._utils" and maker.name in _TENSORS:
                return _view(maker.name, arguments) or Inert(maker, arguments)
            if maker.module == "torch._utils" and maker.name in _PARAMETERS and arguments:
                return arguments[0]
            if maker == Global("torch._tensor", "_rebuild_from_type_v2") and len(arguments) == 4:
                return self.call(arguments[0], arguments[2])
            if maker == Global("collections", "OrderedDict"):
                return _ordered(arguments)
        return Inert(maker, arguments)


def interpret(data: bytes, start: int = 0) -> tuple[object, int, dict[str, Storage]]:
    """One pickle as plain data.

    Parameters
    ----------
    data : bytes
        May hold more after the pickle.
    start : int
        Where the pickle begins.

    Returns
    -------
    the value, where the pickle ended, and every storage it named, by key

    Raises
    ------
    PickleError
    """
    stream = io.BytesIO(data)
    stream.seek(start)
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if number >= _MAX_OPCODES:
                raise PickleError(f"it has more than {_MAX_OPCODES:,} steps")
            if opcode.name == "STOP":
                return machine.stack.pop(), stream.tell(), machine.storages
            machine.run(opcode.name, argument)
    except (ValueError, LookupError, AttributeError, OverflowError) as err:
        raise PickleError("it is cut short or no pickle") from err
    raise PickleError("it has no end")


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _key(key: object) -> str:
    if isinstance(key, (str, bytes)):
        return str(_text(key))
    if isinstance(key, (int, float)) or key is None:
        return str(key)
    return f"<{type(key).__name__}>"


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
    if maker == "_rebuild_tensor_v3":  # types that have no storage class of their own
        named = [part for part in arguments[4:] if isinstance(part, Global)]
        dtype = next((_DTYPES.get(part.name) for part in named if part.module == "torch"), None)
        storage = Storage(storage.key, dtype, storage.count)
    return View(storage, offset, shape, strides)


def _ordered(arguments: tuple[Any, ...]) -> dict[str, object]:
    pairs = arguments[0] if arguments and isinstance(arguments[0], list) else []
    return {
        _key(pair[0]): pair[1]
        for pair in pairs
        if isinstance(pair, (tuple, list)) and len(pair) == 2
    }


def _pushes_argument(machine: _Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _pushes(make: Callable[[], object]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(make())


def _mark(machine: _Machine, _: Any) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _pop(machine: _Machine, _: Any) -> None:
    if machine.stack:
        machine.stack.pop()
    else:  # POP on a mark drops the mark
        machine.opened()


def _pop_mark(machine: _Machine, _: Any) -> None:
    machine.opened()


def _get(machine: _Machine, argument: Any) -> None:
    machine.stack.append(machine.memo[argument])


def _put(machine: _Machine, argument: Any) -> None:
    machine.memo[argument] = machine.stack[-1]


def _memoize(machine: _Machine, _: Any) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _short_tuple(length: int) -> Callable[[_Machine, Any], None]:
    def run(machine: _Machine, _: Any) -> None:
        if len(machine.stack) < length:
            raise PickleError("it takes more than it has put down")
        machine.stack[-length:] = [tuple(machine.stack[-length:])]

    return run


def _collected(make: Callable[[list[Any]], object]) -> Callable[[_Machine, Any], None]:
    def run(machine: _Machine, _: Any) -> None:
        items = machine.opened()
        machine.stack.append(make(items))

    return run


def _as_dict(items: list[Any]) -> dict[str, Any]:
    return {_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def _set_item(machine: _Machine, _: Any) -> None:
    value = machine.stack.pop()
    key = machine.stack.pop()
    machine.set_item(key, value)


def _set_items(machine: _Machine, _: Any) -> None:
    items = machine.opened()
    for key, value in zip(items[::2], items[1::2], strict=True):
        machine.set_item(key, value)


def _append(machine: _Machine, _: Any) -> None:
    item = machine.stack.pop()
    machine.extend([item])


def _extend(machine: _Machine, _: Any) -> None:
    machine.extend(machine.opened())


def _global(machine: _Machine, argument: Any) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(Global(module, name))


def _stack_global(machine: _Machine, _: Any) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise PickleError("it names a class by something that is no text")
    machine.stack.append(Global(module, name))


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, maker = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.call(maker, arguments))


def _new_with_keywords(machine: _Machine, _: Any) -> None:
    machine.stack.pop()
    _reduce(machine, _)


def _instance(machine: _Machine, argument: Any) -> None:
    items = machine.opened()
    module, _, name = argument.partition(" ")
    machine.stack.append(Inert(Global(module, name), tuple(items)))


def _object(machine: _Machine, _: Any) -> None:
    maker, *arguments = machine.opened()
    machine.stack.append(Inert(maker, tuple(arguments)))


def _build(machine: _Machine, _: Any) -> None:
    state = machine.stack.pop()
    if isinstance(machine.stack[-1], Inert):  # an OrderedDict's attributes are of no interest
        machine.stack[-1].state = state


def _persistent(machine: _Machine, _: Any) -> None:
    machine.stack.append(machine.persistent(machine.stack.pop()))


def _persistent_text(machine: _Machine, argument: Any) -> None:
    machine.stack.append(Inert("persistent", argument))


def _nothing(machine: _Machine, _: Any) -> None:
    """Framing and protocol marks carry no data."""


_OPCODES: dict[str, Callable[[_Machine, Any], None]] = {
    **dict.fromkeys(
        ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
         "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
         "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        _pushes_argument,
    ),
    "NONE": _pushes(lambda: None), "NEWTRUE": _pushes(lambda: True),
    "NEWFALSE": _pushes(lambda: False), "EMPTY_LIST": _pushes(list),
    "EMPTY_TUPLE": _pushes(tuple), "EMPTY_DICT": _pushes(dict), "EMPTY_SET": _pushes(list),
    "MARK": _mark, "POP": _pop, "POP_MARK": _pop_mark,
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "LIST": _collected(list), "TUPLE": _collected(tuple), "FROZENSET": _collected(list),
    "DICT": _collected(_as_dict),
    "TUPLE1": _short_tuple(1), "TUPLE2": _short_tuple(2), "TUPLE3": _short_tuple(3),
    "GET": _get, "BINGET": _get, "LONG_BINGET": _get,
    "PUT": _put, "BINPUT": _put, "LONG_BINPUT": _put, "MEMOIZE": _memoize,
    "SETITEM": _set_item, "SETITEMS": _set_items,
    "APPEND": _append, "APPENDS": _extend, "ADDITEMS": _extend,
    "GLOBAL": _global, "STACK_GLOBAL": _stack_global, "REDUCE": _reduce, "NEWOBJ": _reduce,
    "NEWOBJ_EX": _new_with_keywords, "INST": _instance, "OBJ": _object, "BUILD": _build,
    "BINPERSID": _persistent, "PERSID": _persistent_text, "PROTO": _nothing, "FRAME": _nothing,
}  # fmt: skip
"""What each opcode does; those that are not here (extension codes, buffers) are refused."""
