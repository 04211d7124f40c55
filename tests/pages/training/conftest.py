"""Visits to the training page: runs that begin there, and runs that lie on its shelf."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.training.loop import Snapshot
from posviz.training.metrics import snapshot_metrics
from posviz.training.recording import Recording
from posviz.ui import visitor

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

    from posviz.training.job import Job
    from posviz.training.jobs import Jobs


@pytest.fixture(autouse=True)
def fresh_server(home: Path, registry: Jobs) -> None:
    """No run on the shelf, and none in training."""


@pytest.fixture
def visit(visit: Callable[..., AppTest]) -> Callable[..., AppTest]:
    """A function from the query of an address to the training page as a new visitor sees it."""
    return partial(visit, "training.py")


@pytest.fixture
def until() -> Callable[[AppTest, Callable[[], bool]], None]:
    """A function that draws a page again and again until a condition holds."""

    def until(app: AppTest, condition: Callable[[], bool]) -> None:
        while not condition():  # pytest's own time limit ends a hang
            time.sleep(0.1)
            app.run()
            assert not app.exception

    return until


@pytest.fixture
def begin(registry: Jobs) -> Callable[[AppTest], Job]:
    """A function that presses Train on a page, for a run that lasts as long as any test."""

    def begin(app: AppTest) -> Job:
        app.number_input(key="steps-copy").set_value(20_000).run()
        app.button(key="train").click().run()
        assert not app.exception
        return list(registry._jobs.values())[-1]

    return begin


@pytest.fixture
def begun(
    visit: Callable[..., AppTest],
    begin: Callable[[AppTest], Job],
    until: Callable[[AppTest, Callable[[], bool]], None],
) -> Callable[..., tuple[AppTest, Job]]:
    """A function by which a new visitor begins a small run; their page and the job.

    With ``past=step`` they watch it until it is past that step.
    """

    def begun(*, past: int | None = None) -> tuple[AppTest, Job]:
        app = visit(task="Copy from k back", size="Small")
        job = begin(app)
        if past is not None:
            until(app, lambda: job.progress.get("step", 0) > past)
        return app, job

    return begun


@pytest.fixture
def recorded(home: Path) -> Callable[[str, np.ndarray], None]:
    """A function (name, tables) that leaves a run as somebody's script does: without settings."""

    def recorded(name: str, tables: np.ndarray) -> None:
        (home / name).mkdir(parents=True)
        recording = Recording(home / name)
        for step, table in enumerate(tables):
            now = Snapshot(step, 2.0 / (step + 1), table, np.ones(len(table), dtype=bool))
            recording.add(table, snapshot_metrics(now))

    return recorded


@pytest.fixture
def with_cookie(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function after which every visit comes with this visitor's number in its cookie."""
    from streamlit.runtime.context import ContextProxy

    def with_cookie(number: str) -> None:
        cookies = property(lambda self: {visitor.COOKIE: number})
        monkeypatch.setattr(ContextProxy, "cookies", cookies)

    return with_cookie


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server for other people: everybody has their own runs."""
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")
