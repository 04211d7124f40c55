"""The registry of training processes: one a visitor, a bound, a queue, stops and crashes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posviz.errors import TrainingError
from posviz.runfolder import JOB, OWNER, TEXT
from posviz.training.config import TrainConfig, default_config
from posviz.training.engine import train
from posviz.training.jobs import Jobs
from posviz.training.runs import open_run
from posviz.training.shelf import discard_unbegun

MakeJobs = Callable[..., Jobs]
Fake = Callable[..., TrainConfig]
Until = Callable[[Callable[[], bool]], None]


def prepared(folder: Path) -> Path:
    """A run's folder as it is before its run begins."""
    folder.mkdir(parents=True)
    for name in (JOB, OWNER, TEXT):
        (folder / name).write_text("x")
    return folder


def test_a_job_runs_to_its_end(
    make_jobs: MakeJobs, fake: Fake, until: Until, tmp_path: Path
) -> None:
    job = make_jobs().start("ada", fake(), tmp_path / "run")
    until(lambda: not job.alive)
    assert (job.state, job.message) == ("done", None)
    assert job.progress["step"] == 5
    assert list(job.history) == [(step, 1 / (step + 1)) for step in range(6)]


def test_a_visitor_has_one_live_job(
    make_jobs: MakeJobs, endless: TrainConfig, tmp_path: Path
) -> None:
    jobs = make_jobs(bound=2)
    first = jobs.start("ada", endless, tmp_path / "one")
    assert jobs.start("ada", endless, tmp_path / "two") is first
    jobs.stop(first)
    assert jobs.start("ada", endless, tmp_path / "two") is not first


def test_more_than_the_bound_wait_in_order(
    make_jobs: MakeJobs, endless: TrainConfig, until: Until, tmp_path: Path
) -> None:
    jobs = make_jobs(bound=1)
    a, b, c = (jobs.start(owner, endless, tmp_path / owner) for owner in "abc")
    assert [job.state for job in (a, b, c)] == ["running", "queued", "queued"]
    assert [jobs.place(job) for job in (a, b, c)] == [0, 1, 2]
    jobs.stop(b)
    assert (b.state, jobs.place(c)) == ("stopped", 1)
    jobs.stop(a)
    until(lambda: c.state == "running")
    assert jobs.running() == 1


def test_two_jobs_never_share_a_folder(
    make_jobs: MakeJobs, fake: Fake, endless: TrainConfig, tmp_path: Path
) -> None:
    jobs = make_jobs()
    jobs.start("ada", endless, tmp_path / "run")
    with pytest.raises(TrainingError) as refused:
        jobs.start("bob", fake(), tmp_path / "x" / ".." / "run")
    assert str(refused.value) == (
        "The run run is being trained already. Wait for its end, or choose another name."
    )


def test_a_job_is_its_owners(make_jobs: MakeJobs, endless: TrainConfig, tmp_path: Path) -> None:
    jobs = make_jobs(bound=2)
    mine = jobs.start("ada", endless, tmp_path / "mine")
    other = jobs.start("bob", endless, tmp_path / "other")
    assert (jobs.of("ada"), jobs.of("bob"), jobs.of("eve")) == (mine, other, None)
    assert (jobs.get(mine.id), jobs.get("0" * 32)) == (mine, None)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_stop_has_ended_the_worker_when_it_returns(
    make_jobs: MakeJobs, fake: Fake, until: Until, stubborn: bool, tmp_path: Path
) -> None:
    jobs = make_jobs()
    job = jobs.start("ada", fake(10**6, that="hangs" if stubborn else ""), tmp_path / "run")
    until(lambda: bool(job.progress))
    process = job.process
    jobs.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    assert process.poll() is not None
    assert job.process is None, "nobody listens to it any more"
    jobs.stop(job)  # once more does nothing
    assert job.state == "stopped"


def test_what_waited_leaves_no_folder_behind(
    make_jobs: MakeJobs, endless: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make_jobs()
    jobs.start("ada", endless, tmp_path / "runs")
    waits = jobs.start("bob", endless, prepared(tmp_path / "waits"))
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


def test_a_failure_stands_in_the_folder_until_the_run_goes_on(
    make_jobs: MakeJobs, fake: Fake, until: Until, tmp_path: Path
) -> None:
    tiny = default_config("copy", steps=4, n_positions=8, d_model=8, batch_size=2)
    for _ in train(tiny, tmp_path / "run"):
        pass
    job = make_jobs().start("ada", fake(that="fails"), tmp_path / "run")
    until(lambda: not job.alive)
    assert open_run(tmp_path / "run").ended == "The loss became nan."
    longer = default_config("copy", steps=5, n_positions=8, d_model=8, batch_size=2)
    for _ in train(longer, tmp_path / "run", resume=True):
        pass
    assert open_run(tmp_path / "run").ended is None


def test_a_refusal_is_told_in_its_own_words(
    make_jobs: MakeJobs, fake: Fake, until: Until, tmp_path: Path
) -> None:
    job = make_jobs().start("ada", fake(that="fails"), tmp_path / "run")
    until(lambda: not job.alive)
    assert (job.state, job.message) == ("failed", "The loss became nan.")


def test_a_crash_is_told_and_the_next_in_line_runs(
    make_jobs: MakeJobs, fake: Fake, until: Until, tmp_path: Path
) -> None:
    jobs = make_jobs()
    job = jobs.start("ada", fake(that="crashes"), tmp_path / "run")
    later = jobs.start("bob", fake(), tmp_path / "later")
    until(lambda: later.state == "done")
    assert job.state == "failed"
    assert job.message == (
        "The training process ended by itself (MemoryError: no room). The snapshots so far are "
        "kept; resume the run to go on."
    )


def test_a_process_that_cannot_start_is_told(
    make_jobs: MakeJobs, fake: Fake, tmp_path: Path
) -> None:
    job = make_jobs(worker=(str(tmp_path / "absent"),)).start("ada", fake(), tmp_path / "run")
    assert job.state == "failed"
    assert job.message.startswith("The training process could not be started (No such file")


def test_old_jobs_are_forgotten(make_jobs: MakeJobs, fake: Fake, tmp_path: Path) -> None:
    jobs = make_jobs(worker=(str(tmp_path / "absent"),))
    ids = [jobs.start(f"visitor {n}", fake(), tmp_path / str(n)).id for n in range(60)]
    assert jobs.get(ids[0]) is None
    assert jobs.get(ids[-1]) is not None


def test_a_run_stopped_before_its_first_snapshot_leaves_no_folder(
    make_jobs: MakeJobs, fake: Fake, until: Until, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / JOB).write_text("an id")
    (out / TEXT).write_text("a text")
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")  # a library that still loads
    jobs = make_jobs(worker=silent)
    job = jobs.start("ada", fake(), out)
    jobs.stop(job)
    until(lambda: not out.exists())
    assert job.state == "stopped"
