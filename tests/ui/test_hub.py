"""A visitor's Hub token: what was refused without it is asked for again with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.ui import access, hub, opened

if TYPE_CHECKING:
    import pytest
    from streamlit.testing.v1 import AppTest

    from posviz import sources
    from posviz.ui.facts import Read


@contextmanager
def stands_open(label: str, **more: object) -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(open=True)


def test_a_pasted_token_opens_what_was_refused_without_it(
    visit: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    app = visit(table="hub:org/gated")
    assert "is gated" in app.error[0].value
    assert app.run().error, "not asked for again on every run"
    app.text_input(key=access.PASTED).set_value("hf_mine").run()
    assert not app.exception
    assert not app.error
    assert sent == [False, "hf_mine"]
    assert "hf_mine" not in str(app.query_params)
