"""The small models that posviz ships: the tables that need no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.local import open_folder
from posviz.sources.opening import Origin

if TYPE_CHECKING:
    from posviz.sources.access import Access
    from posviz.sources.checkpoint import Checkpoint

DEMOS = Path(__file__).parents[1] / "data" / "demos"


def names() -> tuple[str, ...]:
    """The demos that are there."""
    found = DEMOS.iterdir() if DEMOS.is_dir() else ()
    return tuple(sorted(path.name for path in found if (path / "config.json").is_file()))


def open_demo(ref: str, access: Access) -> Checkpoint:
    """``demo:NAME``: a shipped model.

    Raises
    ------
    SourceError
        No such demo; the sentence names those there are.
    """
    name = ref.partition(":")[2]
    if name not in names():
        choices = ", ".join(f"demo:{known}" for known in names()) or "none"
        raise SourceError(f"There is no demo called {name}. The demos are: {choices}.")
    return open_folder(DEMOS / name, Origin(ref, "demo", name))
