"""How the component paints: cells under axes, words, colours; and how it waits and fails."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

from posviz.figures.theme import DARK, LIGHT

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
Figure = Callable[[str], Any]
Near = Callable[[str], object]


def test_axis_titles_of_the_space_are_upright_and_carry_shares(
    visit: Visit, figure: Figure
) -> None:
    visit("curve")
    curve = figure("curve")
    texts = curve.card.locator(".annotation-text").all_text_contents()
    for title in ("component 1 · 40.0 %", "component 2 · 30.0 %", "component 3 · 20.0 %"):
        assert title in texts
    drawn = "layout.scene.annotations.filter((note) => note._pdata).map((note) => note.text)"
    titles = {text for text in texts if text.startswith("component")}
    assert titles <= set(curve.read(drawn))
    assert curve.read("layout.scene.xaxis.title.text") == ""


def test_a_heatmap_is_painted_under_its_axes_and_again_for_new_data(
    visit: Visit, figure: Figure, near: Near
) -> None:
    page = visit("map")
    heatmap = figure("map")
    assert heatmap.colour(512, 512)[:3] == near(LIGHT.positive)
    first = [heatmap.colour(100, 100 + k) for k in range(0, 400, 50)]
    heatmap.read("window.kept = plot")
    heatmap.change_data()
    assert [heatmap.colour(100, 100 + k) for k in range(0, 400, 50)] != first
    assert heatmap.colour(512, 512)[:3] == near(LIGHT.positive)
    assert heatmap.read("window.kept === plot") is True
    page.set_viewport_size({"width": 700, "height": 1200})
    heatmap.wait_for("layout.width < 700")
    assert heatmap.colour(300, 300)[:3] == near(LIGHT.positive)


def test_colours_follow_the_theme_without_a_reload(
    visit: Visit, figure: Figure, near: Near
) -> None:
    page = visit("map", "curve")
    heatmap, curve = figure("map"), figure("curve")
    expect(heatmap.part("figure")).to_have_attribute("data-posviz-theme", "light")
    curve.drag((0.5, 0.5), (0.7, 0.6))
    turned = curve.read("layout.scene.camera.eye")
    page.emulate_media(color_scheme="dark")
    for each in (heatmap, curve):
        expect(each.part("figure")).to_have_attribute("data-posviz-theme", "dark")
    assert heatmap.read("layout.xaxis.title.font.color") == DARK.ink_soft
    assert heatmap.colour(512, 512)[:3] == near(DARK.positive)
    assert curve.read("layout.scene.camera.eye") == turned


def at_rest(part: Locator) -> FloatRect:
    """Where a part of the page is, once it has been there for half a second."""
    place = None
    while place is None or place != part.bounding_box():
        place = part.bounding_box()
        part.page.wait_for_timeout(500)
    return place


def test_nothing_moves_when_a_figure_arrives_and_the_loader_takes_no_room(
    visit: Visit, figure: Figure
) -> None:
    held: list[Route] = []
    page = visit(wait=False)
    page.route("**/plotly.min.js", lambda route: held.append(route))
    visit("spectrum", wait=False)
    spectrum = figure("spectrum")
    expect(spectrum.part("wait")).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.evaluate("document.fonts.ready")
    before = at_rest(spectrum.card)  # what stands above may still be laid out
    assert before["height"] == 300
    for route in held:
        route.continue_()
    spectrum.painted()
    assert spectrum.card.bounding_box() == before
    expect(spectrum.part("wait")).to_be_hidden()
    expect(page.locator(".st-key-posviz_preload")).to_be_hidden()


def test_one_sentence_says_so_when_the_library_cannot_be_loaded(
    visit: Visit, figure: Figure
) -> None:
    page = visit(wait=False)
    page.route("**/plotly.min.js", lambda route: route.abort())
    visit("spectrum", wait=False)
    spectrum = figure("spectrum")
    alert = spectrum.card.get_by_role("alert")
    expect(alert).to_have_text(
        "The figure cannot be drawn: this server did not deliver app/static/plotly.min.js. "
        "Restart posviz so that the file is copied again, then reload the page."
    )
    page.unroute("**/plotly.min.js")
    page.locator("[data-testid=stSlider] input").press("ArrowRight")
    spectrum.painted()
    expect(spectrum.part("refusal")).to_be_hidden()


def test_a_saved_picture_holds_the_painted_cells(visit: Visit, figure: Figure) -> None:
    page = visit("map")
    heatmap = figure("map")
    heatmap.card.hover()
    with page.expect_download() as saved:
        heatmap.card.locator(".modebar-btn[data-title='Save as PNG']").click()
    assert saved.value.suggested_filename == "map.png"
    content = base64.b64encode(Path(saved.value.path()).read_bytes()).decode()
    near = page.evaluate(
        """async ([content, [r, g, b]]) => {
          const file = await (await fetch(`data:image/png;base64,${content}`)).blob();
          const image = await createImageBitmap(file);
          const canvas = new OffscreenCanvas(image.width, image.height);
          canvas.getContext('2d').drawImage(image, 0, 0);
          const all = canvas.getContext('2d').getImageData(0, 0, image.width, image.height).data;
          const off = (i) =>
            Math.abs(all[i] - r) + Math.abs(all[i + 1] - g) + Math.abs(all[i + 2] - b);
          let near = 0;
          for (let i = 0; i < all.length; i += 4) near += off(i) < 30;
          return near;
        }""",
        [content, [int(LIGHT.positive[i : i + 2], 16) for i in (1, 3, 5)]],
    )
    assert near > 10_000  # the bands along the diagonal; the colour bar alone has some 400
