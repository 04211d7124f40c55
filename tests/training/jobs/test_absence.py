"""What becomes of the runs of visitors who are away: kept, stopped, or their place given on.

Nobody waits for minutes here: the watcher looks often, and a visitor is made to have been last
seen long ago.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posviz.training import jobs as module
from posviz.training.jobs import Jobs
from posviz.training.runs import open_run

if TYPE_CHECKING:
    from posviz.training.config import TrainConfig
    from posviz.training.job import Job

MakeJobs = Callable[..., Jobs]
Until = Callable[[Callable[[], bool]], None]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WATCH", 0.02)


class Visitors:
    """Who is here; the watcher asks for the owner of each live job at every look."""

    def __init__(self, until: Until) -> None:
        self._until = until
        self._asked: Counter[str] = Counter()
        self.here: set[str] = set()

    def __call__(self, owner: str) -> bool:
        self._asked[owner] += 1
        return owner in self.here

    def looked_for(self, owner: str) -> None:
        """Wait for a look that begins after this call, and for its end."""
        so_often = self._asked[owner] + 2
        self._until(lambda: self._asked[owner] >= so_often)


@pytest.fixture
def visitors(until: Until) -> Visitors:
    return Visitors(until)


def away(job: Job, seconds: float) -> None:
    """Its visitor, who is not here, was last seen so long ago."""
    job.last_seen -= seconds


def test_a_job_that_nobody_watches_is_stopped(
    make_jobs: MakeJobs, endless: TrainConfig, until: Until, tmp_path: Path
) -> None:
    jobs = make_jobs(bound=2)
    left = jobs.start("ada", endless, tmp_path / "left")
    watched = jobs.start("bob", endless, tmp_path / "watched")
    away(left, 601)
    until(lambda: left.state == "stopped")
    assert watched.state == "running"


def test_a_visitor_on_another_page_keeps_the_run(
    make_jobs: MakeJobs, endless: TrainConfig, until: Until, tmp_path: Path
) -> None:
    here, looks = {"ada"}, []

    def present(owner: str) -> bool:
        away(job, 10_000)  # no page with the run on it was drawn since the last look
        looks.append(owner)
        return owner in here

    jobs = make_jobs(present=present)
    job = jobs.start("ada", endless, tmp_path / "run")
    until(lambda: len(looks) > 3)
    assert job.state == "running"
    here.clear()
    until(lambda: job.state == "stopped")


def test_somebody_who_waits_gets_the_place_of_a_visitor_who_left(
    make_jobs: MakeJobs, endless: TrainConfig, until: Until, visitors: Visitors, tmp_path: Path
) -> None:
    jobs = make_jobs(present=visitors)
    out = tmp_path / "run"
    out.mkdir()
    (out / "config.json").write_text('{"posviz": {"training": {"steps": 9}}}')
    visitors.here = {"bob"}
    job = jobs.start("ada", endless, out)
    away(job, 61)
    visitors.looked_for("ada")
    assert job.state == "running", "longer than the grace, but nobody waits"
    waits = jobs.start("bob", endless, tmp_path / "waits")
    until(lambda: waits.state == "running")
    assert job.state == "stopped"
    assert job.message.startswith("The server stopped this run: its visitor had been away for ")
    assert open_run(out).ended == job.message, "its folder says why"


def test_a_visitor_who_comes_back_in_time_keeps_the_place(
    make_jobs: MakeJobs, endless: TrainConfig, visitors: Visitors, tmp_path: Path
) -> None:
    jobs = make_jobs(present=visitors, grace_seconds=1000, orphan_seconds=10_000)
    job = jobs.start("ada", endless, tmp_path / "run")
    waits = jobs.start("bob", endless, tmp_path / "waits")
    for _ in range(2):  # twice away for less than the grace, together for more
        visitors.here = {"bob"}
        visitors.looked_for("ada")
        away(job, 700)
        visitors.looked_for("ada")
        visitors.here = {"ada", "bob"}
        visitors.looked_for("ada")
    assert (job.state, waits.state) == ("running", "queued")


def test_one_who_left_the_queue_makes_nobody_lose_a_place(
    make_jobs: MakeJobs, endless: TrainConfig, until: Until, visitors: Visitors, tmp_path: Path
) -> None:
    jobs = make_jobs(present=visitors)
    visitors.here = {"cid"}
    job = jobs.start("ada", endless, tmp_path / "run")
    left = jobs.start("bob", endless, tmp_path / "left")
    away(left, 61)
    away(job, 61)
    visitors.looked_for("ada")
    assert job.state == "running", "who waits is not there to be given the place"
    stays = jobs.start("cid", endless, tmp_path / "stays")
    until(lambda: stays.state == "running")
    assert left.state == "queued", "and is passed by, not forgotten"
