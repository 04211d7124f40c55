"""From where a figure is seen: what a person turned or zoomed stays, what nobody chose fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from posviz.figures.theme import LIGHT

pytestmark = pytest.mark.browser

EYE = "layout.scene.camera.eye"

Visit = Callable[..., Page]
Figure = Callable[[str], Any]
Near = Callable[[str], object]


def test_a_curve_is_seen_from_further_off_in_a_narrow_window_until_somebody_turns_it(
    visit: Visit, figure: Figure
) -> None:
    page = visit("curve")
    curve = figure("curve")
    distance = f"Math.hypot({EYE}.x, {EYE}.y, {EYE}.z)"
    wide, narrow = ({"width": width, "height": 900} for width in (1200, 420))
    near = curve.read(distance)
    page.set_viewport_size(narrow)
    curve.wait_for(f"{distance} > 1.2 * was", near)
    page.set_viewport_size(wide)
    curve.wait_for(f"{distance} < 1.01 * was", near)
    assert curve.read(distance) == pytest.approx(near)
    curve.drag((0.5, 0.5), (0.6, 0.55))
    expect(curve.part("hint")).to_have_attribute("data-seen", "")
    turned = curve.read(EYE)
    assert math.hypot(*turned.values()) == pytest.approx(near, rel=0.05)
    page.set_viewport_size(narrow)
    curve.wait_for("layout.width < 420")
    curve.change_data()  # so that it is drawn anew once more, whatever the window led to
    assert curve.read(EYE) == turned


def test_a_turned_camera_and_the_node_outlive_new_data(visit: Visit, figure: Figure) -> None:
    visit("curve")
    curve = figure("curve")
    start = curve.read(EYE)
    expect(curve.part("hint")).to_be_visible()
    curve.drag((0.5, 0.5), (0.7, 0.6))
    expect(curve.part("hint")).to_have_attribute("data-seen", "")
    turned = curve.read(f"(window.kept = plot, {EYE})")
    assert abs(turned["x"] - start["x"]) > 0.3
    drawn = curve.read("[...layout.scene.yaxis.range]")
    curve.change_data()
    assert curve.read(EYE) == turned
    assert curve.read("window.kept === plot && plot.isConnected") is True
    assert curve.read("[...layout.scene.yaxis.range]") != drawn

    curve.card.hover()
    curve.card.locator(".modebar-btn[data-title='Reset the view']").click()
    curve.wait_for(f"Math.abs({EYE}.x - was.x) < 0.1", start)


def test_a_zoom_outlives_new_data_and_is_let_go_where_nothing_would_show(
    visit: Visit, figure: Figure, near: Near
) -> None:
    page = visit("plane", "map")
    plane, heatmap = figure("plane"), figure("map")
    shown = "[...layout.xaxis.range]"
    whole = plane.read(shown)
    plane.drag((0.45, 0.3), (0.6, 0.6))
    plane.wait_for("layout.xaxis.range[0] !== was[0]", whole)
    zoomed = plane.read(shown)
    heatmap.drag_on_page(heatmap.place(700, 700), heatmap.place(1000, 1000))
    heatmap.wait_for("layout.xaxis.range[0] > 600")
    close = heatmap.read(shown)
    # The canvas follows the zoom: the diagonal, cosine 1, runs through the new middle.
    assert heatmap.colour(850, 850)[:3] == near(LIGHT.positive)

    heatmap.change_data()
    assert plane.read(shown) == zoomed
    assert heatmap.read(shown) == close

    before = heatmap.painted()
    page.get_by_role("radio", name="64", exact=True).click()
    heatmap.painted(instead_of=before)
    assert heatmap.read(shown) == [-0.5, 63.5]


def test_the_wheel_scrolls_the_page_until_the_space_is_chosen(visit: Visit, figure: Figure) -> None:
    page = visit("curve", "plane", "spectrum")
    curve = figure("curve")
    start = curve.read(EYE)
    curve.part("plot").hover()
    page.mouse.wheel(0, 120)
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    assert curve.read(EYE) == start
    curve.part("plot").focus()
    page.mouse.wheel(0, 120)
    curve.wait_for(f"{EYE}.x !== was.x", start)
