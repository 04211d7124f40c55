"""A measurement in its own process: ``python -m posviz.model.worker``.

The parent writes one line of JSON to standard input, ``{"order": …, "access": …, "fetch": …}``,
and keeps it open; when it closes, the process ends. Each line of JSON on standard output has an
``event``: ``fetching`` with ``bytes`` and ``of``, ``opening``, those of
:mod:`posviz.model.transport`, then ``done`` or ``failed`` with a ``message``.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from posviz.errors import PosvizError
from posviz.processes import leave, say, take_order
from posviz.sources import Access

_EVERY = 0.5  # seconds between two looks at a download


def main() -> None:
    """Measure as the parent asks, and say how it goes."""
    order = take_order(leave)  # nothing is written to disk, so nothing is lost
    try:
        _measure(order)
        say("done")
    except PosvizError as err:
        say("failed", message=str(err))
    except MemoryError:
        say("failed", message=_NO_ROOM)
    except BrokenPipeError:  # the parent is gone
        pass
    leave()


def _measure(asked: dict[str, Any]) -> None:
    access = access_of(asked["access"])
    folder = _fetch(asked["order"]["ref"], access) if asked["fetch"] else None
    say("opening")
    from posviz.model.measuring import Order, measure
    from posviz.model.runner import open_model
    from posviz.model.transport import packed

    order = Order(**{**asked["order"], "methods": tuple(asked["order"]["methods"])})
    model = open_model(order.ref, access=access, folder=folder)
    for event in measure(model, order):
        say(**packed(event))


def _fetch(ref: str, access: Access) -> Path:
    """Download a whole Hub model, telling how much of it has come; its folder."""
    from huggingface_hub import constants

    from posviz.sources.snapshot import download, download_size

    name, size = download_size(ref, access)
    blobs = Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "blobs"
    before = sum(map(_size, blobs.iterdir())) if blobs.is_dir() else 0
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_EVERY):
            files = list(blobs.iterdir()) if blobs.is_dir() else []
            have = sum(map(_size, files)) - before
            say("fetching", bytes=min(max(have, 0), size), of=size)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        return download(ref, access)[0]
    finally:
        ended.set()
        looking.join()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # moved to its final name a moment ago
        return 0


def packed_access(access: Access) -> dict[str, Any]:
    """An :class:`Access` as plain values."""
    paths = {name: value and str(value) for name, value in vars(access).items()}
    return vars(access) | {name: paths[name] for name in ("local_root", "cache")}


def access_of(values: dict[str, Any]) -> Access:
    """The inverse of :func:`packed_access`."""
    paths = {n: Path(values[n]) if values[n] else None for n in ("local_root", "cache")}
    return Access(**{**values, **paths})


_NO_ROOM = (
    "This machine has too little memory for the model at this length. Choose a shorter length, or "
    "fewer sequences."
)

if __name__ == "__main__":
    main()
