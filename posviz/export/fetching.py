"""Downloads of whole models that visitors asked for: each can be watched and cancelled."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from posviz import processes
from posviz.errors import SourceError
from posviz.sources.access import packed_access
from posviz.sources.watched import clear

if TYPE_CHECKING:
    from posviz.sources import Access

MOST = 2  # downloads at a time, of all visitors together
WORKER = (sys.executable, "-m", "posviz.export.fetcher")
_PATIENCE = 1.5  # seconds in which a worker may clear up before it is killed

State = Literal["running", "done", "stopped", "failed"]


@dataclass(eq=False)
class Fetch:
    """One download; its fields are written by the thread that follows the process.

    Parameters
    ----------
    ref : str
    state : {"running", "done", "stopped", "failed"}
    have, size : int
        Bytes that have come, and that were missing.
    message : str or None
        Why it failed.
    halves : list of str
        Paths of the files that were only half there when the worker last told.
    """

    ref: str
    process: subprocess.Popen[str]
    state: State = "running"
    have: int = 0
    size: int = 0
    message: str | None = None
    halves: list[str] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.state == "running"


class Fetches:
    """The downloads of one server, by visitor and reference."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Fetch] = {}
        self._lock = threading.RLock()
        atexit.register(self.close)

    def of(self, owner: str, ref: str) -> Fetch | None:
        """The visitor's last download of that model, or None."""
        return self._held.get((owner, ref))

    def start(self, owner: str, ref: str, access: Access) -> Fetch:
        """Begin a download; one that runs already goes on.

        Raises
        ------
        SourceError
            Too many run at once, or no process can be started.
        """
        with self._lock:
            before = self.of(owner, ref)
            if before is not None and before.alive:
                return before
            if sum(one.alive for one in self._held.values()) >= MOST:
                raise SourceError(
                    f"{MOST} models are being downloaded on this server, and there is room for no "
                    f"more at a time. Try again when one has come."
                )
            order = {"ref": ref, "access": packed_access(access)}
            try:
                fetch = Fetch(ref, processes.start(WORKER, order))
            except OSError as err:
                raise SourceError(
                    f"The download could not be started ({err.strerror}). Close other programs "
                    f"and try again."
                ) from err
            self._held[owner, ref] = fetch
        threading.Thread(target=self._follow, args=(fetch,), daemon=True).start()
        return fetch

    def cancel(self, fetch: Fetch) -> None:
        """End a download; nothing half of it is left then."""
        with self._lock:
            if not fetch.alive:
                return
            fetch.state = "stopped"
        processes.end(fetch.process, _PATIENCE)
        fetch.process.wait()
        clear(fetch.halves)

    def close(self) -> None:
        """Cancel all: the server is going down."""
        for fetch in list(self._held.values()):
            self.cancel(fetch)

    def _follow(self, fetch: Fetch) -> None:
        ending: dict[str, Any] = {}

        def hear(event: dict[str, Any]) -> None:
            if event["event"] == "fetching":
                fetch.have, fetch.size = event["bytes"], event["of"]
                fetch.halves = event["halves"]
            else:
                ending.update(event)

        _, cause = processes.follow(fetch.process, hear)
        clear(fetch.halves)
        with self._lock:
            if not fetch.alive:
                return
            if ending.get("event") == "done":
                fetch.state = "done"
                return
            fetch.message = ending.get("message") or (
                f"The download of {fetch.ref} ended by itself ({cause}). Try again."
            )
            fetch.state = "failed"
