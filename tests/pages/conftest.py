"""What a visit finds and does on a page, and runs of the test's own for pages that train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors.numpy import save_file

from posviz.ui import lab

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

    from posviz.training.jobs import Jobs


@pytest.fixture
def interpolation(visit: Callable[..., AppTest]) -> Callable[..., AppTest]:
    """A function (query) to the Interpolation page, every section open."""

    def interpolation(**query: str) -> AppTest:
        app = visit("interpolation.py", expert="true", **query)
        assert not app.exception
        return app

    return interpolation


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
def two_tables(tmp_path: Path) -> str:
    """Path of a file with the tables of a text model, 77 × 16, and of an image model, 50 × 16."""
    rng = np.random.default_rng(0)
    tensors = {
        f"{kind}_model.embeddings.position_embedding.weight": rng.normal(size=(length, 16))
        for kind, length in (("text", 77), ("vision", 50))
    }
    path = tmp_path / "two.safetensors"
    save_file({name: rows.astype(np.float32) for name, rows in tensors.items()}, path)
    return str(path)


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
