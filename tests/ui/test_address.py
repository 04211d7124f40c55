"""What an address asks for in vain is said, once, next to the control that does not offer it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).resolve().parents[2] / "app.py"
UI = APP.parent / "posviz" / "ui"
FILES = [
    path
    for path in (*sorted(UI.glob("*.py")), *sorted((APP.parent / "pages").glob("*.py")))
    if path.name != "address.py"
]
NONSENSE = "x" * 5000  # no word of a menu, no number, and longer than any text may be
ODD, GRID = "odd_table", "grid_table"  # fixtures

Visit = Callable[..., AppTest]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No runs but the shipped ones."""
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))


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
    visit: Visit, page: str, key: str, asked: str, offered: str
) -> None:
    app = visit(page, **{key: asked})
    (sentence,) = said(app)
    assert offered.lower() in sentence.lower().replace("\\", "")
    assert "\\<b\\>" in sentence or "<" not in sentence  # Markdown of an address stays text


def test_what_is_said_of_a_setting_is_not_hidden_with_it(visit: Visit) -> None:
    app = visit("interpolation.py", grid="Nonsense")
    (sentence,) = said(app)
    hidden = [warning.value for part in app.expander for warning in part.warning]
    assert sentence not in hidden


def test_the_sentence_stands_until_another_choice_is_made(visit: Visit) -> None:
    app = visit("interpolation.py", stretched="Nonsense")
    app.selectbox(key="method").set_value("tile").run()
    assert said(app)
    app.segmented_control(key="stretched").set_value("offset").run()
    assert said(app) == []
    app.segmented_control(key="stretched").set_value("curve").run()
    assert said(app) == []


@pytest.mark.parametrize("asked", ["Curve", "By offset"])
def test_words_that_a_control_has_need_none(visit: Visit, asked: str) -> None:
    assert said(visit("interpolation.py", stretched=asked)) == []


@pytest.mark.parametrize(
    ("page", "key", "asked", "sentence"),
    [
        (
            "spectrum.py",
            "logx",
            "1",
            "The address asks for 1 under Logarithmic component axis, which is neither true nor "
            "false. The usual one is shown until another is picked.",
        ),
        (
            "curve.py",
            "pc_y",
            "3.7",
            "The address asks for 3.7 under y axis: component, which is no whole number from 1 to "
            "10. 3 is shown until another is picked.",
        ),
        (
            "training.py",
            "film",
            "run:gone",
            "The address asks for run:gone under Watch, which is none of demo:gpt-mini, "
            "demo:bert-mini. The usual one is shown until another is picked.",
        ),
        (
            "training.py",
            "beside",
            "run:gone",
            "The address asks for run:gone under Beside, which is none of demo:bert-mini. None is "
            "shown until another is picked.",
        ),
        (
            "inside.py",
            "text",
            "word " * 1000,
            f"The address asks for {'word ' * 12}… under Text, which is longer than the 4,000 "
            "characters that are read. Its beginning is shown until another is picked.",
        ),
        (
            "similarity.py",
            "view",
            "",
            "The address asks for nothing under Show, which is none of All pairs, By offset, "
            "Neighbours. The usual one is shown until another is picked.",
        ),
    ],
)
def test_the_sentence_names_what_is_asked_what_there_is_and_what_is_shown(
    visit: Visit, page: str, key: str, asked: str, sentence: str, home: None
) -> None:
    (found,) = said(visit(page, **{key: asked}))
    assert found.replace("\\", "") == sentence


@pytest.mark.parametrize(
    ("page", "key", "asked", "held"),
    [
        ("spectrum.py", "logx", "False", False),  # Streamlit does not mind the case
        ("curve.py", "pc_y", "4.0", 4),
        ("training.py", "seed", "1e3", 1000),
        ("training.py", "beside", "", None),
    ],
)
def test_what_streamlit_takes_is_no_slip(
    visit: Visit, page: str, key: str, asked: str, held: object
) -> None:
    app = visit(page, **{key: asked})
    assert said(app) == []
    assert app.session_state[key] == held


@pytest.mark.parametrize(
    ("page", "key", "held"), [("training.py", "seed", 0), ("interpolation.py", "length", 256)]
)
@pytest.mark.parametrize("asked", ["inf", "-1e999", "nan"])
def test_a_number_without_end_is_refused_and_the_box_stays_bound(
    visit: Visit, page: str, key: str, held: int, asked: str
) -> None:
    app = visit(page, **{key: asked})
    (sentence,) = said(app)
    assert f"asks for {asked} under" in sentence.replace("\\", "")
    assert app.session_state[key] == held
    assert key not in app.query_params
    assert {widget.proto.query_param_key for widget in (*app.number_input, *app.slider)} >= {key}


@pytest.mark.parametrize("stale", [False, True])
def test_a_menu_lets_go_of_what_another_table_had_and_this_one_lacks(stale: bool) -> None:
    def page() -> None:
        import streamlit as st

        from posviz.ui import address

        layers = {layer: str(layer) for layer in range(st.session_state["layers"])}
        held = address.menu("Layer", layers, key="layer")
        beside = address.optional_menu("Beside", layers.values(), key="beside", placeholder="None")
        st.text(f"layer {held} beside {beside}")

    app = AppTest.from_function(page)
    app.session_state["layers"], app.session_state["layer"] = 8, 9  # 9: of a page left before
    app.run()
    assert app.text[0].value == "layer 0 beside None"
    app.selectbox(key="layer").select(5)
    app.selectbox(key="beside").select("6").run()
    assert app.text[0].value == "layer 5 beside 6"
    app.session_state["layers"] = 3 if stale else 7
    app.run()
    assert not app.exception
    assert app.text[0].value == ("layer 0 beside None" if stale else "layer 5 beside 6")


def test_every_control_in_the_address_is_made_by_one_of_the_doors() -> None:
    """A new control that binds itself would let go of a slip in a link without a word."""
    binding = [
        f"{path.name}:{call.lineno}"
        for path in FILES
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and any(word.arg == "bind" for word in call.keywords)
    ]
    assert binding == []


# What brings every control in the address onto a page: the page, what is picked, and the names of
# those that the page then has, the sidebar's and those of a line above aside.
VISITS: list[tuple[str, dict[str, str], set[str]]] = [
    ("overview.py", {"table": ODD}, {"without", "expert"}),
    ("curve.py", {}, {"dim", "pc_", "special"}),
    ("similarity.py", {}, {"view", "metric"}),
    ("spectrum.py", {}, {"spectrum", "logx", "centred"}),
    ("dimensions.py", {}, {"traces", "order"}),
    ("interpolation.py", {"table": ODD}, {"length", "method", "grid", "keep", "stretched", "play"}),
    ("interpolation.py", {"table": GRID}, {"height", "width"}),
    ("interpolation.py", {"expert": "true"}, {"moving"}),
    ("training.py", {}, {"task", "size", "seed", "film", "beside", "reel"}),
    ("inside.py", {"table": "demo:bert-mini"}, {"inside", "text", "second"}),
    ("inside.py", {"text": "A few words."}, {"change", "columns"}),
    ("inside.py", {"inside": "Subspaces"}, {"spaces", "directions"}),
    ("inside.py", {"inside": "Heads"}, {"layer", "head", "heads"}),
    ("compare.py", {}, {"compared"}),
]
# Whoever looks these up refuses them in a sentence of his own, or any text will do.
OTHERWISE = {"table", "parameter", "with", "with_parameter", "tensor"}


@pytest.mark.parametrize(("page", "picked", "keys"), VISITS)
def test_every_control_in_the_address_tells_a_slip(
    visit: Visit,
    page: str,
    picked: dict[str, str],
    keys: set[str],
    home: None,
    request: pytest.FixtureRequest,
) -> None:
    query = dict.fromkeys(asked_of(keys | {"expert"}) - set(picked), NONSENSE) | picked
    if "table" in picked:
        table = picked["table"]
        query["table"] = request.getfixturevalue(table) if table in (ODD, GRID) else table
    app = visit(page, **query)
    told = "\n".join(said(app)).replace("\\", "")
    met = {widget.proto.query_param_key: widget.label for widget in bound(app)}
    for key in asked_of(keys):
        assert f"under {met[key].partition(' (')[0]}, which is" in told


def test_the_visits_meet_every_control_that_stands_in_the_code() -> None:
    visited = set().union(*(keys for *_, keys in VISITS))
    assert written_keys() == visited | OTHERWISE


def asked_of(keys: set[str]) -> set[str]:
    """The names in an address; those that are made up have a beginning in common."""
    return {
        name
        for key in keys
        for name in ([f"{key}{axis}" for axis in "xyz"] if key.endswith("_") else [key])
    }


def bound(app: AppTest) -> list[Any]:
    """The controls on a page that stand in its address."""
    kinds = (app.button_group, app.selectbox, app.toggle, app.number_input, app.slider)
    return [one for kind in (*kinds, app.text_input) for one in kind if one.proto.query_param_key]


def written_keys() -> set[str]:
    """The names of the controls in the address as the code gives them to the doors."""
    found: set[str] = set()
    for path in FILES:
        package = "posviz.ui." if path.parent == UI else ""
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("address."):
                keys = [word.value for word in call.keywords if word.arg == "key"]
                found |= {written(key, package + path.stem) for key in keys}
    return found


def written(key: ast.expr, module: str) -> str:
    """A name that is written out, that of a constant, or the beginning of a made-up one."""
    if isinstance(key, ast.JoinedStr):
        (beginning, *_) = key.values
        return ast.literal_eval(beginning)
    if isinstance(key, ast.Constant):
        return str(key.value)
    value = import_module(module)
    for part in ast.unparse(key).split("."):
        value = getattr(value, part)
    return str(value)
