"""Measurements in a process of their own: the same numbers, stopped at once, never orphaned."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from posviz.errors import ModelError
from posviz.model.jobs import Job, Jobs
from posviz.model.loading import open_model
from posviz.model.measuring import Begun, Measured, Order, measure
from posviz.model.transport import packed, unpacked
from posviz.sources import Access
from posviz.sources.access import access_of, packed_access

HANGS = (
    sys.executable, "-c",
    "import sys; print('{\"event\": \"opening\"}', flush=True); sys.stdin.readlines()",
)  # fmt: skip


def order(ref: str = "demo:bert-mini", **more: object) -> Order:
    model = open_model("demo:bert-mini")
    return Order(ref, model.table.fingerprint, 96, ("linear", "tile"), count=3, **more)  # type: ignore[arg-type]


@pytest.fixture
def jobs() -> Iterator[Callable[..., Jobs]]:
    made: list[Jobs] = []

    def make(**settings: object) -> Jobs:
        made.append(Jobs(**settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def until(done: Callable[[], bool], job: Job | None = None) -> None:
    while not done():  # pytest's own time limit ends a hang
        if job is not None:
            job.touch()
        time.sleep(0.02)


@pytest.mark.parametrize("length", [96, 40])
def test_events_come_back_from_json_as_they_were(length: int) -> None:
    model = open_model("demo:bert-mini")
    asked = Order(model.ref, model.table.fingerprint, length, ("linear",), count=2)
    for event in measure(model, asked):
        again = unpacked(packed(event))
        if isinstance(event, Begun):
            assert again == event
            continue
        assert isinstance(again, Measured)
        for one, other in ((event.short, again.short), (event.long, again.long)):
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert np.array_equal(one.by_position, other.by_position, equal_nan=True)
                assert one.said == other.said


def test_a_worker_measures_what_this_process_does(jobs: Callable[..., Jobs]) -> None:
    asked = order()
    job = jobs().start("me", asked, Access())
    until(lambda: not job.alive, job)
    assert (job.state, job.message) == ("done", None)
    here = list(measure(open_model(asked.ref), asked))
    assert [type(event) for event in job.results] == [type(event) for event in here]
    for one, other in zip(job.results[1:], here[1:], strict=True):
        assert isinstance(one, Measured)
        assert isinstance(other, Measured)
        assert one.method == other.method
        # Another number of threads adds up in another order.
        np.testing.assert_allclose(one.short.by_position, other.short.by_position, atol=1e-5)


def test_what_cannot_be_measured_ends_with_its_sentence(jobs: Callable[..., Jobs]) -> None:
    job = jobs().start("me", order("sinusoidal:8x4"), Access())
    until(lambda: not job.alive, job)
    assert job.state == "failed"
    assert job.message is not None
    assert "a table by itself, without a model" in job.message


def test_a_stop_ends_the_process_and_makes_room(jobs: Callable[..., Jobs]) -> None:
    registry = jobs(worker=HANGS)
    job = registry.start("me", order(), Access())
    process = job.process
    assert process is not None
    until(lambda: bool(job.now))
    with pytest.raises(ModelError, match="Another tab or visitor is measuring a model"):
        registry.start("you", order(), Access())
    registry.stop(job)
    assert job.state == "stopped"
    assert process.wait(10) is not None
    assert registry.start("you", order(), Access()).alive


def test_a_new_order_of_the_same_visitor_takes_the_place_of_the_old(
    jobs: Callable[..., Jobs],
) -> None:
    registry = jobs(worker=HANGS)
    first = registry.start("me", order(), Access())
    second = registry.start("me", order(seed=1), Access())
    assert (first.state, second.state) == ("stopped", "running")
    assert registry.of("me", order(seed=1)) is second
    assert registry.of("you", order(seed=1)) is None


def test_what_nobody_watches_is_stopped(jobs: Callable[..., Jobs]) -> None:
    job = jobs(worker=HANGS, orphan_seconds=0.2).start("me", order(), Access())
    until(lambda: not job.alive)
    assert job.state == "stopped"


def test_a_worker_that_dies_is_explained(jobs: Callable[..., Jobs]) -> None:
    dies = (sys.executable, "-c", "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)")
    job = jobs(worker=dies).start("me", order(), Access())
    until(lambda: not job.alive, job)
    assert job.state == "failed"
    assert job.message is not None
    assert "more memory than is free" in job.message


def test_rights_come_back_as_they_were(tmp_path: Path) -> None:
    for access in (
        Access(), Access(token="a", local_root=tmp_path, cache=tmp_path / "c", offline=True),
        Access(local_paths=False),
    ):  # fmt: skip
        assert access_of(packed_access(access)) == access
