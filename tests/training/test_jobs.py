"""The registry of training processes: one a visitor, a bound, a queue, stops and crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posviz.errors import TrainingError
from posviz.runfolder import JOB, OWNER, TEXT
from posviz.training.config import default_config
from posviz.training.engine import train
from posviz.training.jobs import Jobs
from posviz.training.runs import open_run
from posviz.training.shelf import discard_unbegun

if TYPE_CHECKING:
    from posviz.training.job import Job

SMALL = default_config("copy", steps=40, n_positions=16, d_model=16, batch_size=4)
LONG = default_config("copy", steps=10**6, n_positions=16, d_model=16, batch_size=4)

# A worker that follows the same protocol without torch: quick to start, and it can misbehave.
FAKE = """
import json, select, sys, time
order = json.loads(sys.stdin.readline())
def say(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)
steps = order["config"]["steps"]
for step in range(steps + 1):
    say("progress", step=step, steps=steps, batch_loss=1.0 / (step + 1), metrics=None)
    if order["config"]["seed"] == 1 and step == 3:
        say("failed", message="The loss became nan.")
        sys.exit()
    if order["config"]["seed"] == 2 and step == 3:
        raise MemoryError("no room")
    if order["config"]["seed"] == 3:
        time.sleep(60)
    if select.select([sys.stdin], [], [], 0.01)[0]:
        say("stopped")
        sys.exit()
say("done")
"""


@pytest.fixture
def make_jobs() -> Iterator[Callable[..., Jobs]]:
    made = []

    def make(**settings: object) -> Jobs:
        made.append(Jobs(**{"worker": (sys.executable, "-c", FAKE), **settings}))
        return made[-1]

    yield make
    for jobs in made:
        jobs.close()


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def fake(steps: int = 5, seed: int = 0):
    return default_config("copy", steps=steps, seed=seed)


def test_a_job_runs_to_its_end(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    job = make_jobs().start("ada", fake(), tmp_path / "run")
    wait_for(lambda: not job.alive)
    assert (job.state, job.message) == ("done", None)
    assert job.progress["step"] == 5
    assert list(job.history) == [(step, 1 / (step + 1)) for step in range(6)]


def test_a_visitor_has_one_live_job(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    jobs = make_jobs(bound=2)
    first = jobs.start("ada", fake(10**6), tmp_path / "one")
    assert jobs.start("ada", fake(10**6), tmp_path / "two") is first
    jobs.stop(first)
    assert jobs.start("ada", fake(10**6), tmp_path / "two") is not first


def test_more_than_the_bound_wait_in_order(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    jobs = make_jobs(bound=1)
    a, b, c = (jobs.start(owner, fake(10**6), tmp_path / owner) for owner in "abc")
    assert [job.state for job in (a, b, c)] == ["running", "queued", "queued"]
    assert [jobs.place(job) for job in (a, b, c)] == [0, 1, 2]
    jobs.stop(b)
    assert (b.state, jobs.place(c)) == ("stopped", 1)
    jobs.stop(a)
    wait_for(lambda: c.state == "running")
    assert jobs.running() == 1


def test_two_jobs_never_share_a_folder(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    jobs = make_jobs()
    jobs.start("ada", fake(10**6), tmp_path / "run")
    with pytest.raises(TrainingError) as refused:
        jobs.start("bob", fake(), tmp_path / "x" / ".." / "run")
    assert str(refused.value) == (
        "The run run is being trained already. Wait for its end, or choose another name."
    )


def test_a_job_is_its_owners(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    jobs = make_jobs(bound=2)
    mine = jobs.start("ada", fake(10**6), tmp_path / "mine")
    other = jobs.start("bob", fake(10**6), tmp_path / "other")
    assert (jobs.of("ada"), jobs.of("bob"), jobs.of("eve")) == (mine, other, None)
    assert (jobs.get(mine.id), jobs.get("0" * 32)) == (mine, None)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_stop_has_ended_the_worker_when_it_returns(
    stubborn: bool, make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    jobs = make_jobs()
    job = jobs.start("ada", fake(10**6, seed=3 if stubborn else 0), tmp_path / "run")
    wait_for(lambda: bool(job.progress))
    process = job.process
    jobs.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    assert process.poll() is not None
    last = job.progress["step"]
    time.sleep(0.2)
    assert job.progress["step"] == last
    jobs.stop(job)  # once more does nothing
    assert job.state == "stopped"


def test_a_job_that_nobody_watches_is_stopped(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    jobs = make_jobs(orphan_seconds=1.0, bound=2)
    left = jobs.start("ada", fake(10**6), tmp_path / "left")
    watched = jobs.start("bob", fake(10**6), tmp_path / "watched")

    def ended() -> bool:
        watched.touch()
        return left.state == "stopped"

    wait_for(ended)
    assert watched.state == "running"


def test_a_visitor_on_another_page_keeps_the_run(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    here = {"ada"}
    jobs = make_jobs(orphan_seconds=0.5, present=here.__contains__)
    job = jobs.start("ada", fake(10**6), tmp_path / "run")
    time.sleep(2)  # longer than anybody may be away
    assert job.state == "running"
    here.clear()
    wait_for(lambda: job.state == "stopped")


def test_somebody_who_waits_gets_the_place_of_a_visitor_who_left(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    here = {"ada", "bob"}
    jobs = make_jobs(grace_seconds=0.7, present=here.__contains__)
    out = tmp_path / "run"
    out.mkdir()
    (out / "config.json").write_text('{"posviz": {"training": {"steps": 9}}}')
    job = jobs.start("ada", fake(10**6), out)
    here.discard("ada")
    time.sleep(2)  # longer than the grace, and nobody waits
    assert job.state == "running"
    waits = jobs.start("bob", fake(10**6), tmp_path / "waits")
    wait_for(lambda: waits.state == "running")
    assert job.state == "stopped"
    assert job.message.startswith("The server stopped this run: its visitor had been away for ")
    assert open_run(out).ended == job.message, "its folder says why"


def test_a_visitor_who_comes_back_in_time_keeps_the_place(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    here = {"ada", "bob"}
    jobs = make_jobs(grace_seconds=1.5, present=here.__contains__)
    job = jobs.start("ada", fake(10**6), tmp_path / "run")
    waits = jobs.start("bob", fake(10**6), tmp_path / "waits")
    here.discard("ada")
    time.sleep(0.6)  # a refresh
    here.add("ada")
    time.sleep(2)
    assert (job.state, waits.state) == ("running", "queued")


def test_one_who_left_the_queue_makes_nobody_lose_a_place(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    here = {"cid"}
    jobs = make_jobs(grace_seconds=0.7, present=here.__contains__)
    job = jobs.start("ada", fake(10**6), tmp_path / "run")
    left = jobs.start("bob", fake(10**6), tmp_path / "left")
    wait_for(lambda: jobs._is_left(left))
    job.touch()
    time.sleep(1.2)
    assert job.state == "running", "who waits is not there to be given the place"
    stays = jobs.start("cid", fake(10**6), tmp_path / "stays")
    wait_for(lambda: stays.state == "running")
    assert left.state == "queued", "and is passed by, not forgotten"


def test_what_waited_leaves_no_folder_behind(
    make_jobs: Callable[..., Jobs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make_jobs()
    jobs.start("ada", fake(10**6), tmp_path / "runs")
    waits = jobs.start("bob", fake(10**6), prepared(tmp_path / "waits"))
    jobs.stop(waits)
    assert not waits.out.exists()
    # A server that was killed could not: the next one does, and leaves all that was begun.
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "shelf"))
    prepared(tmp_path / "shelf" / "waited")
    (prepared(tmp_path / "shelf" / "begun") / "config.json").write_text("{}")
    (tmp_path / "shelf" / "somebody-elses").mkdir()
    discard_unbegun()
    assert {path.name for path in (tmp_path / "shelf").iterdir()} == {"begun", "somebody-elses"}
    assert len(list((tmp_path / "shelf" / "begun").iterdir())) == 4


def prepared(folder: Path) -> Path:
    """A run's folder as it is before its run begins."""
    folder.mkdir(parents=True)
    for name in (JOB, OWNER, TEXT):
        (folder / name).write_text("x")
    return folder


def test_a_failure_stands_in_the_folder_until_the_run_goes_on(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    tiny = default_config("copy", steps=4, n_positions=8, d_model=8, batch_size=2)
    for _ in train(tiny, tmp_path / "run"):
        pass
    job = make_jobs().start("ada", fake(seed=1), tmp_path / "run")
    wait_for(lambda: not job.alive)
    assert open_run(tmp_path / "run").ended == "The loss became nan."
    longer = default_config("copy", steps=5, n_positions=8, d_model=8, batch_size=2)
    for _ in train(longer, tmp_path / "run", resume=True):
        pass
    assert open_run(tmp_path / "run").ended is None


def test_a_refusal_is_told_in_its_own_words(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    job = make_jobs().start("ada", fake(seed=1), tmp_path / "run")
    wait_for(lambda: not job.alive)
    assert (job.state, job.message) == ("failed", "The loss became nan.")


def test_a_crash_is_told_and_the_next_in_line_runs(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    jobs = make_jobs()
    job = jobs.start("ada", fake(seed=2), tmp_path / "run")
    later = jobs.start("bob", fake(), tmp_path / "later")
    wait_for(lambda: later.state == "done")
    assert job.state == "failed"
    assert job.message == (
        "The training process ended by itself (MemoryError: no room). The snapshots so far are "
        "kept; resume the run to go on."
    )


def test_a_process_that_cannot_start_is_told(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    job = make_jobs(worker=(str(tmp_path / "absent"),)).start("ada", fake(), tmp_path / "run")
    assert job.state == "failed"
    assert job.message.startswith("The training process could not be started (No such file")


def test_old_jobs_are_forgotten(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    jobs = make_jobs(worker=(str(tmp_path / "absent"),))
    ids = [jobs.start(f"visitor {n}", fake(), tmp_path / str(n)).id for n in range(60)]
    assert jobs.get(ids[0]) is None
    assert jobs.get(ids[-1]) is not None


def real(job: Job, step: int) -> Callable[[], bool]:
    return lambda: not job.alive or job.progress.get("step", -1) >= step


def test_the_real_worker_trains_a_run(tmp_path: Path) -> None:
    jobs = Jobs()
    job = jobs.start("ada", SMALL, tmp_path / "run")
    wait_for(lambda: not job.alive, 120)
    assert (job.state, job.message) == ("done", None)
    assert open_run(tmp_path / "run").steps == (0, 10, 20, 30, 40)
    assert job.progress["metrics"] == open_run(tmp_path / "run").metrics[-1]
    assert job.progress["steps_per_second"] > 0


def test_the_real_worker_stops_with_a_last_snapshot_and_resumes(tmp_path: Path) -> None:
    jobs = Jobs()
    job = jobs.start("ada", LONG, tmp_path / "run")
    wait_for(real(job, 25), 120)
    jobs.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    stopped_at = open_run(tmp_path / "run").steps[-1]
    # The step of the stop itself, or, on a busy machine that took too long, one before it.
    assert 20 <= stopped_at <= job.progress["step"]
    again = jobs.start("ada", LONG, tmp_path / "run", resume=True)
    wait_for(real(again, stopped_at + 1), 120)
    jobs.stop(again)
    assert open_run(tmp_path / "run").steps[-1] > stopped_at


def test_a_killed_worker_leaves_a_readable_run(tmp_path: Path) -> None:
    jobs = Jobs()
    job = jobs.start("ada", LONG, tmp_path / "run")
    wait_for(real(job, 30), 120)
    os.kill(job.process.pid, signal.SIGKILL)
    wait_for(lambda: not job.alive)
    assert job.state == "failed"
    assert "ended by itself (exit code -9)" in job.message
    run = open_run(tmp_path / "run")
    assert run.steps[-1] >= 30
    assert run.table().weights.shape == (16, 16)


def test_the_worker_of_a_killed_server_ends_by_itself(tmp_path: Path) -> None:
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
    wait_for(lambda: not running(worker))
    assert open_run(tmp_path / "run").steps


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a zombie that nobody reaps has ended too
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_run_stopped_before_its_first_snapshot_leaves_no_folder(
    make_jobs: Callable[..., Jobs], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / JOB).write_text("an id")
    (out / TEXT).write_text("a text")
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")  # a library that still loads
    jobs = make_jobs(worker=silent)
    job = jobs.start("ada", fake(), out)
    jobs.stop(job)
    wait_for(lambda: not out.exists())
    assert job.state == "stopped"
