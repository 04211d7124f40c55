"""The stack machine that a pickle is a program for, on plain containers and within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posviz.sources.formats.inert import Inert, as_key, is_command

if TYPE_CHECKING:
    from posviz.sources.formats.inert import Storage

MAX_STEPS = 750_000  # some 25,000 tensors
_MOST_COMMANDS = 3  # that are named


class PickleError(Exception):
    """The stream is no pickle, is cut short, or goes beyond the bounds; text says which."""


class Machine:
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
        """Count work that the pickle asks for; PickleError once it is too much."""
        self.steps -= steps
        if self.steps < 0:
            raise PickleError(f"it has more than {MAX_STEPS:,} steps")

    def opened(self) -> list[Any]:
        """Everything since the last mark."""
        items = self.stack
        self.stack = self.below.pop()
        return items

    def set_item(self, key: object, value: object) -> None:
        """Put an item into the container on top."""
        target = self.stack[-1]
        if isinstance(target, dict):
            target[as_key(key)] = value
        elif isinstance(target, Inert):
            target.mapping[as_key(key)] = value
        else:
            raise PickleError("it sets an item of something that has none")

    def extend(self, items: list[Any]) -> None:
        """Append items to the list on top."""
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Inert):
            target.items.extend(items)
        else:
            raise PickleError("it appends to something that is no list")
