"""What an address asks for in vain is said, once, next to the control that does not offer it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).resolve().parents[2] / "app.py"
UI = APP.parent / "posviz" / "ui"


def visit(page: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=90)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run().switch_page(f"pages/{page}").run()


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [warning.value for warning in app.warning if "address" in warning.value]


@pytest.mark.parametrize(
    ("page", "key", "asked", "offered"),
    [
        ("interpolation.py", "stretched", "Nonsense", "All pairs"),
        ("interpolation.py", "method", "kubic", "Cubic spline"),
        ("interpolation.py", "grid", "<b>", "Half-pixel"),
        ("interpolation.py", "play", "perhaps", "false"),
    ],
)
def test_words_that_a_control_lacks_are_named_with_those_it_has(
    page: str, key: str, asked: str, offered: str
) -> None:
    app = visit(page, **{key: asked})
    (sentence,) = said(app)
    assert offered.lower() in sentence.lower().replace("\\", "")
    assert "\\<b\\>" in sentence or "<" not in sentence  # Markdown of an address stays text


def test_what_is_said_of_a_setting_is_not_hidden_with_it() -> None:
    app = visit("interpolation.py", grid="Nonsense")
    (sentence,) = said(app)
    hidden = [warning.value for part in app.expander for warning in part.warning]
    assert sentence not in hidden


def test_the_sentence_stands_until_another_choice_is_made() -> None:
    app = visit("interpolation.py", stretched="Nonsense")
    app.selectbox(key="method").set_value("tile").run()
    assert said(app)
    app.segmented_control(key="stretched").set_value("offset").run()
    assert said(app) == []
    app.segmented_control(key="stretched").set_value("curve").run()
    assert said(app) == []


@pytest.mark.parametrize("asked", ["Curve", "By offset"])
def test_words_that_a_control_has_need_none(asked: str) -> None:
    assert said(visit("interpolation.py", stretched=asked)) == []


def test_every_choice_of_a_few_goes_this_way() -> None:
    """A new control that binds itself would let go of a slip in a link without a word."""
    files = [*UI.glob("*.py"), *(APP.parent / "pages").glob("*.py")]
    others = [
        path.name
        for path in files
        if path.name != "address.py" and ".segmented_control(" in path.read_text(encoding="utf-8")
    ]
    assert others == []
