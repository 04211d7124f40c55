"""The Inside page in a real browser: a text is typed, a cell is named, a head is opened."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

FIGURES = ".posviz-figure:not([data-idle])"


def painted(page: Page) -> None:
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.wait_for_function(
        f"""() => {{
          const figures = [...document.querySelectorAll("{FIGURES}")];
          return figures.length > 0 && figures.every((f) => f.dataset.posvizPainted);
        }}"""
    )


def point_at(page: Page, key: str, across: float, down: float) -> None:
    """Move the cursor over a figure, in shares of its size."""
    box = page.locator(f".st-key-{key} {FIGURES}").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])


def test_a_typed_text_is_drawn_and_its_cells_are_named(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/inside?table=demo:bert-mini")
    painted(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("What enters the first layer?")
    text = page.get_by_role("textbox", name="Text", exact=True)
    expect(text).to_have_value("aaabbcc")
    text.fill("pp")
    text.press("Enter")
    expect(page).to_have_url(re.compile("text=pp"))
    painted(page)
    page.locator(f".st-key-strips {FIGURES}").scroll_into_view_if_needed()
    point_at(page, "strips", 0.5, 0.17)
    tip = page.locator(".st-key-strips .posviz-tip")
    expect(tip).to_contain_text(re.compile(r"token row, (\[CLS\]|p|\[SEP\]|d|f)"))
    expect(tip).to_contain_text(re.compile(r"dimension \d+: ≈ −?\d"))


def test_a_head_is_opened_from_the_picture_of_all(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/inside?table=demo:bert-mini&inside=Heads&layer=1")
    painted(page)
    page.locator(f".st-key-head-strips {FIGURES}").scroll_into_view_if_needed()
    point_at(page, "head-strips", 0.5, 0.75)  # the last of four
    tip = page.locator(".st-key-head-strips .posviz-tip")
    expect(tip).to_contain_text(re.compile(r"head \d · local"))
    name = tip.inner_text().split("\n")[0]
    page.mouse.down()
    page.mouse.up()
    page.get_by_role("button", name="Open this head").click()
    expect(page.locator(f".st-key-head-pattern {FIGURES}")).to_be_visible()
    painted(page)
    expect(page.locator(".st-key-head input")).to_have_value(name)
