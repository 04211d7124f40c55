"""Registries of training processes, most of them with a worker that is quick and can misbehave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from posviz.training.config import TrainConfig, default_config
from posviz.training.jobs import Jobs

# It follows the protocol of the real one without PyTorch; the seed says what goes wrong with it.
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
SEEDS = {"": 0, "fails": 1, "crashes": 2, "hangs": 3}


@pytest.fixture
def make_jobs() -> Iterator[Callable[..., Jobs]]:
    """A function from settings to a registry, whose workers are fakes unless another is named."""
    made = []

    def make(**settings: object) -> Jobs:
        made.append(Jobs(**{"worker": (sys.executable, "-c", FAKE), **settings}))
        return made[-1]

    yield make
    for jobs in made:
        jobs.close()


@pytest.fixture
def fake() -> Callable[..., TrainConfig]:
    """A function (steps, what goes wrong) to what a fake worker is told to do."""

    def fake(steps: int = 5, *, that: str = "") -> TrainConfig:
        return default_config("copy", steps=steps, seed=SEEDS[that])

    return fake


@pytest.fixture
def endless(fake: Callable[..., TrainConfig]) -> TrainConfig:
    """A run that only a stop ends."""
    return fake(10**6)
