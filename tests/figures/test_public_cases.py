"""Faults that other tools' pictures were reported to have; the head of a docstring is the case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.analysis.references import random_normal
from posviz.analysis.similarity import pooled_similarity, similarity
from posviz.figures.curve import curve_2d, curve_3d
from posviz.figures.heatmap import heatmap
from posviz.ui.figure import pack, unpack

if TYPE_CHECKING:
    from posviz.figures.picture import Picture


def strictly(picture: Picture) -> dict[str, object]:
    """What the browser gets, parsed as strict JSON."""
    text, _ = unpack(pack(picture))
    return json.loads(json.dumps(text), parse_constant=pytest.fail)


def test_row_0_is_on_top_and_the_hover_names_the_cell() -> None:
    """P01: plotly.py#413, visdom#76."""
    weights = random_normal(4, 8)
    picture = heatmap(similarity(weights), limits=(-1, 1))
    assert picture.figure.layout.yaxis.range == (3.5, -0.5)
    assert picture.figure.layout.xaxis.range == (-0.5, 3.5)
    raster = picture.raster
    assert raster is not None
    assert (raster.first_row, raster.first_col, raster.step) == (0, 0, 1)
    back = raster.low + (raster.values.astype(float) - 1) / 254 * (raster.high - raster.low)
    np.testing.assert_allclose(back, similarity(weights), atol=1 / 254)  # row i, column j: cell


def test_a_large_heatmap_is_reduced_and_says_so() -> None:
    """P03: plotly.js#6847, plotly.py#5479, bertviz#74."""
    pooled = pooled_similarity(random_normal(4098, 64), side=1024)
    picture = heatmap(pooled.values, limits=(-1, 1), n_positions=4098)
    assert pooled.values.size <= 2_000_000
    assert len(pack(picture)) < 30_000_000
    assert picture.raster is not None
    assert picture.raster.header["step"] == pooled.factor == 5
    assert picture.figure.layout.xaxis.range == (-0.5, 4097.5)
    assert "mean of 5 × 5 pairs" in picture.alt


@pytest.mark.parametrize("everywhere", [False, True])
def test_missing_values_are_left_blank_in_strict_json(everywhere: bool) -> None:
    """P04: plotly.js#3526, webviz-subsurface#44, plotly.py#3470."""
    values = np.ones((4, 4), dtype=np.float32)
    values[0, 0] = np.nan
    if everywhere:
        values[:] = np.nan
    picture = heatmap(values, limits=(-1, 1))
    strictly(picture)
    assert picture.raster is not None
    assert (picture.raster.values == 0).sum() == (16 if everywhere else 1)
    assert ("without a value" in picture.alt) == everywhere


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_new_data_keep_the_view_that_a_person_turned(draw: object) -> None:
    """U02: streamlit#8882, streamlit#5107. The browser's side is in tests/browser."""
    pictures = [draw(random_normal(30, 3, seed=seed)) for seed in (0, 1)]  # type: ignore[operator]
    revisions = {picture.figure.layout.uirevision for picture in pictures}
    assert len(revisions) == 1
    assert None not in revisions
