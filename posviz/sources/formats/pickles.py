"""A pickle read as data: nothing in it is ever imported, called or built.

A pickle is a program for a small stack machine. The standard library decodes its opcodes
(``pickletools``, which executes none of them); the machine here runs them on plain
containers. A class is an inert :class:`Global`, an instance an inert :class:`Inert`, and of
all functions only torch's tensor builders are understood, as descriptions of where numbers
lie. So a checkpoint that carries an optimizer, an argparse namespace or code to run still
gives its tensors, and the rest stays data.

Bounds: a number of steps, places to remember things at, and keys turned into short text (a key
that is a deeply shared tuple would take exponential time to hash).
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posviz.sources.formats.inert import (
    Global,
    Inert,
    Storage,
    as_key,
    call,
    is_command,
    storage,
    work,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 64 << 20
MAX_STEPS = 750_000  # some 25,000 tensors
_MAX_MEMO = 1 << 32  # larger places to remember things at could be chosen to hash alike


_MOST_COMMANDS = 3  # that are named


class PickleError(Exception):
    """The stream is no pickle, is cut short, or goes beyond the bounds; text says which."""


class _Machine:
    """The stack machine of one pickle."""

    def __init__(self, steps: int) -> None:
        self.steps = steps  # that are left
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under open marks
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}
        self.commands: dict[str, None] = {}  # asked to be called, in order; a few are enough

    def asks(self, maker: object) -> None:
        """Note a call that would act on the machine; nothing is ever called."""
        if is_command(maker) and len(self.commands) < _MOST_COMMANDS:
            self.commands[str(maker)] = None

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise PickleError(f"it has more than {MAX_STEPS:,} steps")

    def opened(self) -> list[Any]:
        """Everything since the last mark."""
        items = self.stack
        self.stack = self.below.pop()
        return items

    def set_item(self, key: object, value: object) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            target[as_key(key)] = value
        elif isinstance(target, Inert):
            target.mapping[as_key(key)] = value
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


@dataclass(frozen=True)
class Pickled:
    """What one pickle says.

    Parameters
    ----------
    value : object
        Plain containers, and what inert.py describes.
    end : int
        Where the pickle ended.
    storages : dict
        Every storage it named, by key.
    steps_left : int
    commands : tuple of str
        Functions it asks to be called that would act on the machine, such as ``os.system``.
    """

    value: object
    end: int
    storages: dict[str, Storage]
    steps_left: int
    commands: tuple[str, ...] = ()


def interpret(data: bytes, start: int = 0, steps: int = MAX_STEPS) -> Pickled:
    """One pickle as plain data.

    Parameters
    ----------
    data : bytes
        May hold more after the pickle.
    start : int
        Where the pickle begins.
    steps : int
        How many it may take.

    Raises
    ------
    PickleError
    """
    stream = io.BytesIO(data)
    stream.seek(start)
    machine = _Machine(steps)
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            machine.spend(1)
            if opcode.name == "STOP":
                value = machine.stack.pop()
                end, commands = stream.tell(), tuple(machine.commands)
                return Pickled(value, end, machine.storages, machine.steps, commands)
            _OPCODES[opcode.name](machine, argument)
    except (ValueError, LookupError, AttributeError, OverflowError) as err:
        raise PickleError("it is cut short or no pickle") from err
    raise PickleError("it has no end")


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
    if not 0 <= argument < _MAX_MEMO:
        raise PickleError("it remembers things at impossible places")
    machine.memo[argument] = machine.stack[-1]


def _memoize(machine: _Machine, _: Any) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _tuple_1(machine: _Machine, _: Any) -> None:
    machine.stack[-1] = (machine.stack[-1],)


def _tuple_2(machine: _Machine, _: Any) -> None:
    second = machine.stack.pop()
    machine.stack[-1] = (machine.stack[-1], second)


def _tuple_3(machine: _Machine, _: Any) -> None:
    third, second = machine.stack.pop(), machine.stack.pop()
    machine.stack[-1] = (machine.stack[-1], second, third)


def _collected(make: Callable[[list[Any]], object]) -> Callable[[_Machine, Any], None]:
    def run(machine: _Machine, _: Any) -> None:
        items = machine.opened()
        machine.stack.append(make(items))

    return run


def _as_dict(items: list[Any]) -> dict[str, Any]:
    return {as_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


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
    machine.spend(work(maker, arguments))
    machine.asks(maker)
    machine.stack.append(call(maker, arguments))


def _new_with_keywords(machine: _Machine, _: Any) -> None:
    machine.stack.pop()
    _reduce(machine, _)


def _instance(machine: _Machine, argument: Any) -> None:
    items = machine.opened()
    module, _, name = argument.partition(" ")
    machine.asks(Global(module, name))
    machine.stack.append(Inert(Global(module, name), tuple(items)))


def _object(machine: _Machine, _: Any) -> None:
    maker, *arguments = machine.opened()
    machine.asks(maker)
    machine.stack.append(Inert(maker, tuple(arguments)))


def _build(machine: _Machine, _: Any) -> None:
    state = machine.stack.pop()
    if isinstance(machine.stack[-1], Inert):  # an OrderedDict's attributes are of no interest
        machine.stack[-1].state = state


def _persistent(machine: _Machine, _: Any) -> None:
    found = storage(machine.stack.pop())
    if isinstance(found, Storage):
        found = machine.storages.setdefault(found.key, found)
    machine.stack.append(found)


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
    "TUPLE1": _tuple_1, "TUPLE2": _tuple_2, "TUPLE3": _tuple_3,
    "GET": _get, "BINGET": _get, "LONG_BINGET": _get,
    "PUT": _put, "BINPUT": _put, "LONG_BINPUT": _put, "MEMOIZE": _memoize,
    "SETITEM": _set_item, "SETITEMS": _set_items,
    "APPEND": _append, "APPENDS": _extend, "ADDITEMS": _extend,
    "GLOBAL": _global, "STACK_GLOBAL": _stack_global, "REDUCE": _reduce, "NEWOBJ": _reduce,
    "NEWOBJ_EX": _new_with_keywords, "INST": _instance, "OBJ": _object, "BUILD": _build,
    "BINPERSID": _persistent, "PERSID": _persistent_text, "PROTO": _nothing, "FRAME": _nothing,
}  # fmt: skip
"""What each opcode does; those that are not here (extension codes, buffers) are refused."""
