"""The dashboard in a real browser, used as a person uses it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from safetensors.numpy import save_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    StartApp = Callable[[], AbstractContextManager[str]]

pytestmark = pytest.mark.browser

ADDRESSES = {
    "": "What does this table look like?",
    "curve": "Do the positions lie on a curve?",
    "similarity": "Which positions look alike?",
    "spectrum": "How many dimensions does the table need?",
    "dimensions": "What does each dimension do?",
    "compare": "How do two tables differ?",
    "interpolation": "What happens when the table is stretched?",
    "inside": "What enters the first layer?",
}
FIGURES = ".posviz-figure:not([data-idle])"


def painted(page: Page) -> None:
    """Wait until every figure on the page is painted."""
    page.wait_for_function(
        f"""() => {{
          const figures = [...document.querySelectorAll("{FIGURES}")];
          return figures.length > 0 && figures.every((f) => f.dataset.posvizPainted);
        }}"""
    )


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    painted(page)


def settled(page: Page) -> None:
    """Wait until the script is not running and what it asked for is painted."""
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    painted(page)


@pytest.fixture(scope="module")
def checkpoint(gpt2_like_weights: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in GPT-2's layout: the table, a little token table, an old mask buffer."""
    path = tmp_path_factory.mktemp("checkpoint") / "my-gpt2.safetensors"
    tensors = {
        "transformer.wte.weight": np.zeros((50, gpt2_like_weights.shape[1]), np.float32),
        "transformer.wpe.weight": gpt2_like_weights,
        "transformer.h.0.attn.bias": np.tril(np.ones((1, 1, 8, 8), np.uint8)),
    }
    save_file(tensors, path, metadata={"format": "pt"})
    return path


def three_components(weights: np.ndarray) -> str:
    """What the page must say, from NumPy's own decomposition."""
    rows = weights.astype(np.float64)
    variance = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    return f"{100 * variance[:3].sum() / variance.sum():.1f} %"


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_opens_by_its_own_address_first(page: Page, app_url: str, address: str) -> None:
    open_page(page, f"{app_url}/{address}?table=demo:bert-mini")
    expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESSES[address])
    expect(page.get_by_text("demo:bert-mini").first).to_be_visible()


@pytest.mark.parametrize("address", list(ADDRESSES)[1:3])
def test_the_first_visit_to_a_fresh_server_may_be_any_address(
    browser: Browser, start_app: StartApp, address: str
) -> None:
    """Streamlit's own discovery of pages/ must neither run a page alone nor say "not found"."""
    with start_app() as url, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(60_000)
        open_page(page, f"{url}/{address}?table=demo:bert-mini")
        expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESSES[address])
        expect(page.locator(".st-key-open-table")).to_contain_text("bert-mini")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_home_page_answers_to_its_name_too(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/overview?table=demo:bert-mini")
    expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESSES[""])
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_title("Overview · posviz")
    page.get_by_test_id("stSidebarNav").locator('a[href*="/curve"]').click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESSES["curve"])
    expect(page).to_have_title("Curve · posviz")


def test_the_open_table_stands_above_the_list_of_pages(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    card = page.locator(".st-key-open-table").bounding_box()
    menu = page.get_by_test_id("stSidebarNav").bounding_box()
    assert card is not None
    assert menu is not None
    assert card["y"] < menu["y"]


def test_the_table_is_kept_from_page_to_page_and_stands_in_the_address(
    page: Page, app_url: str
) -> None:
    open_page(page, f"{app_url}/?table=demo:bert-mini")
    for address, question in list(ADDRESSES.items())[1:]:
        page.get_by_test_id("stSidebarNav").locator(f'a[href*="/{address}"]').click()
        expect(page.get_by_role("heading", level=1)).to_have_text(question)
        settled(page)
        expect(page.locator(".st-key-provenance").first).to_contain_text("demo:bert-mini")
        assert "table=demo%3Abert-mini" in page.url or "table=demo:bert-mini" in page.url


def test_an_uploaded_checkpoint_opens_and_its_number_is_numpys(
    page: Page, app_url: str, checkpoint: Path, gpt2_like_weights: np.ndarray
) -> None:
    open_page(page, app_url)
    page.get_by_text("Upload a checkpoint").click()
    page.locator('input[type="file"]').set_input_files(checkpoint)
    expect(page.locator(".st-key-open-table")).to_contain_text("my-gpt2")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)  # the page is in sight
    settled(page)
    shown = page.locator(".st-key-number-0")
    expect(shown).to_contain_text(three_components(gpt2_like_weights))
    expect(shown).to_contain_text("three components")
    expect(page.locator(".st-key-provenance").first).to_contain_text("transformer.wpe.weight")


def test_what_is_not_a_checkpoint_gets_one_sentence_and_changes_nothing(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    (tmp_path / "holiday.bin").write_bytes(b"not a checkpoint at all" * 50)
    open_page(page, f"{app_url}/?table=demo:bert-mini")
    page.get_by_text("Upload a checkpoint").click()
    page.locator('input[type="file"]').set_input_files(tmp_path / "holiday.bin")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("holiday.bin")
    assert "Traceback" not in alert.inner_text()
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    settled(page)
    expect(page.locator(".st-key-open-table")).to_contain_text("bert-mini")


def test_an_unreachable_hub_gets_one_sentence_and_the_page_goes_on(
    page: Page, app_url: str
) -> None:
    open_page(page, f"{app_url}/curve")
    page.get_by_text("Find a model").click()
    page.get_by_role("button", name=re.compile("^gpt2 1,024")).click()
    expect(page.get_by_role("alert")).to_contain_text("gpt2")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(page.locator(".st-key-open-table")).to_contain_text("gpt-mini")


def test_a_link_restores_the_view(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/similarity?table=demo:bert-mini&metric=Centred+cosine")
    expect(page.locator(".st-key-provenance").first).to_contain_text("centred cosine, centred")


def test_a_turned_curve_stays_turned_when_the_table_changes(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/curve?table=demo:bert-mini")
    box = page.locator(".st-key-curve-3d").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y + 40, steps=6)
    page.mouse.up()
    scene = "document.querySelector('.js-plotly-plot')._fullLayout.scene"
    camera = f"() => JSON.stringify({scene}.camera.eye)"
    turned = page.evaluate(camera)
    page.get_by_test_id("stSelectbox").locator("input").first.click()
    page.get_by_role("option", name="demo:gpt-mini").click()
    expect(page.locator(".st-key-open-table")).to_contain_text("gpt-mini")
    settled(page)
    assert page.evaluate(camera) == turned


def test_stretching_moves_the_figure_and_offers_the_table(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/interpolation?table=demo:bert-mini")
    slider = page.get_by_test_id("stSlider").locator("input").first
    before = page.locator(".st-key-provenance").first.inner_text()
    slider.press("ArrowRight")
    expect(page.locator(".st-key-provenance").first).not_to_have_text(before)
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("safetensors")).click()
    assert download.value.suggested_filename.endswith(".safetensors")


@pytest.fixture(scope="module")
def too_wide(
    visiting: Callable[..., AbstractContextManager[Page]], app_url: str
) -> Callable[[int, str], list[str]]:
    """A function from a window's width and a colour scheme to the pages that stick out sideways.

    Each page is opened once a width, and its colours are changed where it stands.
    """

    @cache
    def measured(width: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {"light": [], "dark": []}
        with visiting(app_url) as page:
            page.set_viewport_size({"width": width, "height": 900})
            for address in ADDRESSES:
                page.emulate_media(color_scheme="light")
                open_page(page, f"{app_url}/{address}?table=demo:bert-mini")
                for scheme, pages in found.items():
                    page.emulate_media(color_scheme=scheme)
                    expect(
                        page.locator(f"{FIGURES}:not([data-posviz-theme={scheme}])")
                    ).to_have_count(0)
                    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                        pages.append(address or "overview")
        return found

    return lambda width, scheme: measured(width)[scheme]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1360])
def test_nothing_sticks_out_sideways(
    too_wide: Callable[[int, str], list[str]], scheme: str, width: int
) -> None:
    assert too_wide(width, scheme) == []


def test_a_sentence_leads_to_its_page_and_the_table_stays_open(page: Page, app_url: str) -> None:
    open_page(page, f"{app_url}/?table=demo:bert-mini")
    page.get_by_text("What the numbers say").click()
    page.get_by_test_id("stMainBlockContainer").get_by_role("link", name="Spectrum").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESSES["spectrum"])
    expect(page.locator(".st-key-open-table")).to_contain_text("bert-mini")
    assert "bert-mini" in page.url
