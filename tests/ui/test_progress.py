"""How far a run is: steps, and the sequences of a step that takes long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from posviz.training.config import default_config
from posviz.training.job import Job
from posviz.ui.progress import share, told


@pytest.fixture
def job() -> Job:
    return Job("id", "me", default_config("copy", steps=20), Path("run"), resume=False)


def step(number: int, **values: Any) -> dict[str, Any]:
    return {"event": "progress", "step": number, "steps": 20, "batch_loss": 1.0} | values


def reading(number: int, first: int, last: int, *, measures: bool = False) -> dict[str, Any]:
    told = {"step": number, "measures": measures, "first": first, "last": last, "of": 4}
    return {"event": "reading", **told}


def test_a_run_that_has_said_nothing_yet_loads_its_library(job: Job) -> None:
    assert told(job) == "Starting: the training process loads its library."
    assert share(job) == 0


def test_a_step_at_once_is_a_step(job: Job) -> None:
    job.hear(step(5, steps_per_second=2.5, seconds_left=6.2))
    assert told(job) == "Step 5 of 20 · 2.5 steps a second · 7 s left"
    assert share(job) == 5 / 20


def test_a_step_in_parts_says_which_sequences_it_reads(job: Job) -> None:
    job.hear(step(2))
    job.hear(reading(3, 2, 2))
    assert told(job) == "Step 2 of 20 · step 3 reads sequence 2 of 4"
    assert share(job) == pytest.approx((2 + 1 / 4) / 20)
    job.hear(reading(3, 3, 4))
    assert told(job) == "Step 2 of 20 · step 3 reads sequences 3 to 4 of 4"
    job.hear(step(3))
    assert told(job) == "Step 3 of 20"
    assert share(job) == 3 / 20


def test_what_is_measured_is_no_part_of_a_step(job: Job) -> None:
    job.hear(reading(0, 1, 2, measures=True))
    assert told(job) == "Starting: the loss is measured on sequences 1 to 2 of 4."
    job.hear(step(4))
    job.hear(reading(4, 1, 1, measures=True))
    assert told(job) == "Step 4 of 20 · the loss is measured on sequence 1 of 4"
    assert share(job) == 4 / 20


def test_a_last_word_after_a_part_is_the_last_word(job: Job) -> None:
    job.hear(reading(1, 1, 1))
    job.hear({"event": "done"})
    job.end(0, "")
    assert job.state == "done"
