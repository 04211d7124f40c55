"""Fine-tuning in a process of its own: stopped, taken up again, and refused in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import posviz
from posviz.model.tuning_worker import WORKER
from posviz.training.jobs import Jobs
from posviz.training.pretrained import PretrainedConfig, config_of
from posviz.training.runs import open_run

Make = Callable[[str], tuple[Path, Any]]
Asked = Callable[..., PretrainedConfig]
Until = Callable[[Callable[[], bool]], None]


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs(worker=WORKER)
    yield made
    made.close()


def test_a_worker_process_is_stopped_and_goes_on(
    until: Until, jobs: Jobs, folder_of_layout: Make, asked_of: Asked, runs: Path
) -> None:
    folder, _ = folder_of_layout("gpt2")
    long = asked_of(folder, steps=100_000, method="tile")
    job = jobs.start("me", long, runs / "tuned")
    until(lambda: bool(job.progress) or not job.alive)
    until(lambda: bool(job.reading) or not job.alive)
    jobs.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    steps = open_run("tuned").steps
    assert steps
    more = config_of(open_run("tuned").settings | {"steps": steps[-1] + 2})
    job = jobs.start("me", more, runs / "tuned", resume=True)
    until(lambda: not job.alive)
    assert (job.state, job.message) == ("done", None)
    assert open_run("tuned").steps[-1] == steps[-1] + 2
    old, new = posviz.load(str(folder)).raw, posviz.load("run:tuned").raw
    assert new[:16].tobytes() == old.tobytes()


def test_a_worker_says_why_it_cannot(
    until: Until, jobs: Jobs, folder_of_layout: Make, asked_of: Asked, runs: Path
) -> None:
    folder, _ = folder_of_layout("gpt2")
    job = jobs.start("me", asked_of(folder, length=4000), runs / "tuned")
    until(lambda: not job.alive)
    assert job.state == "failed"
    assert "sequences of 4,000 positions need at least 8,002" in (job.message or "")
