"""The picture of all pairs: what it answers when a person points at it or zooms in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.analysis.metrics import METRICS
from posviz.analysis.references import random_normal
from posviz.analysis.similarity import pooled_similarity, similarity
from posviz.analysis.summary import analyze
from posviz.figures.heatmap import heatmap
from posviz.table import PositionTable, Provenance
from posviz.ui import figure, pairs, results

if TYPE_CHECKING:
    from posviz.figures.picture import Picture


def table_of(weights: np.ndarray) -> PositionTable:
    return PositionTable(weights, "made", Provenance("file", "made"))


DOCS = Path(__file__).resolve().parents[2] / "docs"
LONG = table_of(random_normal(3000, 6))


def whole() -> Picture:
    pooled = pooled_similarity(LONG.weights, "cosine", 1024)
    return heatmap(pooled.values, limits=(-1, 1), n_positions=3000)


def test_a_zoom_shows_every_pair_of_its_part_in_the_colours_of_the_whole() -> None:
    found = pairs._detail(LONG, "cosine", (100, 399, 2000, 2199), whole())
    assert found is not None
    assert (found.step, found.first_row, found.first_col) == (1, 100, 2000)
    assert found.values.shape == (300, 200)
    back = found.low + (found.values.astype(float) - 1) / 254 * (found.high - found.low)
    np.testing.assert_allclose(back, similarity(LONG.weights)[100:400, 2000:2200], atol=1 / 254)


@pytest.mark.parametrize(
    "window", [(0, 2999, 0, 2999), (-1, 5, 0, 5), (9, 3, 0, 5), (0, 5, 0, 3000)]
)
def test_what_is_no_part_of_the_picture_gets_no_detail(window: tuple[int, int, int, int]) -> None:
    assert pairs._detail(LONG, "cosine", window, whole()) is None


@pytest.mark.parametrize("metric", METRICS)
def test_the_exact_value_is_that_of_all_pairs(metric: str) -> None:
    weights = random_normal(40, 6)
    weights[3] *= 30
    table = table_of(weights)
    every = similarity(table.weights, metric)
    numbers = analyze(table, null_repeats=1)
    assert results.exact(table, numbers, metric, (5, 20)) == pytest.approx(every[5, 20], abs=2e-6)
    assert results.exact(table, numbers, metric, (5, 40)) is None
    left_out = analyze(table, exclude_special=True, null_repeats=1)
    assert results.exact(table, left_out, metric, (3, 20)) is None


@pytest.mark.parametrize(
    ("sent", "window"),
    [
        ([0, 9, 3, 4], (0, 9, 3, 4)),
        ([0.0, 9.0, 3.0, 4.0], (0, 9, 3, 4)),
        ([0, 9, 3], None),
        ([0, 9, 3, "x"], None),
        ([0, 9, 3, 4.5], None),
        ("0,9", None),
        (None, None),
    ],
)
def test_a_window_from_the_browser_is_four_whole_numbers(
    sent: object, window: tuple[int, int, int, int] | None
) -> None:
    assert figure._window(sent) == window


def test_one_long_row_does_not_take_the_whole_palette() -> None:
    weights = random_normal(400, 8)
    weights[0] *= 40
    pooled = pooled_similarity(weights, "dot", 1024)
    low, high = pairs._limits(METRICS["dot"], pooled)
    assert high < pooled.high / 4
    picture = heatmap(pooled.values, limits=(low, high), label="dot product")
    assert picture.raster is not None
    assert picture.raster.clipped == (True, True)
    texts = [note.text for note in picture.figure.layout.annotations]
    assert any("≥" in text for text in texts)
    assert pairs._limits(METRICS["cosine"], pooled) == (-1, 1)


def test_usual_rows_keep_the_ends_of_the_palette_at_their_extremes() -> None:
    pooled = pooled_similarity(random_normal(400, 8), "euclidean", 1024)
    assert pairs._limits(METRICS["euclidean"], pooled) == (0, pooled.high)
    picture = heatmap(pooled.values, limits=(0, pooled.high), diverging=False)
    assert picture.raster is not None
    assert picture.raster.clipped == (False, False)


def test_the_rule_for_the_ends_of_the_palette_is_told_with_the_limits_of_the_program() -> None:
    text = " ".join((DOCS / "methods.md").read_text(encoding="utf-8").split())
    _, _, rule = text.partition("**Ends of the palette.**")
    assert f"more than {pairs.STRETCHED:g} times what {pairs.NEARLY_ALL:g} % of the" in rule
    assert f"beyond which {100 - pairs.NEARLY_ALL:g} % lie on each side" in rule
