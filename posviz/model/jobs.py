"""Measurements of models that take long: one process at a time, which can be stopped."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from posviz import processes
from posviz.errors import ModelError
from posviz.model.transport import unpacked
from posviz.sources.access import packed_access
from posviz.sources.watched import clear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.model.measuring import Begun, Measured, Order
    from posviz.sources import Access

WORKER = (sys.executable, "-m", "posviz.model.worker")
State = Literal["running", "done", "stopped", "failed"]
_WATCH = 0.5  # seconds between looks whether anybody still watches
_PATIENCE = 1.0  # seconds in which a worker may leave by itself


@dataclass(eq=False)
class Job:
    """One measurement; its fields are written by the thread that follows the process.

    Parameters
    ----------
    owner : str
        The visitor who asked.
    order : Order
    state : {"running", "done", "stopped", "failed"}
    message : str or None
        Why it failed.
    now : mapping
        The last ``fetching`` or ``opening`` line; empty once the model reads.
    results : list of Begun and Measured
        What has come so far.
    """

    owner: str
    order: Order
    state: State = "running"
    message: str | None = None
    now: dict[str, Any] = field(default_factory=dict)
    results: list[Begun | Measured] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    last_seen: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.monotonic)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.state == "running"

    def touch(self) -> None:
        """Say that somebody is watching."""
        self.last_seen = time.monotonic()


class Jobs:
    """The measurements of one server.

    Parameters
    ----------
    orphan_seconds : float
        A measurement that nobody has looked at for so long is stopped.
    worker : sequence of str
        Command that starts a worker.
    """

    def __init__(self, *, orphan_seconds: float = 120.0, worker: Sequence[str] = WORKER) -> None:
        self._orphan_seconds = orphan_seconds
        self._worker = tuple(worker)
        self._jobs: deque[Job] = deque(maxlen=16)
        self._lock = threading.RLock()
        atexit.register(self.close)

    def of(self, owner: str, order: Order) -> Job | None:
        """The visitor's measurement of that very order, or None."""
        with self._lock:
            mine = [job for job in self._jobs if job.owner == owner and job.order == order]
        return mine[-1] if mine else None

    def start(self, owner: str, order: Order, access: Access, *, fetch: bool = False) -> Job:
        """Begin to measure; what the same visitor had running before is stopped.

        Parameters
        ----------
        fetch : bool
            Whether the whole model may be downloaded first.

        Raises
        ------
        ModelError
            Somebody else's measurement is running, or no process can be started.
        """
        with self._lock:
            for job in self._jobs:
                if job.alive and job.owner == owner:
                    self.stop(job)
            if any(job.alive for job in self._jobs):
                raise ModelError(
                    "Another tab or visitor is measuring a model, and there is room for one at a "
                    "time. Try again in a minute; the demo models answer at once."
                )
            job = Job(owner, order)
            asked = {"order": asdict(order), "access": packed_access(access), "fetch": fetch}
            try:
                job.process = processes.start(self._worker, asked)
            except OSError as err:
                raise ModelError(
                    f"The measuring process could not be started ({err.strerror}). Close other "
                    f"programs and try again."
                ) from err
            self._jobs.append(job)
        for follow in (self._follow, self._watch):
            threading.Thread(target=follow, args=(job, job.process), daemon=True).start()
        return job

    def stop(self, job: Job) -> None:
        """End a measurement at once; what it has found so far stays."""
        with self._lock:
            if not job.alive:
                return
            job.state = "stopped"
            process = job.process
        if process is not None:
            processes.end(process, _PATIENCE)

    def close(self) -> None:
        """Stop all: the server is going down."""
        for job in list(self._jobs):
            self.stop(job)

    def _follow(self, job: Job, process: subprocess.Popen[str]) -> None:
        ending: dict[str, Any] = {}

        def hear(event: dict[str, Any]) -> None:
            if event["event"] in ("begun", "measured"):
                job.now = {}
                job.results.append(unpacked(event))
            elif event["event"] in ("fetching", "opening"):
                job.now = event
            else:
                ending.update(event)

        code, cause = processes.follow(process, hear)
        clear(job.now.get("halves", ()))
        with self._lock:
            if job.alive:
                job.message = ending.get("message") or _message(ending, code, cause)
                job.state = "failed" if job.message else "done"
            job.process = None

    def _watch(self, job: Job, process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            if job.last_seen < time.monotonic() - self._orphan_seconds:
                self.stop(job)
            time.sleep(_WATCH)


def _message(ending: dict[str, Any], code: int, cause: str) -> str | None:
    """Why a worker ended without a last word: a sentence, or None after a good end."""
    if ending.get("event") == "done":
        return None
    if code in (-9, 137):
        return (
            "The system ended the measurement: most likely the model needs more memory than is "
            "free. Choose a shorter length or fewer sequences."
        )
    return f"The measurement ended by itself ({cause}). Try again, or open another model."
