"""Training in a real browser: a run is started, watched, found after a refresh, stopped, opened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect

import posviz
from posviz import recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAINTED = """key => {
  const figure = document.querySelector(`.st-key-${key} .posviz-figure`);
  return figure && figure.dataset.posvizPainted;
}"""


@pytest.fixture
def visit(
    browser: Browser,
    start_app: Callable[[], AbstractContextManager[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Page:
    """A page on a fresh server that keeps its runs in a folder of the test's own."""
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    with start_app() as url, browser.new_context(viewport={"width": 1360, "height": 960}) as seen:
        page = seen.new_page()
        page.set_default_timeout(180_000)  # the training process gives way to all else
        page.goto(f"{url}/training?task=Copy+from+k+back&size=Small")
        yield page


def test_a_run_is_watched_survives_a_refresh_stops_and_opens(visit: Page) -> None:
    page = visit
    page.get_by_text("Settings", exact=True).click()
    steps = page.locator(".st-key-steps-copy input")
    steps.fill("20000")  # more than any machine takes while this test looks on
    steps.press("Enter")
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.locator(".st-key-train button").click()
    page.wait_for_function(PAINTED, arg="live-curve")
    page.wait_for_function(PAINTED, arg="live-pairs")
    bar = page.get_by_test_id("stProgress")
    expect(bar).to_contain_text("steps a second")
    expect(page).to_have_url(re.compile("job=[0-9a-f]{32}"))
    node = page.locator(".st-key-live-curve .js-plotly-plot").element_handle()
    before = bar.inner_text()
    expect(bar).not_to_have_text(before)
    assert node.evaluate("node => node.isConnected"), "a live figure is redrawn, not replaced"

    page.reload()
    expect(bar).to_contain_text("Step")
    second = page.context.new_page()  # another tab on the same address holds the run too
    second.goto(page.url)
    expect(second.get_by_test_id("stProgress")).to_contain_text("Step")
    expect(bar).to_contain_text("Step")
    stop = page.locator(".st-key-stop button")
    stop.click()
    expect(stop).to_have_count(0)
    expect(second.locator(".st-key-stop button")).to_have_count(0)
    second.close()
    page.wait_for_function(PAINTED, arg="reel-film")

    page.locator(".st-key-open-everywhere button").click()
    expect(page.locator(".st-key-open-table")).to_contain_text("copy-1")
    page.get_by_test_id("stSidebarNav").locator('a[href*="/curve"]').click()
    expect(page.locator(".st-key-provenance").first).to_contain_text("run:copy-1")


def test_the_film_of_a_demo_plays_and_its_snapshots_are_scrubbed(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/training?table=demo:bert-mini")
    page.wait_for_function(PAINTED, arg="reel-film")
    film = page.locator(".st-key-reel-film .posviz-film")
    film.get_by_role("button", name="Play").click()
    shown = film.locator("output")
    expect(shown).not_to_have_text("step 800")
    expect(shown).to_have_text("step 800")  # it runs to its end by itself

    page.get_by_role("radio", name="Step by step").click()
    page.wait_for_function(PAINTED, arg="reel-pairs")
    where = page.locator(".st-key-provenance").first
    expect(where).to_contain_text("demo:bert-mini, step 800")
    pairs = "document.querySelector('.st-key-reel-pairs .posviz-figure').dataset.posvizPainted"
    before = page.evaluate(pairs)
    page.get_by_test_id("stSlider").locator("input").first.press("ArrowLeft")
    expect(where).to_contain_text(re.compile(r"demo:bert-mini, step (?!800)\d+"))
    page.wait_for_function(f"before => {pairs} !== before", arg=before)


def test_two_films_show_the_same_moment(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/training?film=demo:bert-mini&beside=demo:gpt-mini")
    for key in ("reel-film", "reel-film-beside"):
        page.wait_for_function(PAINTED, arg=key)
    first, second = (page.locator(f".st-key-{key} .posviz-film") for key in
                     ("reel-film", "reel-film-beside"))  # fmt: skip
    expect(second.locator("output")).to_have_text("step 1,500")  # the longer run's last
    first.locator("input").press("Home")
    expect(second.locator("output")).to_have_text("step 0")
    second.get_by_role("button", name="Play").click()
    expect(first.locator("output")).to_have_text("step 1,500")


def test_the_film_of_a_script_grows_while_it_is_watched(visit: Page, tmp_path: Path) -> None:
    """One line in somebody's loop: here the loop is the test itself."""
    recorder._recorders.clear()
    rows = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)

    def train(step: int) -> None:
        posviz.record({"wpe.weight": rows * (1 + step)}, step, loss=1.0 / (1 + step), run="script")

    train(0)
    visit.goto(visit.url.partition("?")[0] + "?film=run:script")
    visit.wait_for_function(PAINTED, arg="reel-film")
    shown = visit.locator(".st-key-reel-film .posviz-film output")
    expect(shown).to_have_text("step 0")
    train(10)
    expect(shown).to_have_text("step 10")
    train(20)
    expect(shown).to_have_text("step 20")
