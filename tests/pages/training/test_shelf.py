"""The shelf of runs on the training page: renamed, deleted, and a short list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from streamlit.testing.v1 import AppTest

if TYPE_CHECKING:
    import pytest

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]
Recorded = Callable[[str, np.ndarray], None]


def test_the_shelf_deletes_and_a_shared_server_shows_nobody_elses(
    visit: Visit, said: Said, recorded: Recorded, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    recorded("mine", rng.normal(size=(3, 6, 4)).astype(np.float32))
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")
    assert "**mine**" not in said(visit())
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "on")
    app = visit()
    assert "**mine** · recorded from a script · step 2 · loss 0.667" in said(app)
    app.button(key="delete-mine").click().run()
    assert (home / "mine").exists(), "it asks once"
    app.button(key="delete-mine-no").click().run()
    app.button(key="delete-mine").click().run()
    app.button(key="delete-mine-yes").click().run()
    assert not app.exception
    assert not (home / "mine").exists()
    assert "**mine**" not in said(app)


def test_a_run_gets_another_name_and_stays_open_and_on_show(
    visit: Visit, recorded: Recorded, home: Path
) -> None:
    rng = np.random.default_rng(0)
    recorded("mine", rng.normal(size=(3, 6, 4)).astype(np.float32))
    recorded("other", rng.normal(size=(3, 6, 4)).astype(np.float32))
    app = visit(table="run:mine@1")
    app.text_input(key="name-mine").set_value("other").run()
    (error,) = app.error
    assert error.value.replace("\\", "") == ("There is a run other already. Choose another name.")
    app.text_input(key="name-mine").set_value("first-try").run()
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="film").value == "run:first-try"
    assert app.selectbox(key="table").value == "run:first-try@1"
    assert {path.name for path in home.iterdir()} == {"first-try", "other"}


def test_many_runs_stay_a_short_list(visit: Visit, said: Said, recorded: Recorded) -> None:
    for number in range(11):
        recorded(f"mine-{number}", np.ones((1, 2, 2), np.float32))
    app = visit()
    assert said(app).count("recorded from a script") == 8
    app.toggle(key="older_runs").set_value(True).run()
    assert said(app).count("recorded from a script") == 11
