"""The Compare page: which second table stands beside the open one, and what is said of both."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]
Figures = Callable[[AppTest], list[str]]


def test_a_table_may_be_compared_with_itself(visit: Visit, said: Said) -> None:
    app = visit("compare.py", **{"table": "demo:bert-mini", "with": "demo:bert-mini"})
    assert not app.exception
    assert "The same shape" in said(app)
    assert "**1.000**" in said(app)


def test_a_second_table_that_cannot_be_opened_is_explained_and_the_page_goes_on(
    visit: Visit, said: Said, figures: Figures
) -> None:
    app = visit("compare.py", **{"table": "demo:bert-mini", "with": "no-such-model-anywhere"})
    assert not app.exception
    (error,) = [error.value.replace("\\", "") for error in app.error]
    assert "no-such-model-anywhere" in error
    assert error.endswith("Comparing with sinusoidal:64x64.")
    assert figures(app)
    assert "with sinusoidal:64x64" in said(app)


def test_the_usual_second_table_follows_the_open_one(visit: Visit) -> None:
    app = visit("compare.py", table="demo:bert-mini")
    assert app.selectbox(key="with").value == "sinusoidal:64x64"
    app.selectbox(key="table").set_value("demo:gpt-mini").run()
    assert app.selectbox(key="with").value == "sinusoidal:128x64"
    app.selectbox(key="with").set_value("demo:gpt-mini").run()
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert app.selectbox(key="with").value == "demo:gpt-mini"


def test_special_rows_can_be_left_out_of_a_comparison(
    visit: Visit, said: Said, odd_table: str
) -> None:
    app = visit("compare.py", table=odd_table, without="true")
    assert "39 positions, without those that are special in either" in said(app)


def test_the_second_table_of_a_comparison_may_be_named(
    visit: Visit, said: Said, two_tables: str
) -> None:
    app = visit("compare.py", **{"table": "demo:bert-mini", "with": two_tables})
    first, second = app.selectbox(key="with_parameter").options
    assert f"with {two_tables} · {first}" in said(app)
    app.selectbox(key="with_parameter").set_value(second).run()
    assert not app.exception
    assert f"with {two_tables} · {second}" in said(app)
    app.selectbox(key="with").set_value("demo:gpt-mini").run()
    assert not app.exception
    assert not app.error
    assert "with demo:gpt-mini" in said(app)


def test_two_rows_are_not_called_the_same_shape(visit: Visit, said: Said) -> None:
    app = visit("compare.py", table="random:2x16")
    assert "Too few rows to tell likeness from chance" in said(app)
