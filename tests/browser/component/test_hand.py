"""What a hand does on a figure, with a mouse or with keys, and what it is told."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
Figure = Callable[[str], Any]


def test_hover_tells_the_pair_and_marks_the_painted_value_as_rounded(
    visit: Visit, figure: Figure
) -> None:
    page = visit("map")
    heatmap = figure("map")
    page.mouse.move(*heatmap.place(600, 200))
    tip = heatmap.part("tip")
    expect(tip).to_be_visible()
    names, value = tip.inner_text().split("\n")
    row, col = (int(word) for word in names.split() if word.isdigit())
    assert abs(row - 200) <= 2
    assert abs(col - 600) <= 2
    assert value.startswith("cosine ≈ ")
    angle = np.linspace(0, 6 * np.pi, 1024)[[row, col]]
    height = np.linspace(2, -2, 1024)[[row, col]]
    rows = np.stack([3 * np.cos(angle), 3 * np.sin(angle), height, [0.5, 0.5]], axis=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    shown = float(value.removeprefix("cosine ≈ ").replace("−", "-"))
    assert shown == pytest.approx(rows[0] @ rows[1], abs=0.01)  # 255 steps from -1 to 1
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_a_click_gives_the_server_the_cell_and_the_exact_value_comes_back(
    visit: Visit, figure: Figure
) -> None:
    page = visit("map")
    heatmap = figure("map")
    page.mouse.click(*heatmap.place(700, 300))
    said = page.get_by_text("cell: (")
    expect(said).to_be_visible()
    row, col = ast.literal_eval(said.inner_text().removeprefix("cell: "))
    assert abs(row - 300) <= 2
    assert abs(col - 700) <= 2
    expect(page.get_by_text("exact: ")).to_be_visible()
    heatmap.change_data()
    expect(page.get_by_text(f"cell: ({row}, {col})")).to_be_visible()


def test_a_short_pause_brings_the_exact_value(visit: Visit, figure: Figure) -> None:
    page = visit("asked")
    heatmap = figure("asked")
    tip = heatmap.part("tip")
    told = []
    for row, col in ((40, 30), (90, 60)):
        page.mouse.move(*heatmap.place(8 * col, 8 * row))
        expect(tip).to_contain_text("cosine ≈ ")
        expect(tip).to_contain_text("exactly ")
        told.append(tip.inner_text())
    assert told[0] != told[1]


def test_a_zoom_into_pooled_cells_brings_detail(visit: Visit, figure: Figure) -> None:
    page = visit("asked")
    heatmap = figure("asked")
    fine = "plot.closest('.posviz-figure').posvizAnswer?.detail"
    assert heatmap.read(fine) is None
    heatmap.read("Plotly.relayout(plot, {'xaxis.range': [99.5, 199.5]})")
    said = page.get_by_text("window: (")
    expect(said).to_be_visible()
    heatmap.wait_for(f"{fine}?.step === 1")
    top, bottom, left, right = ast.literal_eval(said.inner_text().removeprefix("window: "))
    assert (left, right) == (100, 199)
    assert 0 <= top < bottom <= 1023
    assert heatmap.read(f"{fine}.nCols") == 100
    heatmap.card.hover()
    heatmap.card.locator(".modebar-btn[data-title='Reset the view']").click()
    expect(page.get_by_text("window: None")).to_be_visible()


def test_the_words_of_a_cell_never_cover_the_colour_bar(visit: Visit, figure: Figure) -> None:
    page = visit("map")
    heatmap = figure("map")
    heatmap.part("plot").focus()
    page.keyboard.press("ArrowRight")
    tip = heatmap.part("tip")
    expect(tip).to_be_visible()
    assert tip.evaluate("element => element.offsetTop") >= heatmap.read("layout.yaxis._offset")


def test_arrow_keys_walk_the_heatmap_and_enter_chooses(visit: Visit, figure: Figure) -> None:
    page = visit("map")
    heatmap = figure("map")
    plot = heatmap.part("plot")
    plot.focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    said = "positions 9 and 1\ncosine about 0.99"
    expect(heatmap.part("said")).to_have_text(said, use_inner_text=False)
    page.keyboard.press("Enter")
    expect(page.get_by_text("cell: (9, 1)")).to_be_visible()
    assert "Heatmap of cosine" in str(plot.get_attribute("aria-label"))
    assert plot.get_attribute("role") == "img"
    page.keyboard.press("Escape")
    expect(heatmap.part("tip")).to_be_hidden()


def test_arrow_keys_walk_a_curve_and_enter_chooses(visit: Visit, figure: Figure) -> None:
    page = visit("plane")
    plane = figure("plane")
    marked = plane.card.locator(".annotation-text").get_by_text("11", exact=True)
    plane.part("plot").focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(plane.part("said")).to_contain_text("position 11, component 1 2.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("plane point: 11")).to_be_visible()
    plane.change_data()
    expect(marked).to_have_count(1)
    page.keyboard.press("Tab")  # away from the slider, so that Escape is the figure's
    plane.part("plot").focus()
    page.keyboard.press("Escape")
    expect(marked).to_have_count(0)


def test_arrow_keys_walk_a_spectrum_on_logarithmic_axes(visit: Visit, figure: Figure) -> None:
    page = visit("spectrum")
    spectrum = figure("spectrum")
    spectrum.part("plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(spectrum.part("said")).to_contain_text("component 2, singular value ")
    at = spectrum.read("layout.annotations.at(-1)._input.x")
    assert at == pytest.approx(np.log10(2))


def test_large_and_small_numbers_are_said_without_powers_of_ten(
    visit: Visit, figure: Figure
) -> None:
    page = visit("large")
    large = figure("large")
    large.part("plot").focus()
    page.keyboard.press("ArrowRight")
    expect(large.part("said")).to_have_text(
        "component 1, singular value 12,300", use_inner_text=False
    )
    page.keyboard.press("ArrowRight")
    expect(large.part("said")).to_have_text(
        "component 2, singular value 0.25", use_inner_text=False
    )


def test_a_click_in_the_space_gives_the_position_and_a_turn_does_not(
    visit: Visit, figure: Figure
) -> None:
    page = visit("curve")
    curve = figure("curve")
    curve.drag((0.5, 0.5), (0.6, 0.5))
    box = curve.part("plot").bounding_box()
    assert box is not None
    label = curve.card.locator(".hovertext")
    across = box["x"] + box["width"] / 2
    drawn = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    for down in range(60, 420, 4):  # the curve crosses the middle; where, depends on the turn
        page.mouse.move(across, box["y"] + down)
        page.evaluate(drawn)  # Plotly looks under the mouse once a frame
        if label.count():
            break
    expect(label).to_contain_text("position")
    expect(page.get_by_text("curve point: None")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("curve point: None")).to_have_count(0)
    position = page.get_by_text("curve point: ").inner_text().split()[-1]
    shown = curve.card.locator(".annotation-text").all_text_contents()
    assert f"{int(position):,}" in shown


def test_a_click_on_a_curve_gives_the_position(visit: Visit, figure: Figure) -> None:
    page = visit("plane")
    plane = figure("plane")
    x, y = plane.place(-3, 0)
    page.mouse.move(x - 2, y)
    page.mouse.move(x, y)
    expect(plane.card.locator(".hoverlayer .hovertext")).to_contain_text("position")
    page.mouse.click(x, y)
    said = page.get_by_text("plane point: ")
    expect(said).not_to_have_text("plane point: None")
    position = int(said.inner_text().split()[-1])
    # Half a turn, or one or two and a half: the three turns lie on one circle.
    assert min(abs(position - 1023 * turns / 3) for turns in (0.5, 1.5, 2.5)) < 8
