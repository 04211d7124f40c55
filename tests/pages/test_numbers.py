"""What pages say in numbers and words: each number defined, and few rows not spoken of as many."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from posviz.analysis.definitions import DEFINITIONS

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]


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
def test_every_number_in_a_table_is_defined_on_its_page(
    visit: Visit, said: Said, page: str
) -> None:
    app = visit(page, expert="true")
    found = labels(app)
    assert len(found) >= 2
    defined = {
        d.label for d in DEFINITIONS.values() if f"**{d.label}.** `{d.formula}`" in said(app)
    }
    assert found <= defined


def test_probes_are_computed_only_while_their_section_stands_open(visit: Visit, said: Said) -> None:
    closed, opened = visit("overview.py"), visit("overview.py", expert="true")
    heading = "order and probes"  # of their table; the section Method names them in any case
    assert heading not in said(closed)
    assert heading in said(opened)


@pytest.mark.parametrize("table", ["demo:gpt-mini", "random:64x32", "sinusoidal:64x32"])
def test_that_shuffling_keeps_the_spectrum_is_said_once(
    visit: Visit, said: Said, table: str
) -> None:
    assert said(visit("spectrum.py", table=table)).lower().count("shuffling the rows") == 1


def test_the_spectrum_need_not_be_centred(visit: Visit, said: Said, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(5, 1, (30, 8)).astype(np.float32)
    np.save(tmp_path / "far.npy", weights)
    app = visit("spectrum.py", table=str(tmp_path / "far.npy"), centred="false")
    shares = np.linalg.svd(weights, compute_uv=False) ** 2
    assert f"**{100 * shares[:3].sum() / shares.sum():.1f} %**" in said(app)
    assert "squared size" in said(app)
    assert "not centred" in said(app)


def test_one_row_is_said_to_have_no_variance(visit: Visit, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.arange(8.0)[None])
    app = visit("spectrum.py", table=str(tmp_path / "one.npy"))
    assert not app.exception
    assert [info.value for info in app.info] == [
        "Every row used is the same: nothing varies from position to position."
    ]


def test_one_row_is_not_spoken_of_as_many(visit: Visit, said: Said) -> None:
    app = visit(table="random:1x5")
    assert "1 position × 5" in said(app)
    assert "its one row" in said(app)
    assert "one row says nothing" in said(app)


def test_one_dimension_is_not_called_many(visit: Visit, said: Said) -> None:
    app = visit("dimensions.py", table="random:64x1")
    assert "The rows have one dimension, which holds all there is." in said(app)


def test_a_long_table_says_why_it_has_no_smallest_cosine(visit: Visit, said: Said) -> None:
    app = visit("similarity.py", table="random:17000x2")
    assert not app.exception
    assert "not sought among so many rows" in said(app)
    assert "not sought" not in said(visit("similarity.py", table="random:1x4"))
