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
from typing import TYPE_CHECKING, Any

from posviz.errors import TrainingError
from posviz.training.job import Job, outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from posviz.training.config import TrainConfig

WORKER = (sys.executable, "-m", "posviz.training.worker")
_GRACE = 1.2  # seconds a worker has to keep its last snapshot before it is ended
_WATCH = 0.5  # seconds between looks for jobs that nobody watches
_KEPT = 50  # ended jobs that can still be asked about
_ERRORS = 20  # last lines of a worker's error output that are kept


class Jobs:
    """The registry of one server.

    Parameters
    ----------
    bound : int
        Runs at once; more wait their turn.
    orphan_seconds : float
        A job is stopped, its last snapshot kept, when for so long nobody has watched it and none
        of its holders was present.
    worker : sequence of str
        Command that starts a worker.
    present : callable (holder) -> bool
        Whether a visitor is still here, on whatever page.
    """

    def __init__(
        self,
        *,
        bound: int = 1,
        orphan_seconds: float = 600.0,
        worker: Sequence[str] = WORKER,
        present: Callable[[str], bool] = lambda holder: False,
    ) -> None:
        self._present = present
        self._bound = bound
        self._orphan_seconds = orphan_seconds
        self._worker = tuple(worker)
        self._jobs: dict[str, Job] = {}  # in the order of starting: the queue is the order here
        self._lock = threading.RLock()
        self._watcher: threading.Thread | None = None
        atexit.register(self.close)

    def start(self, visitor: str, config: TrainConfig, out: Path, *, resume: bool = False) -> Job:
        """Start a run, or put it in the queue; a visitor's job that is alive is given back instead.

        Raises
        ------
        TrainingError
            Somebody's live job already writes to this folder.
        """
        with self._lock:
            if (mine := self.of(visitor)) is not None and mine.alive:
                mine.touch()
                return mine
            if self.trains(out):
                raise TrainingError(
                    f"The run {out.name} is being trained already. Wait for its end, or choose "
                    f"another name."
                )
            self._forget()
            job = Job(uuid.uuid4().hex, {visitor}, config, out, resume)
            self._jobs[job.id] = job
            self._advance()
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
            return job

    def get(self, job_id: str) -> Job | None:
        """The job of that id, or None."""
        return self._jobs.get(job_id)

    def of(self, visitor: str) -> Job | None:
        """The newest job that a visitor holds, or None."""
        with self._lock:
            mine = [job for job in self._jobs.values() if visitor in job.holders]
        return mine[-1] if mine else None

    def adopt(self, job_id: str, visitor: str) -> Job | None:
        """The job of that id for one more holder, as after a browser refresh; None if unknown.

        A visitor who already has a live job keeps that one: never two.
        """
        with self._lock:
            mine = self.of(visitor)
            if mine is not None and mine.alive:
                return mine
            job = self.get(job_id)
            if job is not None:
                job.holders.add(visitor)
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
            job.state, job.message = outcome(job, ending, code, errors)
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
                if any(self._present(holder) for holder in tuple(job.holders)):
                    job.touch()
                elif job.last_seen < limit:
                    self.stop(job, wait=False)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
