"""What each opcode of a pickle does to the stack machine: only to plain data, nothing is called."""

from __future__ import annotations

import pickletools
from typing import TYPE_CHECKING, Any, NamedTuple

from posviz.sources.formats.inert import Global, Inert, Storage, as_key, call, storage, work
from posviz.sources.formats.pickle_machine import PickleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from posviz.sources.formats.pickle_machine import Machine

_MAX_MEMO = 1 << 32  # larger places to remember things at could be chosen to hash alike


def _pushes_argument(machine: Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _pushes(make: Callable[[], object]) -> Callable[[Machine, Any], None]:
    return lambda machine, _: machine.stack.append(make())


def _mark(machine: Machine, _: Any) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _pop(machine: Machine, _: Any) -> None:
    if machine.stack:
        machine.stack.pop()
    else:  # POP on a mark drops the mark
        machine.opened()


def _pop_mark(machine: Machine, _: Any) -> None:
    machine.opened()


def _get(machine: Machine, argument: Any) -> None:
    machine.stack.append(machine.memo[argument])


def _put(machine: Machine, argument: Any) -> None:
    if not 0 <= argument < _MAX_MEMO:
        raise PickleError("it remembers things at impossible places")
    machine.memo[argument] = machine.stack[-1]


def _memoize(machine: Machine, _: Any) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _tuple_1(machine: Machine, _: Any) -> None:
    machine.stack[-1] = (machine.stack[-1],)


def _tuple_2(machine: Machine, _: Any) -> None:
    second = machine.stack.pop()
    machine.stack[-1] = (machine.stack[-1], second)


def _tuple_3(machine: Machine, _: Any) -> None:
    third, second = machine.stack.pop(), machine.stack.pop()
    machine.stack[-1] = (machine.stack[-1], second, third)


def _collected(make: Callable[[list[Any]], object]) -> Callable[[Machine, Any], None]:
    def run(machine: Machine, _: Any) -> None:
        items = machine.opened()
        machine.stack.append(make(items))

    return run


def _as_dict(items: list[Any]) -> dict[str, Any]:
    return {as_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def _set_item(machine: Machine, _: Any) -> None:
    value = machine.stack.pop()
    key = machine.stack.pop()
    machine.set_item(key, value)


def _set_items(machine: Machine, _: Any) -> None:
    items = machine.opened()
    for key, value in zip(items[::2], items[1::2], strict=True):
        machine.set_item(key, value)


def _append(machine: Machine, _: Any) -> None:
    item = machine.stack.pop()
    machine.extend([item])


def _extend(machine: Machine, _: Any) -> None:
    machine.extend(machine.opened())


def _global(machine: Machine, argument: Any) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(Global(module, name))


def _stack_global(machine: Machine, _: Any) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise PickleError("it names a class by something that is no text")
    machine.stack.append(Global(module, name))


def _reduce(machine: Machine, _: Any) -> None:
    arguments, maker = machine.stack.pop(), machine.stack.pop()
    machine.spend(work(maker, arguments))
    machine.asks(maker)
    machine.stack.append(call(maker, arguments))


def _new_with_keywords(machine: Machine, _: Any) -> None:
    machine.stack.pop()
    _reduce(machine, _)


def _instance(machine: Machine, argument: Any) -> None:
    items = machine.opened()
    module, _, name = argument.partition(" ")
    machine.asks(Global(module, name))
    machine.stack.append(Inert(Global(module, name), tuple(items)))


def _object(machine: Machine, _: Any) -> None:
    maker, *arguments = machine.opened()
    machine.asks(maker)
    machine.stack.append(Inert(maker, tuple(arguments)))


def _build(machine: Machine, _: Any) -> None:
    state = machine.stack.pop()
    if isinstance(machine.stack[-1], Inert):  # an OrderedDict's attributes are of no interest
        machine.stack[-1].state = state


def _persistent(machine: Machine, _: Any) -> None:
    found = storage(machine.stack.pop())
    if isinstance(found, Storage):
        found = machine.storages.setdefault(found.key, found)
    machine.stack.append(found)


def _persistent_text(machine: Machine, argument: Any) -> None:
    machine.stack.append(Inert("persistent", argument))


def _nothing(machine: Machine, _: Any) -> None:
    """Framing and protocol marks carry no data."""


OPCODES: dict[str, Callable[[Machine, Any], None]] = {
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


class Opcode(NamedTuple):
    """How the argument of an opcode is read, and what it does."""

    run: Callable[[Machine, Any], None]
    width: int | None  # bytes of an argument that is a small whole number, 0 for none
    is_text: bool  # whether the argument is a text, its length before it in four bytes
    read: Callable[[BinaryIO], Any]  # any other argument, from where it begins


_WIDTHS = {"uint1": 1, "uint2": 2, "uint4": 4}


def _decoded(known: pickletools.OpcodeInfo) -> Opcode | None:
    run = OPCODES.get(known.name)
    if run is None:
        return None
    if known.arg is None:
        return Opcode(run, 0, False, lambda _: None)
    is_text = known.name == "BINUNICODE"
    return Opcode(run, _WIDTHS.get(known.arg.name), is_text, known.arg.reader)


_KNOWN = {ord(known.code): _decoded(known) for known in pickletools.opcodes}
BY_CODE: tuple[Opcode | None, ...] = tuple(_KNOWN.get(code) for code in range(256))
"""The opcodes by the byte that stands for them; None for those that are refused."""
