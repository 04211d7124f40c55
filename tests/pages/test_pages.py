"""Every page of the menu, walked without a browser; a new page is covered the day it appears."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

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
HEAVY = ("torch", "transformers", "sklearn", "huggingface_hub")

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]
Figures = Callable[[AppTest], list[str]]
Shown = Callable[[AppTest], bool]


@pytest.fixture
def shown_or_explained(figures: Figures) -> Callable[[AppTest], bool]:
    """Whether a page, which must not fail, has a figure or a list of tensors, or says why not."""

    def shown_or_explained(app: AppTest) -> bool:
        assert not app.exception
        assert not app.error
        listed = any(text.value.startswith("| name |") for text in app.markdown)
        return bool(figures(app) or listed or app.info)

    return shown_or_explained


@pytest.mark.parametrize("ref", TABLES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_draws_and_names_its_source(
    visit: Visit, said: Said, figures: Figures, page: str, ref: str
) -> None:
    app = visit(page, table=ref)
    assert not app.exception
    assert not app.error
    assert app.title[0].value.endswith("?")
    drawn = page != "checkpoint.py" and (page != "inside.py" or ref.startswith("demo:"))
    assert bool(figures(app)) is drawn, "a file is listed; without a model there is no inside"
    assert ref in said(app)


@pytest.mark.parametrize("page", PAGES)
def test_experts_get_every_section_open(visit: Visit, page: str) -> None:
    closed, opened = visit(page), visit(page, expert="true")
    assert not any(section.proto.expanded for section in closed.expander)
    assert opened.expander
    assert all(section.proto.expanded for section in opened.expander)


@pytest.mark.parametrize("page", PAGES)
def test_an_unknown_name_is_explained_and_the_page_goes_on(visit: Visit, page: str) -> None:
    app = visit(page, table="no-such-model-anywhere")
    assert not app.exception
    assert len(app.error) == 1
    assert "no-such-model-anywhere" in app.error[0].value.replace("\\", "")
    assert app.title[0].value.endswith("?")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_tiny_tables_are_shown_or_explained(
    visit: Visit, shown_or_explained: Shown, page: str, rows: int, tmp_path: Path
) -> None:
    np.save(tmp_path / "tiny.npy", np.arange(4.0 * rows).reshape(rows, 4))
    assert shown_or_explained(visit(page, table=str(tmp_path / "tiny.npy")))


@pytest.mark.parametrize(("page", "query"), VIEWS)
@pytest.mark.parametrize("ref", ["demo:bert-mini", "random:1x5", "random:3x1", "constant"])
def test_every_view_of_a_page_draws_or_explains(
    visit: Visit,
    shown_or_explained: Shown,
    page: str,
    query: dict[str, str],
    ref: str,
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "constant.npy", np.ones((16, 8), np.float32))
    app = visit(page, table=str(tmp_path / "constant.npy") if ref == "constant" else ref, **query)
    assert shown_or_explained(app)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_tables_are_shown_or_explained(
    visit: Visit, shown_or_explained: Shown, page: str, value: float, tmp_path: Path
) -> None:
    np.save(tmp_path / "constant.npy", np.full((16, 8), value))
    assert shown_or_explained(visit(page, table=str(tmp_path / "constant.npy")))


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


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What each page newly imports of the heavy libraries, in a process that opens one by one."""
    code = f"""
import json, sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=90).run()
seen, loaded = set(), {{}}
for page in {PAGES}:
    app.switch_page("pages/" + page).run()
    assert not app.exception, app.exception
    now = {{name for name in {HEAVY} if name in sys.modules}}
    loaded[page] = sorted(now - seen)
    seen |= now
print(json.dumps(loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_no_heavy_library_before_it_is_used(
    page: str, loaded: dict[str, list[str]]
) -> None:
    assert loaded[page] == []


@pytest.mark.parametrize("page", ["overview.py", "curve.py", "similarity.py", "dimensions.py"])
def test_the_switch_for_special_rows_is_on_every_page_and_its_line_says_so(
    visit: Visit, said: Said, page: str, odd_table: str
) -> None:
    kept = visit(page, table=odd_table)
    assert "all 40 rows" in said(kept)
    kept.toggle(key="without").set_value(True).run()
    assert not kept.exception
    assert "39 rows, without 7" in said(kept)
