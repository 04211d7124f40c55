"""The real worker of a run: trains, stops, is killed, and outlives no server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from posviz.training.config import default_config
from posviz.training.jobs import WORKER, Jobs
from posviz.training.runs import open_run

if TYPE_CHECKING:
    from posviz.training.job import Job

MakeJobs = Callable[..., Jobs]
Until = Callable[[Callable[[], bool]], None]
SMALL = default_config("copy", steps=40, n_positions=16, d_model=16, batch_size=4)
LONG = default_config("copy", steps=10**6, n_positions=16, d_model=16, batch_size=4)


def real(job: Job, step: int) -> Callable[[], bool]:
    return lambda: not job.alive or job.progress.get("step", -1) >= step


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a zombie that nobody reaps has ended too
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_real_worker_trains_a_run(make_jobs: MakeJobs, until: Until, tmp_path: Path) -> None:
    jobs = make_jobs(worker=WORKER)
    job = jobs.start("ada", SMALL, tmp_path / "run")
    until(lambda: not job.alive)
    assert (job.state, job.message) == ("done", None)
    assert open_run(tmp_path / "run").steps == (0, 10, 20, 30, 40)
    assert job.progress["metrics"] == open_run(tmp_path / "run").metrics[-1]
    assert job.progress["steps_per_second"] > 0


def test_the_real_worker_stops_with_a_last_snapshot_and_resumes(
    make_jobs: MakeJobs, until: Until, tmp_path: Path
) -> None:
    jobs = make_jobs(worker=WORKER)
    job = jobs.start("ada", LONG, tmp_path / "run")
    until(real(job, 25))
    jobs.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    stopped_at = open_run(tmp_path / "run").steps[-1]
    # The step of the stop itself, or, on a busy machine that took too long, one before it.
    assert 20 <= stopped_at <= job.progress["step"]
    again = jobs.start("ada", LONG, tmp_path / "run", resume=True)
    until(real(again, stopped_at + 1))
    jobs.stop(again)
    assert open_run(tmp_path / "run").steps[-1] > stopped_at


def test_a_killed_worker_leaves_a_readable_run(
    make_jobs: MakeJobs, until: Until, tmp_path: Path
) -> None:
    jobs = make_jobs(worker=WORKER)
    job = jobs.start("ada", LONG, tmp_path / "run")
    until(real(job, 30))
    os.kill(job.process.pid, signal.SIGKILL)
    until(lambda: not job.alive)
    assert job.state == "failed"
    assert "ended by itself (exit code -9)" in job.message
    run = open_run(tmp_path / "run")
    assert run.steps[-1] >= 30
    assert run.table().weights.shape == (16, 16)


def test_the_worker_of_a_killed_server_ends_by_itself(until: Until, tmp_path: Path) -> None:
    server = f"""
import time
from pathlib import Path
from posviz.training.config import default_config
from posviz.training.jobs import Jobs
config = default_config("copy", steps=10**6, n_positions=16, d_model=16, batch_size=4)
job = Jobs().start("ada", config, Path({str(tmp_path / "run")!r}))
while not job.progress:
    time.sleep(0.05)
print(job.process.pid, flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True)
    worker = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    until(lambda: not running(worker))
    assert open_run(tmp_path / "run").steps
