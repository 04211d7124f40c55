"""Training runs of all visitors of one server: one each, so many at once, the others in a queue.

Each run is a process of its own (:mod:`posviz.training.worker`), so that no page slows down and
a crash takes nothing with it. Nothing here knows about pages.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from posviz.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from posviz.training.config import TrainConfig

State = Literal["queued", "running", "done", "stopped", "failed"]

WORKER = (sys.executable, "-m", "posviz.training.worker")
_GRACE = 1.2  # seconds a worker has to keep its last snapshot before it is ended
_WATCH = 0.5  # seconds between looks for jobs that nobody watches
_HISTORY = 2000  # points of the loss curve that are kept
_KEPT = 50  # ended jobs that can still be asked about
_ERRORS = 20  # last lines of a worker's error output that are kept


@dataclass(eq=False)
class Job:
    """One run, from the queue to its end. Its fields are written by :class:`Jobs` alone.

    Parameters
    ----------
    id : str
        Cannot be guessed: whoever knows it may watch and stop the run.
    owner : str
        The visitor who started it, or adopted it after a refresh.
    config : TrainConfig
    out : Path
        The run folder.
    resume : bool
    state : {"queued", "running", "done", "stopped", "failed"}
    message : str or None
        Why it failed, in a sentence.
    progress : mapping
        The worker's last ``progress`` line; empty before the first.
    history : deque of (step, batch loss in nats)
    """

    id: str
    owner: str
    config: TrainConfig
    out: Path
    resume: bool
    state: State = "queued"
    message: str | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    history: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    last_seen: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[str] | None = None
    stopping: bool = False

    @property
    def alive(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    def touch(self) -> None:
        """Say that somebody is watching."""
        self.last_seen = time.monotonic()


class Jobs:
    """The registry of one server.

    Parameters
    ----------
    bound : int
        Runs at once; more wait their turn.
    orphan_seconds : float
        A job that nobody has watched for so long is stopped, its last snapshot kept.
    worker : sequence of str
        Command that starts a worker.
    """

    def __init__(
        self, *, bound: int = 1, orphan_seconds: float = 600.0, worker: Sequence[str] = WORKER
    ) -> None:
        self._bound = bound
        self._orphan_seconds = orphan_seconds
        self._worker = tuple(worker)
        self._jobs: dict[str, Job] = {}  # in the order of starting: the queue is the order here
        self._lock = threading.RLock()
        self._watcher: threading.Thread | None = None
        atexit.register(self.close)

    def start(self, owner: str, config: TrainConfig, out: Path, *, resume: bool = False) -> Job:
        """Start a run, or put it in the queue; an owner's job that is alive is given back instead.

        Raises
        ------
        TrainingError
            Somebody's live job already writes to this folder.
        """
        with self._lock:
            if (mine := self.of(owner)) is not None and mine.alive:
                mine.touch()
                return mine
            if self.trains(out):
                raise TrainingError(
                    f"The run {out.name} is being trained already. Wait for its end, or choose "
                    f"another name."
                )
            self._forget()
            job = Job(uuid.uuid4().hex, owner, config, out, resume)
            self._jobs[job.id] = job
            self._advance()
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
            return job

    def get(self, job_id: str) -> Job | None:
        """The job of that id, or None."""
        return self._jobs.get(job_id)

    def of(self, owner: str) -> Job | None:
        """The owner's newest job, or None."""
        with self._lock:
            mine = [job for job in self._jobs.values() if job.owner == owner]
        return mine[-1] if mine else None

    def adopt(self, job_id: str, owner: str) -> Job | None:
        """Give a job to a new owner, as after a browser refresh; None when there is no such job.

        An owner who already has a live job keeps that one: never two.
        """
        with self._lock:
            mine = self.of(owner)
            if mine is not None and mine.alive:
                return mine
            job = self.get(job_id)
            if job is not None:
                job.owner = owner
                job.touch()
            return job

    def trains(self, folder: Path) -> bool:
        """Whether somebody's live job writes to this folder, or waits to."""
        with self._lock:
            return any(
                job.alive and job.out.resolve() == folder.resolve() for job in self._jobs.values()
            )

    @contextmanager
    def apart(self, folder: Path) -> Iterator[None]:
        """Nothing begins to train in this folder meanwhile, so that it can be moved or removed.

        Raises
        ------
        TrainingError
            Somebody's live job writes to it.
        """
        with self._lock:
            if self.trains(folder):
                raise TrainingError(
                    f"The run {folder.name} is being trained, so it stays as it is. Stop it first."
                )
            yield

    def place(self, job: Job) -> int:
        """Place in the queue, 1 for the next to run; 0 when it does not wait."""
        with self._lock:
            waiting = [other for other in self._jobs.values() if other.state == "queued"]
            return waiting.index(job) + 1 if job in waiting else 0

    def running(self) -> int:
        """How many run now."""
        with self._lock:
            return sum(job.state == "running" for job in self._jobs.values())

    def stop(self, job: Job, *, wait: bool = True) -> None:
        """Stop a job within two seconds; what it has written stays, with a last snapshot."""
        with self._lock:
            if job.state == "queued":
                job.state = "stopped"
                return
            process = job.process
            if process is None:
                return
            job.stopping = True
        with suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()  # the worker's sign to keep a last snapshot and end
        ender = threading.Thread(target=_end, args=(process,), daemon=True)
        ender.start()
        if wait:
            ender.join()
            deadline = time.monotonic() + _GRACE
            while job.alive and time.monotonic() < deadline:  # the reader has the last word
                time.sleep(0.01)

    def close(self) -> None:
        """Stop every job: the server is going down."""
        with self._lock:
            alive = [job for job in self._jobs.values() if job.alive]
            for job in alive:
                if job.state == "queued":
                    job.state = "stopped"
        for job in alive:
            self.stop(job, wait=False)
        deadline = time.monotonic() + 2 * _GRACE
        for job in alive:
            if job.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    job.process.wait(max(0.0, deadline - time.monotonic()))

    def _forget(self) -> None:
        """Let go of all but the newest ended jobs, so that a long-lived server does not fill up."""
        ended = [job for job in self._jobs.values() if not job.alive]
        for job in ended[:-_KEPT]:
            del self._jobs[job.id]

    def _advance(self) -> None:
        """Start waiting jobs while there is room; the lock is held."""
        for job in self._jobs.values():
            if self.running() >= self._bound:
                return
            if job.state == "queued":
                self._launch(job)

    def _launch(self, job: Job) -> None:
        order = {"config": job.config.as_dict(), "out": str(job.out), "resume": job.resume}
        try:
            process = subprocess.Popen(  # noqa: S603 our own module, nothing typed by anybody
                self._worker,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        except OSError as err:
            job.state = "failed"
            job.message = (
                f"The training process could not be started ({err.strerror}). Close other "
                f"programs and train again."
            )
            return
        job.state, job.process = "running", process
        threading.Thread(target=self._read, args=(job, process), daemon=True).start()

    def _read(self, job: Job, process: subprocess.Popen[str]) -> None:
        """Follow a worker's lines to their end, then let the next job begin."""
        errors: deque[str] = deque(maxlen=_ERRORS)
        assert process.stdout is not None
        assert process.stderr is not None
        reader = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
        reader.start()
        ending: dict[str, Any] = {}
        for line in process.stdout:
            with suppress(ValueError):  # a line cut off by a kill
                said = json.loads(line)
                if said["event"] == "progress":
                    if said["batch_loss"] is not None:
                        job.history.append((said["step"], said["batch_loss"]))
                    job.progress = said
                else:
                    ending = said
        code = process.wait()
        reader.join()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]
        with self._lock:
            job.state, job.message = _outcome(job, ending, code, errors)
            job.process = None
            self._advance()

    def _watch(self) -> None:
        """Stop the jobs that nobody watches, as long as there are any alive."""
        while True:
            time.sleep(_WATCH)
            with self._lock:
                alive = [job for job in self._jobs.values() if job.alive]
                if not alive:
                    self._watcher = None
                    return
            limit = time.monotonic() - self._orphan_seconds
            for job in alive:
                if job.last_seen < limit:
                    self.stop(job, wait=False)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _outcome(
    job: Job, ending: dict[str, Any], code: int, errors: Sequence[str]
) -> tuple[State, str | None]:
    """State and message at the end of a worker, from its last word, exit code and error output."""
    event = ending.get("event")
    if event == "failed":
        return "failed", ending["message"]
    if event in ("done", "stopped"):
        return event, None
    if job.stopping:  # it took longer than the grace and was ended
        return "stopped", None
    cause = errors[-1].strip() if errors else f"exit code {code}"
    return "failed", (
        f"The training process ended by itself ({cause}). The snapshots so far are kept; "
        f"resume the run to go on."
    )
