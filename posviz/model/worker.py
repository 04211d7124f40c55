"""A measurement in its own process: ``python -m posviz.model.worker``.

The parent writes one line of JSON to standard input, ``{"order": …, "access": …, "fetch": …}``,
and keeps it open; when it closes, the process ends. Each line of JSON on standard output has an
``event``: ``fetching`` with what :meth:`posviz.sources.watched.Download.run` tells, ``opening``,
those of :mod:`posviz.model.transport`, then ``done`` or ``failed`` with a ``message``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from posviz.errors import PosvizError
from posviz.processes import leave, say, take_order
from posviz.sources.access import access_of
from posviz.sources.watched import Download


def main() -> None:
    """Measure as the parent asks, and say how it goes."""
    fetching: list[Download] = []

    def stop() -> None:  # of what is written to disk, only a download may be half
        for one in fetching:
            one.abandon()
        leave()

    order = take_order(stop)
    try:
        _measure(order, fetching)
        say("done")
    except PosvizError as err:
        say("failed", message=str(err))
    except MemoryError:
        say("failed", message=_NO_ROOM)
    except BrokenPipeError:  # the parent is gone
        pass
    leave()


def _measure(asked: dict[str, Any], fetching: list[Download]) -> None:
    access, folder = access_of(asked["access"]), None
    if asked["fetch"]:
        fetching.append(Download(asked["order"]["ref"], access))
        folder = fetching[0].run(partial(say, "fetching"))
    say("opening")
    from posviz.model.loading import open_model
    from posviz.model.measuring import Order, measure
    from posviz.model.transport import packed

    order = Order(**{**asked["order"], "methods": tuple(asked["order"]["methods"])})
    model = open_model(order.ref, access=access, folder=folder)
    for event in measure(model, order):
        say(**packed(event))


_NO_ROOM = (
    "This machine has too little memory for the model at this length. Choose a shorter length, or "
    "fewer sequences."
)

if __name__ == "__main__":
    main()
