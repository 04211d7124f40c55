"""The figures of the Inside page carry the numbers they are given."""

from __future__ import annotations

import re

import numpy as np
import pytest

from posviz.figures.ablations import ablation_losses
from posviz.figures.against import against_random
from posviz.figures.heads import attention_by_offset, head_strips, pattern_map
from posviz.figures.panels import panels
from posviz.figures.picture import NO_VALUE
from posviz.figures.strips import Strip, shown, strips

WORDS = ["[CLS]", "a", "<b>", "{value}"]


def test_every_strip_has_its_rows_under_its_name():
    rng = np.random.default_rng(0)
    rows = {"token row": rng.normal(size=(4, 6)), "their sum": rng.normal(size=(4, 6))}
    picture = strips({k: Strip(v) for k, v in rows.items()}, WORDS, dimensions=np.arange(6)[::-1])
    raster = picture.raster
    assert raster.values.shape == (raster.n_rows, 6)
    assert raster.col_names == ("5", "4", "3", "2", "1", "0")
    for name, values in rows.items():
        at = raster.row_names.index(f"{name}, [CLS]")
        assert raster.row_names[at + 2] == f"{name}, <b>"
        assert raster.row_names[at - 1] == ""
        assert (raster.values[at - 1] == NO_VALUE).all()
        largest = np.unravel_index(np.abs(values).argmax(), values.shape)
        sign = np.sign(values[largest])
        assert np.sign(int(raster.values[at + largest[0], largest[1]]) - 128) == sign
    titles = [a.text for a in picture.figure.layout.annotations]
    assert "token row" in titles
    assert "their sum" in titles
    assert "&lt;b&gt;" in picture.figure.layout.yaxis.ticktext
    assert "token row, their sum" in picture.alt


def test_a_strip_of_another_unit_is_painted_on_its_own_scale_and_says_so():
    values = np.array([[1.0, -1.0]])
    picture = strips(
        {"token": Strip(values), "normed": Strip(10 * values, own_scale=True)}, ["a"],
        dimensions=np.arange(2),
    )  # fmt: skip
    painted = [row for row in picture.raster.values.tolist() if NO_VALUE not in row]
    assert painted[0] == painted[1]
    assert "normed, ±10" in [a.text for a in picture.figure.layout.annotations]


def test_large_values_are_written_out():
    values = np.array([[120.0, -1.0]])
    strip = Strip(values, own_scale=True)
    picture = strips({"sum": Strip(values), "normed": strip}, ["a"], dimensions=np.arange(2))
    assert "normed, ±120" in [a.text for a in picture.figure.layout.annotations]
    for shown_as in (picture, panels({"map": values.T @ values}, ["x", "y"])):
        assert re.search(r"Values reach ±[0-9,]+\.$", shown_as.alt)


@pytest.mark.parametrize("count", [1, 12, 60, 500])
def test_long_texts_keep_strips_of_a_bearable_height(count):
    part = {"token": Strip(np.ones((count, 3))), "sum": Strip(np.ones((count, 3)))}
    picture = strips(part, ["w"] * count, dimensions=np.arange(3))
    assert 80 < picture.figure.layout.height < max(950, 10 * count)
    assert bool(picture.figure.layout.yaxis.ticktext) == (count <= 42)


def test_a_long_word_is_cut_and_signs_are_literal():
    assert shown("extraordinarily") == "extraordina…"
    assert shown("<s>") == "&lt;s&gt;"


def test_panels_lie_side_by_side_with_unseen_pairs_left_out():
    causal = np.where(np.tri(4, dtype=bool), 1.0, np.nan)
    maps = {f"map {n}": causal * (n + 1) for n in range(5)}
    picture = panels(maps, WORDS, across=3)
    raster = picture.raster
    assert raster.values.shape == (2 * 6, 3 * 5 - 1)
    assert raster.row_names[2:6] == tuple(WORDS)
    assert raster.col_names[5:9] == tuple(WORDS)
    second = raster.values[2:6, 5:9]
    assert (second[np.triu_indices(4, 1)] == NO_VALUE).all()
    assert (second[np.tril_indices(4)] == second[0, 0]).all()
    assert second[0, 0] > raster.values[2, 0]
    assert (raster.values[8:, 10:] == NO_VALUE).all(), "there is no sixth map"
    assert [a.text for a in picture.figure.layout.annotations][:5] == list(maps)


def test_a_panels_name_may_have_two_lines_and_signs():
    picture = panels({"a <b>\n→ c": np.eye(3)}, ["x", "y", "z"])
    assert picture.figure.layout.annotations[0].text == "a &lt;b&gt;<br>→ c"
    assert "a <b> → c" in picture.alt


def test_heads_are_rows_at_their_offsets():
    attention = np.array([[0.0, 0.9, 0.1], [0.3, 0.3, 0.4]])
    picture = head_strips(attention, np.array([-2, -1, 0]), ["head 7 · previous token", "head 0"])
    raster = picture.raster
    assert raster.first_col == -2
    assert raster.row_names == ("head 7 · previous token", "head 0")
    assert raster.values[0].argmax() == 1
    assert "head 7 · previous token most at offset -1" in picture.alt
    # Short, since it stands beside a bar of fixed length on a telephone.
    assert [a.text for a in picture.figure.layout.annotations if "≥" in (a.text or "")]


def test_a_causal_pattern_leaves_the_future_unpainted():
    pattern = np.tri(5) / np.arange(1, 6)[:, None]
    values = pattern_map(pattern, causal=True).raster.values
    assert (values[np.triu_indices(5, 1)] == NO_VALUE).all()
    assert (values[np.tril_indices(5)] > 1).all()
    assert (pattern_map(np.full((5, 5), 0.2), causal=False).raster.values != NO_VALUE).all()


def test_a_head_by_offset_has_its_spread_and_null():
    offsets = np.arange(-2, 3)
    mean, std = np.array([0.1, 0.5, 0.2, 0.1, 0.1]), np.full(5, 0.05)
    figure = attention_by_offset(offsets, mean, std, nulls={"random rows": np.full(5, 0.2)}).figure
    assert len(figure.data) == 4
    np.testing.assert_allclose(figure.data[-1].y, mean)
    np.testing.assert_allclose(figure.data[1].y, mean + std)
    assert "random rows" in [a.text for a in figure.layout.annotations]


def test_directions_stand_beside_the_range_of_random_ones():
    draws = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.2, 0.2]])
    figure = against_random(
        [0.0, 0.1, 0.9], draws, along="direction", quantity="share", limits=(0, 1)
    ).figure
    lines = [np.asarray(trace.y).tolist() for trace in figure.data]
    assert lines == [[0.1, 0.2, 0.1], [0.3, 0.2, 0.3], [0.2, 0.2, 0.2], [0.0, 0.1, 0.9]]


def test_losses_start_at_the_loss_of_the_whole_table():
    picture = ablation_losses(
        ["Rank 1", "All zero"], [1.2, 1.9], whole=0.8, quantity="loss", ignorance=(3.0, "guessing")
    )
    figure = picture.figure
    bars = [trace for trace in figure.data if trace.line.width == 6]
    assert [tuple(bar.x) for bar in bars] == [(0.8, 1.2), (0.8, 1.9)]
    assert list(figure.data[-1].x) == [1.2, 1.9]
    names = [(a.text, a.xanchor) for a in figure.layout.annotations]
    assert names == [("as it is 0.800", "left"), ("guessing 3.000", "right")]  # never cut off
    assert "Rank 1 1.200, All zero 1.900; as it is 0.800" in picture.alt


@pytest.mark.parametrize("values", [np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_maps_of_nothing_draw(values):
    assert panels({"a": values}, ["x", "y", "z"]).raster.high > 0
    assert strips({"a": Strip(np.zeros((3, 3)))}, ["x", "y", "z"], dimensions=np.arange(3)).alt
