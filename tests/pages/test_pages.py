"""Every page of the menu, walked without a browser; a new page is covered the day it appears."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from streamlit.testing.v1 import AppTest

from posviz import sources
from posviz.analysis.definitions import DEFINITIONS
from posviz.errors import SourceError

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (PROJECT / "pages").glob("*.py"))
VIEWS = [
    ("curve.py", {"dim": "2-D"}),
    ("curve.py", {"dim": "Phase"}),
    ("curve.py", {"dim": "2-D", "pc_x": "7"}),
    ("similarity.py", {"view": "By offset"}),
    ("similarity.py", {"metric": "Distance"}),
    ("similarity.py", {"view": "Neighbours"}),
    ("similarity.py", {"view": "Neighbours", "metric": "Distance"}),
    ("similarity.py", {"metric": "Dot product", "view": "By offset"}),
    ("spectrum.py", {"spectrum": "Cumulative share"}),
    ("spectrum.py", {"centred": "false"}),
    ("spectrum.py", {"spectrum": "Cumulative share", "centred": "false"}),
    *(
        ("compare.py", {"compared": view, "with": other})
        for view in ("Curves", "Spectra", "By offset", "Difference")
        for other in ("demo:bert-mini", "random:9x300")
    ),
    ("dimensions.py", {"traces": "Strongest"}),
    ("dimensions.py", {"traces": "By period"}),
    ("dimensions.py", {"traces": "Energy"}),
    ("dimensions.py", {"traces": "Norms"}),
    ("dimensions.py", {"traces": "Map", "order": "As in the model"}),
    ("interpolation.py", {"stretched": "All pairs"}),
    ("interpolation.py", {"stretched": "By offset", "method": "Tile"}),
    ("interpolation.py", {"stretched": "Spectrum", "method": "Cubic spline"}),
    ("interpolation.py", {"stretched": "Row by row", "method": "Tile"}),
    ("interpolation.py", {"stretched": "What a model loses"}),
]
TABLES = ("demo:gpt-mini", "demo:bert-mini", "sinusoidal:40x12", "random:9x300")


def run(page: str = "", **query: str) -> AppTest:
    """The app on one page, as its address with this query would open it."""
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page(f"pages/{page}").run() if page else app


def said(app: AppTest) -> str:
    """All words on the page."""
    texts = (str(element.value) for element in (*app.markdown, *app.caption, *app.title))
    return "\n".join(texts).replace("\\", "")


@pytest.mark.parametrize("ref", TABLES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_draws_and_names_its_source(page: str, ref: str) -> None:
    app = run(page, table=ref)
    assert not app.exception
    assert not app.error
    assert app.title[0].value.endswith("?")
    assert app.get("bidi_component") or page == "checkpoint.py", "no figure"
    assert ref in said(app)


@pytest.mark.parametrize("page", PAGES)
def test_experts_get_every_section_open(page: str) -> None:
    closed, opened = run(page), run(page, expert="true")
    assert not any(section.proto.expanded for section in closed.expander)
    assert opened.expander
    assert all(section.proto.expanded for section in opened.expander)


@pytest.mark.parametrize("page", PAGES)
def test_an_unknown_name_is_explained_and_the_page_goes_on(page: str) -> None:
    app = run(page, table="no-such-model-anywhere")
    assert not app.exception
    assert len(app.error) == 1
    assert "no-such-model-anywhere" in app.error[0].value.replace("\\", "")
    assert app.title[0].value.endswith("?")


def test_what_was_open_stays_open_when_another_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = run("curve.py", table="demo:bert-mini")
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


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_tiny_tables_are_shown_or_explained(page: str, rows: int, tmp_path: Path) -> None:
    np.save(tmp_path / "tiny.npy", np.arange(4.0 * rows).reshape(rows, 4))
    app = run(page, table=str(tmp_path / "tiny.npy"))
    assert not app.exception


@pytest.mark.parametrize(("page", "query"), VIEWS)
@pytest.mark.parametrize("ref", ["demo:bert-mini", "random:1x5", "random:3x1", "constant"])
def test_every_view_of_a_page_draws_or_explains(
    page: str, query: dict[str, str], ref: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "constant.npy", np.ones((16, 8), np.float32))
    app = run(page, table=str(tmp_path / "constant.npy") if ref == "constant" else ref, **query)
    assert not app.exception
    assert not app.error
    assert app.get("bidi_component") or app.info


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_tables_are_shown_or_explained(page: str, value: float, tmp_path: Path) -> None:
    np.save(tmp_path / "constant.npy", np.full((16, 8), value))
    app = run(page, table=str(tmp_path / "constant.npy"))
    assert not app.exception


def test_two_visits_do_not_see_each_other() -> None:
    first, second = run(table="demo:bert-mini"), run(table="random:30x20")
    first.run()
    assert "demo:bert-mini" in said(first)
    assert "demo:bert-mini" not in said(second)


def test_every_page_is_in_the_menu_under_the_name_of_its_file() -> None:
    """Streamlit looks for an address among the file names before the app has run once."""
    app = ast.parse((PROJECT / "app.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(app) if isinstance(node, ast.Call)]
    listed = [
        node.args[0].value
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == "listed"
    ]
    assert sorted(f"{address}.py" for address in listed) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_no_heavy_library_before_it_is_used(page: str) -> None:
    code = (
        "import sys; from streamlit.testing.v1 import AppTest;"
        f"app = AppTest.from_file('app.py', default_timeout=90); app.run();"
        f"app.switch_page('pages/{page}').run();"
        "assert not app.exception, app.exception;"
        "print([m for m in ('torch', 'transformers', 'sklearn', 'huggingface_hub')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_a_file_without_a_table_offers_its_tensors_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "classifier.safetensors"
    save_file({"fc1.weight": np.eye(64, 32), "fc2.weight": np.eye(10, 64)}, path)
    app = run("spectrum.py", table=str(path))
    assert not app.exception
    assert "fc1.weight" in app.error[0].value
    assert app.selectbox(key="by_hand").options == ["fc1.weight", "fc2.weight"]
    app.selectbox(key="by_hand").set_value("fc2.weight").run()
    assert not app.exception
    assert not app.error
    assert "10 positions × 64" in said(app)


def test_one_click_takes_another_table_and_another_file_forgets_it(tmp_path: Path) -> None:
    path = tmp_path / "two.safetensors"
    rng = np.random.default_rng(0)
    tensors = {
        "text_model.embeddings.position_embedding.weight": rng.normal(size=(77, 16)),
        "vision_model.embeddings.position_embedding.weight": rng.normal(size=(50, 16)),
    }
    save_file({name: rows.astype(np.float32) for name, rows in tensors.items()}, path)
    app = run(table=str(path))
    first, second = app.selectbox(key="parameter").options
    assert first in said(app)
    app.selectbox(key="parameter").set_value(second).run()
    assert not app.exception
    assert second in said(app)
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert not app.exception
    assert not app.error
    assert "demo:bert-mini" in said(app)


def test_u08_uploads_are_kept_by_their_content() -> None:
    """The same name and size with other numbers is another upload (streamlit#1388)."""
    app = run()
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


def labels(app: AppTest) -> set[str]:
    """First cells of the tables of numbers on a page."""
    tables = [m.value.replace("\\", "") for m in app.markdown if m.value.startswith("| ")]
    own = [
        t
        for t in tables
        if re.match(r"\| (order and probes|over the positions compared|read as a helix)? *\|", t)
    ]
    return {line.split("|")[1].strip() for table in own for line in table.splitlines()[2:]}


@pytest.mark.parametrize(
    "page",
    ["overview.py", "compare.py", "curve.py", "dimensions.py", "similarity.py", "spectrum.py"],
)
def test_every_number_in_a_table_is_defined_on_its_page(page: str) -> None:
    app = run(page, expert="true")
    found = labels(app)
    assert len(found) >= 2
    defined = {
        d.label for d in DEFINITIONS.values() if f"**{d.label}.** `{d.formula}`" in said(app)
    }
    assert found <= defined


def test_probes_are_computed_only_while_their_section_stands_open() -> None:
    closed, opened = run("overview.py"), run("overview.py", expert="true")
    heading = "order and probes"  # of their table; the section Method names them in any case
    assert heading not in said(closed)
    assert heading in said(opened)


def test_a_table_may_be_compared_with_itself() -> None:
    app = run("compare.py", **{"table": "demo:bert-mini", "with": "demo:bert-mini"})
    assert not app.exception
    assert "The same shape" in said(app)
    assert "**1.000**" in said(app)


def test_a_second_table_that_cannot_be_opened_is_explained_and_the_page_goes_on() -> None:
    app = run("compare.py", **{"table": "demo:bert-mini", "with": "no-such-model-anywhere"})
    assert not app.exception
    (error,) = [error.value.replace("\\", "") for error in app.error]
    assert "no-such-model-anywhere" in error
    assert error.endswith("Comparing with sinusoidal:64x64.")
    assert app.get("bidi_component")
    assert "with sinusoidal:64x64" in said(app)


def test_the_usual_second_table_follows_the_open_one() -> None:
    app = run("compare.py", table="demo:bert-mini")
    assert app.selectbox(key="with").value == "sinusoidal:64x64"
    app.selectbox(key="table").set_value("demo:gpt-mini").run()
    assert app.selectbox(key="with").value == "sinusoidal:128x64"
    app.selectbox(key="with").set_value("demo:gpt-mini").run()
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert app.selectbox(key="with").value == "demo:gpt-mini"


def test_special_rows_can_be_left_out_of_a_comparison(tmp_path: Path) -> None:
    place = np.linspace(0, 3, 40)
    rows = np.stack([np.sin(place), np.cos(place), 0 * place + 0.1, 0 * place], axis=1)
    rows[7] *= 10
    np.save(tmp_path / "odd.npy", rows)
    app = run("compare.py", table=str(tmp_path / "odd.npy"), without="true")
    assert "39 positions, without those that are special in either" in said(app)


@pytest.mark.parametrize("page", ["overview.py", "curve.py", "similarity.py", "dimensions.py"])
def test_the_switch_for_special_rows_is_on_every_page_and_its_line_says_so(
    page: str, tmp_path: Path
) -> None:
    place = np.linspace(0, 3, 40)
    rows = np.stack([np.sin(place), np.cos(place), 0 * place + 0.1, 0 * place], axis=1)
    rows[7] *= 10
    np.save(tmp_path / "odd.npy", rows)
    kept = run(page, table=str(tmp_path / "odd.npy"))
    assert "all 40 rows" in said(kept)
    kept.toggle(key="without").set_value(True).run()
    assert not kept.exception
    assert "39 rows, without 7" in said(kept)


def test_a_chosen_component_outlives_a_table_that_lacks_it() -> None:
    app = run("curve.py", table="random:30x3", pc_x="7")
    assert app.number_input(key="pc_x").value == 7
    app.selectbox(key="table").set_value("demo:bert-mini").run()
    assert not app.exception
    assert app.number_input(key="pc_x").value == 7


def test_the_spectrum_need_not_be_centred(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(5, 1, (30, 8)).astype(np.float32)
    np.save(tmp_path / "far.npy", weights)
    app = run("spectrum.py", table=str(tmp_path / "far.npy"), centred="false")
    shares = np.linalg.svd(weights, compute_uv=False) ** 2
    assert f"**{100 * shares[:3].sum() / shares.sum():.1f} %**" in said(app)
    assert "squared size" in said(app)
    assert "not centred" in said(app)


def test_the_second_table_of_a_comparison_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "two.safetensors"
    rng = np.random.default_rng(0)
    names = [f"{kind}_model.embeddings.position_embedding.weight" for kind in ("text", "vision")]
    save_file({name: rng.normal(size=(50, 16)).astype(np.float32) for name in names}, path)
    app = run("compare.py", **{"table": "demo:bert-mini", "with": str(path)})
    first, second = app.selectbox(key="with_parameter").options
    assert f"with {path} · {first}" in said(app)
    app.selectbox(key="with_parameter").set_value(second).run()
    assert not app.exception
    assert f"with {path} · {second}" in said(app)
    app.selectbox(key="with").set_value("demo:gpt-mini").run()
    assert not app.exception
    assert not app.error
    assert "with demo:gpt-mini" in said(app)


def test_one_row_is_said_to_have_no_variance(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.arange(8.0)[None])
    app = run("spectrum.py", table=str(tmp_path / "one.npy"))
    assert not app.exception
    assert [info.value for info in app.info] == [
        "Every row used is the same: nothing varies from position to position."
    ]


def test_one_row_is_not_spoken_of_as_many() -> None:
    app = run(table="random:1x5")
    assert "1 position × 5" in said(app)
    assert "its one row" in said(app)
    assert "one row says nothing" in said(app)


def test_two_rows_are_not_called_the_same_shape() -> None:
    app = run("compare.py", table="random:2x16")
    assert "Too few rows to tell likeness from chance" in said(app)


def test_one_dimension_is_not_called_many() -> None:
    app = run("dimensions.py", table="random:64x1")
    assert "The rows have one dimension, which holds all there is." in said(app)


def test_a_long_table_says_why_it_has_no_smallest_cosine() -> None:
    app = run("similarity.py", table="random:17000x2")
    assert not app.exception
    assert "not sought among so many rows" in said(app)
    assert "not sought" not in said(run("similarity.py", table="random:1x4"))
