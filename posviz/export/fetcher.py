"""A whole model's download in a process of its own: ``python -m posviz.export.fetcher``.

The order is ``{"ref": …, "access": …}``; events are ``fetching`` with what
:meth:`posviz.sources.watched.Download.run` tells, then ``done``, or ``failed`` with a ``message``.
"""

from __future__ import annotations

from functools import partial

from posviz.errors import PosvizError
from posviz.processes import leave, say, take_order
from posviz.sources.access import access_of
from posviz.sources.watched import Download


def main() -> None:
    """Download as the parent asks; when it asks no more, nothing half is left behind."""
    begun: list[Download] = []

    def stop() -> None:
        for one in begun:
            one.abandon()
        leave()

    order = take_order(stop)
    begun.append(Download(order["ref"], access_of(order["access"])))
    try:
        begun[0].run(partial(say, "fetching"))
        say("done")
    except PosvizError as err:
        say("failed", message=str(err))
    except BrokenPipeError:  # the parent is gone
        pass
    leave()


if __name__ == "__main__":
    main()
