"""Heatmaps: the bytes, what they mean, and the axes over them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz.figures.heatmap import heatmap
from posviz.figures.picture import Raster, quantise
from posviz.figures.theme import LIGHT, PALETTES


def cosines(n: int = 64) -> np.ndarray:
    rows = np.stack([np.cos(np.arange(n) / 9), np.sin(np.arange(n) / 9)], axis=1)
    return (rows @ rows.T).astype(np.float32)


def raster(**options: object) -> Raster:
    found = heatmap(cosines(), **({"limits": (-1, 1)} | options)).raster  # type: ignore[arg-type]
    assert found is not None
    return found


def test_every_cell_is_one_byte_that_gives_its_value_back() -> None:
    cells = raster()
    assert cells.values.dtype == np.uint8
    back = cells.low + (cells.values.astype(float) - 1) / 254 * (cells.high - cells.low)
    np.testing.assert_allclose(back, cosines(), atol=1 / 254)  # half a step of 2/254


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_quantising_is_right_to_half_a_step(low: float, span: float, where: float) -> None:
    high = low + span
    value = low + where * span
    code = int(quantise([[value]], low, high)[0, 0])
    step = span / 254
    # float32 carries about 7 digits of the values themselves
    assert abs(low + (code - 1) * step - value) <= step / 2 + 1e-5 * (abs(low) + abs(high))


def test_the_ends_and_the_middle_have_exact_codes() -> None:
    assert quantise([[-1, 0, 1]], -1, 1).tolist() == [[1, 128, 255]]


def test_what_has_no_value_has_its_own_code() -> None:
    codes = quantise([[np.nan, np.inf, -np.inf, 0.0]], -1, 1)
    assert codes.tolist() == [[0, 0, 0, 128]]


def test_values_outside_the_limits_take_the_end_colours() -> None:
    assert quantise([[-5, 5]], -1, 1).tolist() == [[1, 255]]


def test_a_range_without_width_paints_the_middle() -> None:
    assert quantise([[3.0, 3.0]], 3, 3).tolist() == [[128, 128]]


def test_diverging_colours_are_centred_on_zero() -> None:
    cells = raster(limits=(-0.2, 0.8))
    assert (cells.low, cells.high) == (-0.8, 0.8)
    assert cells.palette == "diverging"
    assert cells.header["palette"] == PALETTES["diverging"]


def test_sequential_colours_keep_their_limits() -> None:
    cells = raster(limits=(0.0, 12.5), diverging=False, label="distance")
    assert (cells.low, cells.high) == (0.0, 12.5)
    assert cells.header["palette"] == PALETTES["sequential"]


def test_position_0_is_at_the_top_left_of_square_axes() -> None:
    layout = heatmap(cosines(), limits=(-1, 1)).figure.layout
    assert layout.xaxis.range == (-0.5, 63.5)
    assert layout.yaxis.range == (63.5, -0.5)
    assert layout.yaxis.scaleanchor == "x"
    assert layout.xaxis.title.text == layout.yaxis.title.text == "position"
    assert layout.xaxis.showgrid is layout.yaxis.showgrid is False


def test_the_colour_bar_has_the_limits_and_the_palette() -> None:
    figure = heatmap(cosines(), limits=(-1, 1), label="centred cosine").figure
    (bar,) = figure.data
    assert (bar.marker.cmin, bar.marker.cmax) == (-1, 1)
    assert tuple(colour for _, colour in bar.marker.colorscale) == PALETTES["diverging"]
    assert [note.text for note in figure.layout.annotations] == ["centred cosine −1", "1"]
    assert all(note.font.color == LIGHT.ink_soft for note in figure.layout.annotations)


def test_a_pooled_picture_has_the_axes_of_all_positions() -> None:
    picture = heatmap(cosines(64), limits=(-1, 1), n_positions=253)
    assert picture.raster is not None
    assert picture.raster.header["step"] == 4
    assert picture.raster.header["nRows"] == 253
    assert picture.figure.layout.xaxis.range == (-0.5, 252.5)
    assert "mean of 4 × 4 pairs" in picture.alt


def test_the_first_position_need_not_be_0() -> None:
    picture = heatmap(cosines(10), limits=(-1, 1), first=1)
    assert picture.figure.layout.yaxis.range == (10.5, 0.5)
    assert picture.raster is not None
    assert picture.raster.header["firstRow"] == 1
    assert "positions 1 to 10" in picture.alt


def test_the_words_hold_the_smallest_and_largest_value() -> None:
    picture = heatmap(cosines(), limits=(-1, 1), name="gpt2")
    assert picture.alt == (
        "Heatmap of cosine for every pair of positions 0 to 63 of gpt2, the first at the top "
        "left: from −1.00 to 1.00."
    )


@pytest.mark.parametrize("n", [1, 2])
def test_small_and_empty_pictures_are_drawn(n: int) -> None:
    picture = heatmap(np.full((n, n), np.nan), limits=(-1, 1))
    assert picture.raster is not None
    assert not picture.raster.values.any()
    assert picture.alt.endswith("without a value.")
    json.loads(picture.spec, parse_constant=pytest.fail)


def test_no_pixel_travels_in_the_figure_itself() -> None:
    assert len(heatmap(np.zeros((1024, 1024)), limits=(-1, 1)).spec) < 10_000


def test_few_positions_are_counted_whole() -> None:
    axes = heatmap(np.eye(2), limits=(-1, 1)).figure.layout
    assert (axes.xaxis.dtick, axes.yaxis.dtick) == (1, 1)
    assert heatmap(cosines(), limits=(-1, 1)).figure.layout.xaxis.dtick is None
