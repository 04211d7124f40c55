"""Training runs of all visitors of one server: one each, so many at once, the others in a queue.

Each run is a process of its own (:mod:`posviz.training.worker`), so that no page slows down and
a crash takes nothing with it. Nothing here knows about pages.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from posviz import processes
from posviz.errors import TrainingError
from posviz.training.job import Job
from posviz.training.recording import note_end
from posviz.training.shelf import discard_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from posviz.training.config import Schedule

WORKER = (sys.executable, "-m", "posviz.training.worker")
_GRACE = 1.0  # seconds a worker has to keep its last snapshot before it is ended
_WATCH = 0.5  # seconds between looks for jobs that nobody watches
_LEFT = (
    "The server stopped this run: its visitor had been away for {away:.0f} s, and another one was "
    "waiting for the place. All is kept up to then; Go on takes it up."
)
_FORGOTTEN = (
    "The server stopped this run: its visitor had been away for {away:.0f} s. All is kept up to "
    "then; Go on takes it up."
)
_KEPT = 50  # ended jobs that can still be asked about


class Jobs:
    """The registry of one server.

    Parameters
    ----------
    bound : int
        Runs at once; more wait their turn.
    orphan_seconds : float
        A job is stopped, its last snapshot kept, when its owner has been away for so long.
    grace_seconds : float
        The same for a job that runs while somebody else, who is here, waits for its place.
    worker : sequence of str
        Command that starts a worker.
    present : callable (owner) -> bool
        Whether a visitor is still here, on whatever page.
    """

    def __init__(
        self,
        *,
        bound: int = 1,
        orphan_seconds: float = 600.0,
        grace_seconds: float = 60.0,
        worker: Sequence[str] = WORKER,
        present: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self._present = present
        self._bound = bound
        self._orphan_seconds = orphan_seconds
        self._grace_seconds = grace_seconds
        self._worker = tuple(worker)
        self._jobs: dict[str, Job] = {}  # in the order of starting: the queue is the order here
        self._lock = threading.RLock()
        self._watcher: threading.Thread | None = None
        atexit.register(self.close)

    def start(self, visitor: str, config: Schedule, out: Path, *, resume: bool = False) -> Job:
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
            job = Job(uuid.uuid4().hex, visitor, config, out, resume)
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
        """The newest job that a visitor started, or None."""
        with self._lock:
            mine = [job for job in self._jobs.values() if job.owner == visitor]
        return mine[-1] if mine else None

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

    def stop(self, job: Job, *, wait: bool = True, why: str | None = None) -> None:
        """Stop a job within two seconds; what it has written stays, with a last snapshot.

        Parameters
        ----------
        job : Job
        wait : bool
            Until it has ended.
        why : str or None
            What to tell its visitor, who did not ask for it.
        """
        with self._lock:
            if job.state == "queued":
                job.state, job.message = "stopped", why
                discard_empty(job.out)
                return
            process = job.process
            if process is None or job.stopping:
                return
            job.stopping, job.why = True, why
        # The worker keeps a last snapshot before it leaves.
        ender = threading.Thread(target=processes.end, args=(process, _GRACE), daemon=True)
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
            alive.sort(key=lambda job: job.state == "running")  # those in the queue begin no more
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
        """Start waiting jobs while there is room, of visitors who are here first."""
        waiting = [job for job in self._jobs.values() if job.state == "queued"]
        for job in sorted(waiting, key=self._is_left):  # the lock is held; the order stays else
            if self.running() < self._bound:
                self._launch(job)

    def _launch(self, job: Job) -> None:
        order = {"config": job.config.as_dict(), "out": str(job.out), "resume": job.resume}
        try:
            job.process = processes.start(self._worker, order)
        except OSError as err:
            job.state = "failed"
            job.message = (
                f"The training process could not be started ({err.strerror}). Close other "
                f"programs and train again."
            )
            return
        job.state = "running"
        threading.Thread(target=self._follow, args=(job, job.process), daemon=True).start()

    def _follow(self, job: Job, process: subprocess.Popen[str]) -> None:
        """Keep what a worker says until it ends, then let the next job begin."""
        code, cause = processes.follow(process, job.hear)
        with self._lock:
            job.end(code, cause)
            if job.message:
                note_end(job.out, job.message)
            discard_empty(job.out)
            self._advance()

    def _is_left(self, job: Job) -> bool:
        """Whether its visitor has been away for longer than somebody who waits has to bear."""
        return time.monotonic() - job.last_seen > self._grace_seconds

    def _watch(self) -> None:
        """Stop the jobs whose visitors are away, as long as there are any alive."""
        while True:
            time.sleep(_WATCH)
            with self._lock:
                alive = [job for job in self._jobs.values() if job.alive]
                if not alive:
                    self._watcher = None
                    return
            for job in alive:
                if self._present(job.owner):
                    job.touch()
            waited_for = any(job.state == "queued" and not self._is_left(job) for job in alive)
            for job in alive:
                away = time.monotonic() - job.last_seen
                if away > self._orphan_seconds:
                    self.stop(job, wait=False, why=_FORGOTTEN.format(away=away))
                elif waited_for and job.state == "running" and self._is_left(job):
                    self.stop(job, wait=False, why=_LEFT.format(away=away))
