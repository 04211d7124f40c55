"""What a command is, and the pieces of grammar that commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posviz.cli.output import Answer
    from posviz.sources import Access


@dataclass(frozen=True)
class Command:
    """One verb of the command line.

    Parameters
    ----------
    summary : str
        One line for the help.
    configure : function (ArgumentParser) -> None
        Adds its arguments. Called at every start, so it imports nothing heavy.
    run : function (Namespace) -> Answer
    """

    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Answer]


class LazyKeys(Collection[str]):
    """The keys of a registry that is imported only when somebody asks for them.

    argparse asks when the option is used or the help is printed; every other start stays
    free of the import.
    """

    def __init__(self, registry: Callable[[], Collection[str]]) -> None:
        self._registry = registry

    def __contains__(self, key: object) -> bool:
        return key in self._registry()

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry())

    def __len__(self) -> int:
        return len(self._registry())


def methods() -> Collection[str]:
    """The ways to stretch a table, for :class:`LazyKeys`."""
    from posviz.interpolation import METHODS

    return METHODS


def grids() -> Collection[str]:
    """Where new positions may lie, for :class:`LazyKeys`."""
    from posviz.interpolation import GRIDS

    return GRIDS


REF = "a path, hub:OWNER/NAME, a preset, demo:NAME, run:NAME, sinusoidal:LxD …"


def add_ref(options: argparse.ArgumentParser) -> None:
    """REF and `--parameter`, which every command that reads one table takes."""
    options.add_argument("ref", metavar="REF", help=REF)
    options.add_argument("--parameter", metavar="NAME", help="which table, where there are several")


def access() -> Access:
    """What the command line may open: all that its user may, with the Hub token in HF_TOKEN.

    A token that is merely saved on the machine is not sent, here as on the pages.
    """
    from posviz.sources import Access

    return Access(token=os.environ.get("HF_TOKEN", "").strip() or False)


def count(text: str) -> int:
    """A whole number of at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return number


def grid_size(text: str) -> tuple[int, int]:
    """Height and width, written HxW.

    >>> grid_size("14x16")
    (14, 16)
    """
    height, cross, width = text.lower().partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(f"expected HEIGHTxWIDTH such as 14x14, found {text!r}")
    return count(height), count(width)
