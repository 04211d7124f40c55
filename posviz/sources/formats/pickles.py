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
from typing import TYPE_CHECKING

from posviz.sources.formats.pickle_machine import MAX_STEPS, Machine, PickleError
from posviz.sources.formats.pickle_opcodes import OPCODES

if TYPE_CHECKING:
    from posviz.sources.formats.inert import Storage

__all__ = ["MAX_BYTES", "MAX_STEPS", "PickleError", "Pickled", "interpret"]

MAX_BYTES = 64 << 20


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
    machine = Machine(steps)
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            machine.spend(1)
            if opcode.name == "STOP":
                value = machine.stack.pop()
                end, commands = stream.tell(), tuple(machine.commands)
                return Pickled(value, end, machine.storages, machine.steps, commands)
            OPCODES[opcode.name](machine, argument)
    except (ValueError, LookupError, AttributeError, OverflowError) as err:
        raise PickleError("it is cut short or no pickle") from err
    raise PickleError("it has no end")
