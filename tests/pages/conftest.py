"""Visits to the dashboard without a browser, and runs of the test's own for pages that train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from posviz.ui import lab

if TYPE_CHECKING:
    from posviz.training.jobs import Jobs

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def visit() -> Callable[..., AppTest]:
    """A function (file of a page, query of its address) to what a new visitor sees there."""

    def visit(page: str = "", **query: str) -> AppTest:
        app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        return app.switch_page(f"pages/{page}").run() if page else app

    return visit


@pytest.fixture
def upload() -> Callable[..., AppTest]:
    """A function (page, (name, content), …) that drops files on its uploader, all at once."""

    def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
        uploader = app.file_uploader[0]
        for name, content in files:
            uploader.upload(name, content, "application/octet-stream")
        uploader.run()
        assert not app.exception
        return app

    return upload


@pytest.fixture
def said() -> Callable[[AppTest], str]:
    """A function that gives the words on a page."""

    def said(app: AppTest) -> str:
        told = (*app.title, *app.markdown, *app.caption, *app.info, *app.warning, *app.error)
        return "\n".join(str(element.value) for element in told).replace("\\", "")

    return said


@pytest.fixture
def figures() -> Callable[[AppTest], list[str]]:
    """A function that gives the keys of the figures on a page, without the loader of each page."""

    def figures(app: AppTest) -> list[str]:
        drawn = [one.proto for one in app.get("bidi_component")]
        return [
            one.id.split("-", 2)[2]
            for one in drawn
            if one.component_name == "posviz_figure" and one.bytes
        ]

    return figures


@pytest.fixture
def odd_table(tmp_path: Path) -> str:
    """Path of a smooth table of 40 rows, of which row 7 is special."""
    place = np.linspace(0, 3, 40)
    rows = np.stack([np.sin(place), np.cos(place), 0 * place + 0.1, 0 * place], axis=1)
    rows[7] *= 10
    np.save(tmp_path / "odd.npy", rows)
    return str(tmp_path / "odd.npy")


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
