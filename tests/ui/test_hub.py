"""A visitor's Hub token: what was refused without it is asked for again with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from streamlit.testing.v1 import AppTest

from posviz.errors import SourceError
from posviz.ui import access, hub, opened

if TYPE_CHECKING:
    import pytest

    from posviz import sources
    from posviz.ui.facts import Read

PROJECT = Path(__file__).resolve().parents[2]


@contextmanager
def stands_open(label: str, **more: object) -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(open=True)


def test_a_pasted_token_opens_what_was_refused_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str | bool] = []

    def gated(ref: str, parameter: str | None, rights: sources.Access) -> Read:
        if not ref.startswith("hub:"):
            return really(ref, parameter, rights)
        sent.append(rights.token)
        if rights.token != "hf_mine":
            raise SourceError(f"{ref} is gated.")
        return really("sinusoidal:7x4", None, rights)

    really = opened._read_file
    monkeypatch.setattr(opened, "_read_file", gated)
    monkeypatch.setattr(hub, "st", SimpleNamespace(**vars(hub.st) | {"popover": stands_open}))
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    app.query_params["table"] = "hub:org/gated"
    app.run()
    assert "is gated" in app.error[0].value
    assert app.run().error, "not asked for again on every run"
    app.text_input(key=access.PASTED).set_value("hf_mine").run()
    assert not app.exception
    assert not app.error
    assert sent == [False, "hf_mine"]
    assert "hf_mine" not in str(app.query_params)
