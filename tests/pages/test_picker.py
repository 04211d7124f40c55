"""The table that is open: chosen, uploaded, refused, and kept from one choice to the next."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import save_file
from streamlit.testing.v1 import AppTest

from posviz import sources
from posviz.errors import SourceError

if TYPE_CHECKING:
    import pytest

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]


def test_what_was_open_stays_open_when_another_cannot_be_opened(
    visit: Visit, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit("curve.py", table="demo:bert-mini")
    asked = []

    def refuse(ref: str, **_: object) -> None:
        asked.append(ref)
        raise SourceError(f"{ref}: the Hub cannot be reached. Look at the network.")

    monkeypatch.setattr(sources, "open", refuse)
    app.selectbox(key="table").set_value("gpt2").run()
    assert not app.exception
    refused = "gpt2: the Hub cannot be reached. Look at the network. Still showing demo:bert-mini."
    assert app.error[0].value.replace("\\", "") == refused
    assert "demo:bert-mini" in said(app)
    app.run()
    assert asked == ["gpt2"], "what was refused is not asked for on every run"
    app.button(key="try-again").click().run()
    assert asked == ["gpt2", "gpt2"]


def test_two_visits_do_not_see_each_other(visit: Visit, said: Said) -> None:
    first, second = visit(table="demo:bert-mini"), visit(table="random:30x20")
    first.run()
    assert "demo:bert-mini" in said(first)
    assert "demo:bert-mini" not in said(second)


def test_a_file_without_a_table_offers_its_tensors_by_hand(
    visit: Visit, said: Said, tmp_path: Path
) -> None:
    path = tmp_path / "classifier.safetensors"
    save_file({"fc1.weight": np.eye(64, 32), "fc2.weight": np.eye(10, 64)}, path)
    app = visit("spectrum.py", table=str(path))
    assert not app.exception
    assert "fc1.weight" in app.error[0].value
    assert app.selectbox(key="by_hand").options == ["fc1.weight", "fc2.weight"]
    app.selectbox(key="by_hand").set_value("fc2.weight").run()
    assert not app.exception
    assert not app.error
    assert "10 positions × 64" in said(app)


def test_one_click_takes_another_table_and_another_file_forgets_it(
    visit: Visit, said: Said, two_tables: str
) -> None:
    app = visit(table=two_tables)
    first, second = app.selectbox(key="parameter").options
    assert first in said(app)
    assert "77 positions × 16" in said(app)
    app.selectbox(key="parameter").set_value(second).run()
    assert not app.exception
    assert second in said(app)
    assert "50 positions × 16" in said(app)
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert not app.exception
    assert not app.error
    assert "demo:bert-mini" in said(app)


def test_an_upload_leaves_the_page_in_sight(visit: Visit) -> None:
    app = visit()
    app.session_state["uploader"] = True  # as a click opens it
    app.run()
    app.file_uploader[0].upload("notes.npy", b"no array", "application/octet-stream").run()
    assert app.error
    assert app.session_state["uploader"] is False


def test_u08_uploads_are_kept_by_their_content(visit: Visit) -> None:
    """The same name and size with other numbers is another upload (streamlit#1388)."""
    app = visit()
    for value in (1.0, 2.0, 1.0):
        held = BytesIO()
        rows = value * np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
        np.save(held, rows)
        app.file_uploader[0].upload("Table.NPY", held.getvalue(), "application/octet-stream").run()
        assert not app.exception
        assert not app.error
        np.testing.assert_array_equal(app.session_state["_open"].table.weights, rows)
    uploads = [name for name in app.selectbox(key="table").options if name.startswith("upload:")]
    assert sorted(uploads) == ["upload:Table.NPY", "upload:Table.NPY (2)"]
    assert app.selectbox(key="table").value == "upload:Table.NPY"


def test_a_chosen_component_outlives_a_table_that_lacks_it(visit: Visit) -> None:
    app = visit("curve.py", table="random:30x3", pc_x="7")
    assert app.number_input(key="pc_x").value == 7
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert not app.exception
    assert app.number_input(key="pc_x").value == 7
