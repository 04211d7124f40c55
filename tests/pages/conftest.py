"""A runs folder and a list of jobs of the test's own, for pages that train."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posviz.ui import lab

if TYPE_CHECKING:
    from posviz.training.jobs import Jobs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def registry() -> Iterator[Jobs]:
    lab.jobs.clear()
    yield lab.jobs()
    lab.jobs().close()
    lab.jobs.clear()
