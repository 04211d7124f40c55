"""Figures that change: each moment paints its own cells or points, by the slider and the button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

SHOWN = "[...layout.xaxis.range]"

Visit = Callable[..., Page]
Figure = Callable[[str], Any]


def test_a_film_of_a_heatmap_paints_each_moments_own_cells(visit: Visit, figure: Figure) -> None:
    """Squares of 4, 6 and 8 cells a side, each of one colour."""
    page = visit("cells")
    film = figure("cells")
    bar = film.part("film")
    moment = bar.locator("output")
    expect(moment).to_have_text("8")
    whole = film.read(SHOWN)
    size = "(of) => [of.clientWidth, of.clientHeight]"
    # The control below takes room from both.
    assert film.part("raster").evaluate(size) == film.part("plot").evaluate(size)
    last = film.colour(2, 2)
    assert film.colour(7, 7) == last

    bar.locator("input").focus()
    page.keyboard.press("Home")
    expect(moment).to_have_text("4")
    film.wait_for(f"{film.pixel(7, 7)}[3] === 0")  # no such row any more
    first = film.colour(2, 2)
    assert first[3] == 255
    assert first != last
    assert film.read(SHOWN) == pytest.approx(whole)

    page.keyboard.press("ArrowRight")
    expect(moment).to_have_text("6")
    film.wait_for(f"{film.pixel(5, 5)}[3] === 255")
    assert film.colour(5, 5) == film.colour(2, 2)
    assert film.colour(2, 2) not in (first, last)

    bar.get_by_role("button", name="Play").click()
    expect(moment).to_have_text("8")
    film.wait_for(f"{film.pixel(7, 7)}[3] === 255")
    assert film.colour(2, 2) == film.colour(7, 7) == last


def test_a_film_is_run_through_by_its_slider_and_its_button(visit: Visit, figure: Figure) -> None:
    page = visit("film")
    film = figure("film")
    bar = film.part("film")
    moment = bar.locator("output")
    last = "plot.data.filter((trace) => trace.meta === 'walk').at(-1)"
    assert film.read(f"{last}.customdata.at(-1)") == 63
    whole = film.read(SHOWN)
    expect(moment).to_have_text("64")
    bar.locator("input").focus()
    page.keyboard.press("Home")
    expect(moment).to_have_text("32")
    film.wait_for(f"{last}.customdata.at(-1) === 31")
    assert film.read(f"{last}.x.at(-1)") == pytest.approx(1.5)  # 3 cos(6 pi) / 2
    assert "31" in film.card.locator(".annotation-text").all_text_contents()
    assert film.read(SHOWN) == pytest.approx(whole)
    page.keyboard.press("ArrowRight")
    expect(moment).to_have_text("48")
    bar.get_by_role("button", name="Play").click()
    expect(moment).to_have_text("64")
    expect(bar.get_by_role("button", name="Play")).to_be_visible()
