"""A pickle read as data: nothing in it is ever imported, called or built.

A pickle is a program for a small stack machine. The standard library tells how each opcode is
read (``pickletools``, which executes none of them); the machine here runs them on plain
containers. A class is an inert :class:`Global`, an instance an inert :class:`Inert`, and of
all functions only torch's tensor builders are understood, as descriptions of where numbers
lie. So a checkpoint that carries an optimizer, an argparse namespace or code to run still
gives its tensors, and the rest stays data.

Bounds: a number of steps, places to remember things at, and keys turned into short text (a key
that is a deeply shared tuple would take exponential time to hash).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posviz.sources.formats.pickle_machine import MAX_STEPS, Machine, PickleError
from posviz.sources.formats.pickle_opcodes import BY_CODE

if TYPE_CHECKING:
    from posviz.sources.formats.inert import Storage

__all__ = ["MAX_BYTES", "MAX_STEPS", "PickleError", "Pickled", "interpret"]

MAX_BYTES = 64 << 20
_STOP = ord(".")


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
    machine = Machine(steps)
    at, taken = start, 1
    try:
        # Thousands of times a file: what is asked for most comes first, without a call.
        while (code := data[at]) != _STOP:
            at += 1
            taken += 1
            if taken > machine.steps:
                machine.spend(taken)
            opcode = BY_CODE[code]
            if opcode is None:
                raise PickleError("it is cut short or no pickle")
            run, width, is_text, read = opcode
            argument: Any = None
            if width == 1:
                argument = data[at]
                at += 1
            elif width:
                end = at + width
                argument = int.from_bytes(data[at:end], "little")
                at = end
            elif is_text:
                begin = at + 4
                at = begin + int.from_bytes(data[at:begin], "little")
                argument = str(data[begin:at], "utf-8", "surrogatepass")
            elif width is None:
                stream.seek(at)
                argument = read(stream)
                at = stream.tell()
            run(machine, argument)
        machine.spend(taken)
        value = machine.stack.pop()
    except (ValueError, LookupError, AttributeError, OverflowError) as err:
        raise PickleError("it is cut short or no pickle") from err
    return Pickled(value, at + 1, machine.storages, machine.steps, tuple(machine.commands))
