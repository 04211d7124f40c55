"""The figure component by itself, in a real Chromium: what only a browser can show.

The little app of tiny_app.py is served below a base path, as behind a proxy.
"""

from __future__ import annotations

import ast
import base64
import math
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, Route, expect

from posviz.figures.theme import DARK, LIGHT
from posviz.ui.assets import ensure_plotly_js

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PATIENCE = 90_000  # milliseconds; a busy machine without a GPU draws WebGL slowly

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def tiny_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tiny")
    shutil.copy(HERE / "tiny_app.py", folder / "app.py")
    shutil.copytree(PROJECT / ".streamlit", folder / ".streamlit")
    ensure_plotly_js(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(
        [*command, "--server.baseUrlPath", "behind/proxy"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/behind/proxy"
    try:
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).read() == b"ok":
                    break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture
def visit(browser: Browser, tiny_url: str) -> Iterator[Visit]:
    """Open the app with some of its figures; a console error or a request elsewhere fails."""
    bad: list[str] = []
    context = browser.new_context(viewport={"width": 1200, "height": 1200}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    host = tiny_url.split("/behind")[0]
    local = (host, host.replace("http", "ws"), "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(local) else bad.append(r.url))
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.on(
        "console",
        lambda m: (
            bad.append(m.text)
            if m.type == "error" and "_stcore" not in m.location.get("url", "")
            else None
        ),
    )

    def opened(*figures: str, wait: bool = True) -> Page:
        page.goto(f"{tiny_url}/?show={','.join(figures)}")
        for key in figures if wait else ():
            painted(page, key)
        return page

    yield opened
    context.close()
    assert [text for text in bad if "plotly.min.js" not in text and "ERR_FAILED" not in text] == []


def painted(page: Page, key: str, *, instead_of: str = "") -> str:
    """Wait until a figure is painted (again), and return what revision of its data it shows."""
    page.wait_for_function(
        """([key, before]) => {
          const seen = document.querySelector(`.st-key-${key} .posviz-figure`)?.dataset;
          return seen?.posvizPainted && seen.posvizPainted !== before;
        }""",
        arg=[key, instead_of],
        timeout=PATIENCE,
    )
    return str(page.locator(f".st-key-{key} .posviz-figure").get_attribute("data-posviz-painted"))


def wobble(page: Page, key: str) -> None:
    """Change the data of every figure with the slider, and wait for ``key``."""
    before = painted(page, key)
    page.locator("[data-testid=stSlider] input").press("ArrowRight")
    painted(page, key, instead_of=before)


def inside(page: Page, key: str, script: str) -> object:
    """Evaluate with ``plot`` the Plotly element of a figure and ``layout`` its full layout."""
    return page.evaluate(
        f"key => {{ const plot = document.querySelector(`.st-key-${{key}} .posviz-plot`);"
        f" const layout = plot._fullLayout; return ({script}); }}",
        key,
    )


def drag(page: Page, key: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag between two points given as shares of the figure's width and height."""
    box = page.locator(f".st-key-{key} .posviz-plot").bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=8)
    page.mouse.up()


def cell_on_page(page: Page, row: int, col: int) -> tuple[float, float]:
    at = inside(
        page,
        "map",
        f"(() => {{ const box = plot.getBoundingClientRect();"
        f" return [box.left + layout.xaxis._offset + layout.xaxis.d2p({col}),"
        f" box.top + layout.yaxis._offset + layout.yaxis.d2p({row})]; }})()",
    )
    assert isinstance(at, list)
    return at[0], at[1]


def colour_at(page: Page, row: int, col: int) -> tuple[int, ...]:
    """Colour that the canvas shows for a cell of the heatmap, as red, green, blue, alpha."""
    found = inside(
        page,
        "map",
        f"""(() => {{
          const canvas = document.querySelector('.st-key-map .posviz-raster');
          const ratio = canvas.width / layout.width;
          const x = (layout.xaxis._offset + layout.xaxis.d2p({col})) * ratio;
          const y = (layout.yaxis._offset + layout.yaxis.d2p({row})) * ratio;
          return [...canvas.getContext('2d').getImageData(Math.round(x), Math.round(y), 1, 1).data];
        }})()""",
    )
    assert isinstance(found, list)
    return tuple(found)


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def test_a_curve_is_seen_from_further_off_in_a_narrow_window_until_somebody_turns_it(
    visit: Visit,
) -> None:
    page = visit("curve")

    def distance() -> float:
        eye = inside(page, "curve", "layout.scene.camera.eye")
        assert isinstance(eye, dict)
        return math.hypot(*eye.values())

    far = """most => { const {x, y, z} = document.querySelector('.st-key-curve .posviz-plot')
        ._fullLayout.scene.camera.eye; return Math.hypot(x, y, z) > most; }"""
    page.set_viewport_size({"width": 1500, "height": 900})
    page.wait_for_timeout(500)
    near = distance()
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_function(far, arg=1.2 * near)
    page.set_viewport_size({"width": 1500, "height": 900})
    page.wait_for_function(f"most => !({far})(most)", arg=1.01 * near)
    assert distance() == pytest.approx(near)
    drag(page, "curve", (0.5, 0.5), (0.6, 0.55))
    page.wait_for_function(
        "document.querySelector('.st-key-curve .posviz-hint').dataset.seen !== undefined"
    )
    turned = inside(page, "curve", "layout.scene.camera.eye")
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_timeout(500)
    assert inside(page, "curve", "layout.scene.camera.eye") == turned


def test_a_turned_camera_and_the_node_outlive_new_data(visit: Visit) -> None:
    page = visit("curve")
    start = inside(page, "curve", "layout.scene.camera.eye")
    expect(page.locator(".st-key-curve .posviz-hint")).to_be_visible()
    drag(page, "curve", (0.5, 0.5), (0.7, 0.6))
    page.wait_for_function(
        "document.querySelector('.st-key-curve .posviz-hint').dataset.seen !== undefined"
    )
    turned = inside(page, "curve", "(window.kept = plot, layout.scene.camera.eye)")
    assert isinstance(start, dict)
    assert isinstance(turned, dict)
    assert abs(turned["x"] - start["x"]) > 0.3
    drawn = inside(page, "curve", "JSON.stringify([...layout.scene.yaxis.range])")
    wobble(page, "curve")
    assert inside(page, "curve", "layout.scene.camera.eye") == turned
    assert inside(page, "curve", "window.kept === plot && plot.isConnected") is True
    assert inside(page, "curve", "JSON.stringify([...layout.scene.yaxis.range])") != drawn

    page.locator(".st-key-curve").hover()
    page.locator(".st-key-curve .modebar-btn[data-title='Reset the view']").click()
    page.wait_for_function(
        """eye => Math.abs(document.querySelector('.st-key-curve .posviz-plot')
             ._fullLayout.scene.camera.eye.x - eye.x) < 0.1""",
        arg=start,
    )


def test_axis_titles_of_the_space_are_upright_and_carry_shares(visit: Visit) -> None:
    page = visit("curve")
    texts = page.locator(".st-key-curve .annotation-text").all_text_contents()
    for title in ("component 1 · 40.0 %", "component 2 · 30.0 %", "component 3 · 20.0 %"):
        assert title in texts
    drawn = "layout.scene.annotations.filter((note) => note._pdata).map((note) => note.text)"
    assert {title for title in texts if title.startswith("component")} <= set(
        inside(page, "curve", drawn)  # type: ignore[arg-type]
    )
    assert inside(page, "curve", "layout.scene.xaxis.title.text") == ""


def test_a_zoom_outlives_new_data_and_is_let_go_where_nothing_would_show(visit: Visit) -> None:
    page = visit("plane", "map")
    whole = inside(page, "plane", "[...layout.xaxis.range]")
    drag(page, "plane", (0.45, 0.3), (0.6, 0.6))
    page.wait_for_function(
        """whole => document.querySelector('.st-key-plane .posviz-plot')
             ._fullLayout.xaxis.range[0] !== whole[0]""",
        arg=whole,
    )
    zoomed = inside(page, "plane", "[...layout.xaxis.range]")
    corner = [*cell_on_page(page, 700, 700), *cell_on_page(page, 1000, 1000)]
    page.mouse.move(*corner[:2])
    page.mouse.down()
    page.mouse.move(*corner[2:], steps=8)
    page.mouse.up()
    page.wait_for_function(
        "document.querySelector('.st-key-map .posviz-plot')._fullLayout.xaxis.range[0] > 600"
    )
    close = inside(page, "map", "[...layout.xaxis.range]")
    # The canvas follows the zoom: the diagonal, cosine 1, runs through the new middle.
    assert colour_at(page, 850, 850)[:3] == pytest.approx(rgb(LIGHT.positive), abs=12)

    wobble(page, "map")
    assert inside(page, "plane", "[...layout.xaxis.range]") == zoomed
    assert inside(page, "map", "[...layout.xaxis.range]") == close

    before = painted(page, "map")
    page.get_by_role("radio", name="64", exact=True).click()
    painted(page, "map", instead_of=before)
    assert inside(page, "map", "[...layout.xaxis.range]") == [-0.5, 63.5]


def test_a_heatmap_is_painted_under_its_axes_and_again_for_new_data(visit: Visit) -> None:
    page = visit("map")
    assert colour_at(page, 512, 512)[:3] == pytest.approx(rgb(LIGHT.positive), abs=12)
    first = [colour_at(page, 100, 100 + k) for k in range(0, 400, 50)]
    inside(page, "map", "window.kept = plot")
    wobble(page, "map")
    assert [colour_at(page, 100, 100 + k) for k in range(0, 400, 50)] != first
    assert colour_at(page, 512, 512)[:3] == pytest.approx(rgb(LIGHT.positive), abs=12)
    assert inside(page, "map", "window.kept === plot") is True
    page.set_viewport_size({"width": 700, "height": 1200})
    page.wait_for_function(
        "document.querySelector('.st-key-map .posviz-plot')._fullLayout.width < 700"
    )
    assert colour_at(page, 300, 300)[:3] == pytest.approx(rgb(LIGHT.positive), abs=12)


def test_hover_tells_the_pair_and_marks_the_painted_value_as_rounded(visit: Visit) -> None:
    page = visit("map")
    page.mouse.move(*cell_on_page(page, 200, 600))
    tip = page.locator(".st-key-map .posviz-tip")
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


def test_a_click_gives_the_server_the_cell_and_the_exact_value_comes_back(visit: Visit) -> None:
    page = visit("map")
    page.mouse.click(*cell_on_page(page, 300, 700))
    said = page.get_by_text("cell: (")
    expect(said).to_be_visible()
    row, col = ast.literal_eval(said.inner_text().removeprefix("cell: "))
    assert abs(row - 300) <= 2
    assert abs(col - 700) <= 2
    expect(page.get_by_text("exact: ")).to_be_visible()
    page.locator("[data-testid=stSlider] input").press("ArrowRight")
    expect(page.get_by_text(f"cell: ({row}, {col})")).to_be_visible()


def test_a_short_pause_brings_the_exact_value(visit: Visit) -> None:
    page = visit("asked")
    spot = page.locator(".st-key-asked .posviz-plot").bounding_box()
    assert spot
    page.mouse.move(spot["x"] + 150, spot["y"] + 200)
    tip = page.locator(".st-key-asked .posviz-tip")
    expect(tip).to_contain_text("cosine ≈ ")
    expect(tip).to_contain_text("exactly ")
    page.mouse.move(spot["x"] + 155, spot["y"] + 206)
    expect(tip).to_contain_text("exactly ")


def test_a_zoom_into_pooled_cells_brings_detail(visit: Visit) -> None:
    page = visit("asked")
    fine = "document.querySelector('.st-key-asked .posviz-figure').posvizAnswer?.detail"
    assert page.evaluate(fine) is None
    inside(page, "asked", "Plotly.relayout(plot, {'xaxis.range': [99.5, 199.5]})")
    expect(page.get_by_text("window: (")).to_be_visible()
    page.wait_for_function(f"{fine}?.step === 1")
    top, bottom, left, right = ast.literal_eval(
        page.get_by_text("window: (").inner_text().removeprefix("window: ")
    )
    assert (left, right) == (100, 199)
    assert 0 <= top < bottom <= 1023
    assert page.evaluate(f"{fine}.nCols") == 100
    page.locator(".st-key-asked").hover()
    page.locator(".st-key-asked .modebar-btn[data-title='Reset the view']").click()
    expect(page.get_by_text("window: None")).to_be_visible()


def test_the_words_of_a_cell_never_cover_the_colour_bar(visit: Visit) -> None:
    page = visit("map")
    page.locator(".st-key-map .posviz-plot").focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator(".st-key-map .posviz-tip")
    expect(tip).to_be_visible()
    bar = inside(page, "map", "layout.yaxis._offset")
    assert tip.evaluate("element => element.offsetTop") >= bar


def test_arrow_keys_walk_the_heatmap_and_enter_chooses(visit: Visit) -> None:
    page = visit("map")
    plot = page.locator(".st-key-map .posviz-plot")
    said = page.locator(".st-key-map .posviz-said")
    plot.focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert said.text_content() is not None
    expect(said).to_have_text("positions 9 and 1\ncosine about 0.99", use_inner_text=False)
    page.keyboard.press("Enter")
    expect(page.get_by_text("cell: (9, 1)")).to_be_visible()
    assert "Heatmap of cosine" in str(plot.get_attribute("aria-label"))
    assert plot.get_attribute("role") == "img"
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-map .posviz-tip")).to_be_hidden()


def test_arrow_keys_walk_a_curve_and_enter_chooses(visit: Visit) -> None:
    page = visit("plane")
    page.locator(".st-key-plane .posviz-plot").focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    said = page.locator(".st-key-plane .posviz-said")
    expect(said).to_contain_text("position 11, component 1 2.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("plane point: 11")).to_be_visible()
    wobble(page, "plane")
    assert "11" in page.locator(".st-key-plane .annotation-text").all_text_contents()
    page.keyboard.press("Tab")  # away from the slider, so that Escape is the figure's
    page.locator(".st-key-plane .posviz-plot").focus()
    page.keyboard.press("Escape")
    expect(
        page.locator(".st-key-plane .annotation-text").get_by_text("11", exact=True)
    ).to_have_count(0)


def test_arrow_keys_walk_a_spectrum_on_logarithmic_axes(visit: Visit) -> None:
    page = visit("spectrum")
    page.locator(".st-key-spectrum .posviz-plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.locator(".st-key-spectrum .posviz-said")
    expect(said).to_contain_text("component 2, singular value ")
    at = inside(page, "spectrum", "layout.annotations.at(-1)._input.x")
    assert at == pytest.approx(np.log10(2))


def test_a_click_in_the_space_gives_the_position_and_a_turn_does_not(visit: Visit) -> None:
    page = visit("curve")
    drag(page, "curve", (0.5, 0.5), (0.6, 0.5))
    box = page.locator(".st-key-curve .posviz-plot").bounding_box()
    assert box is not None
    label = page.locator(".st-key-curve .hovertext")
    across = box["x"] + box["width"] / 2
    for down in range(60, 420, 4):  # the curve crosses the middle; where, depends on the turn
        page.mouse.move(across, box["y"] + down)
        page.wait_for_timeout(60)
        if label.count():
            break
    expect(label).to_contain_text("position")
    expect(page.get_by_text("curve point: None")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("curve point: None")).to_have_count(0)
    position = page.get_by_text("curve point: ").inner_text().split()[-1]
    shown = page.locator(".st-key-curve .annotation-text").all_text_contents()
    assert f"{int(position):,}" in shown


def test_a_click_on_a_curve_gives_the_position(visit: Visit) -> None:
    page = visit("plane")
    at = inside(
        page,
        "plane",
        "(() => { const box = plot.getBoundingClientRect();"
        " return [box.left + layout.xaxis._offset + layout.xaxis.d2p(-3),"
        " box.top + layout.yaxis._offset + layout.yaxis.d2p(0)]; })()",
    )
    assert isinstance(at, list)
    page.mouse.move(at[0] - 2, at[1])
    page.mouse.move(at[0], at[1])
    expect(page.locator(".st-key-plane .hoverlayer .hovertext")).to_contain_text("position")
    page.mouse.click(at[0], at[1])
    said = page.get_by_text("plane point: ")
    expect(said).not_to_have_text("plane point: None")
    position = int(said.inner_text().split()[-1])
    # Half a turn, or one or two and a half: the three turns lie on one circle.
    assert min(abs(position - 1023 * turns / 3) for turns in (0.5, 1.5, 2.5)) < 8


def test_colours_follow_the_theme_without_a_reload(visit: Visit) -> None:
    page = visit("map", "curve")
    light = page.locator(".st-key-map .posviz-figure[data-posviz-theme=light]")
    expect(light).to_be_attached()
    drag(page, "curve", (0.5, 0.5), (0.7, 0.6))
    turned = inside(page, "curve", "layout.scene.camera.eye")
    page.emulate_media(color_scheme="dark")
    for key in ("map", "curve"):
        dark = page.locator(f".st-key-{key} .posviz-figure[data-posviz-theme=dark]")
        expect(dark).to_be_attached(timeout=PATIENCE)
    assert inside(page, "map", "layout.xaxis.title.font.color") == DARK.ink_soft
    assert colour_at(page, 512, 512)[:3] == pytest.approx(rgb(DARK.positive), abs=12)
    assert inside(page, "curve", "layout.scene.camera.eye") == turned


def at_rest(part: Locator) -> FloatRect:
    """Where a part of the page is, once it has been there for half a second."""
    place = None
    while place is None or place != part.bounding_box():
        place = part.bounding_box()
        part.page.wait_for_timeout(500)
    return place


def test_nothing_moves_when_a_figure_arrives_and_the_loader_takes_no_room(visit: Visit) -> None:
    held: list[Route] = []
    page = visit(wait=False)
    page.route("**/plotly.min.js", lambda route: held.append(route))
    page = visit("spectrum", wait=False)
    figure = page.locator(".st-key-spectrum .posviz-figure")
    expect(figure.locator(".posviz-wait")).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    page.evaluate("document.fonts.ready")
    before = at_rest(page.locator(".st-key-spectrum"))  # what stands above may still be laid out
    assert before["height"] == 300
    for route in held:
        route.continue_()
    painted(page, "spectrum")
    assert page.locator(".st-key-spectrum").bounding_box() == before
    expect(figure.locator(".posviz-wait")).to_be_hidden()
    expect(page.locator(".st-key-posviz_preload")).to_be_hidden()


def test_one_sentence_says_so_when_the_library_cannot_be_loaded(visit: Visit) -> None:
    page = visit(wait=False)
    page.route("**/plotly.min.js", lambda route: route.abort())
    page = visit("spectrum", wait=False)
    expect(page.locator(".st-key-spectrum [role=alert]")).to_have_text(
        "The figure cannot be drawn: this server did not deliver app/static/plotly.min.js. "
        "Restart posviz so that the file is copied again, then reload the page."
    )
    page.unroute("**/plotly.min.js")
    page.locator("[data-testid=stSlider] input").press("ArrowRight")
    painted(page, "spectrum")
    expect(page.locator(".st-key-spectrum [role=alert]")).to_be_hidden()


def test_a_saved_picture_holds_the_painted_cells(visit: Visit) -> None:
    page = visit("map")
    page.locator(".st-key-map").hover()
    with page.expect_download() as saved:
        page.locator(".st-key-map .modebar-btn[data-title='Save as PNG']").click()
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
        [content, rgb(LIGHT.positive)],
    )
    assert near > 10_000  # the bands along the diagonal; the colour bar alone has some 400


def test_the_wheel_scrolls_the_page_until_the_space_is_chosen(visit: Visit) -> None:
    page = visit("curve", "plane", "spectrum")
    box = page.locator(".st-key-curve .posviz-plot").bounding_box()
    assert box is not None
    start = inside(page, "curve", "layout.scene.camera.eye")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, 120)
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    assert inside(page, "curve", "layout.scene.camera.eye") == start
    page.locator(".st-key-curve .posviz-plot").focus()
    page.mouse.wheel(0, 120)
    page.wait_for_function(
        """eye => document.querySelector('.st-key-curve .posviz-plot')
             ._fullLayout.scene.camera.eye.x !== eye.x""",
        arg=start,
    )


def test_a_film_of_a_heatmap_paints_each_moments_own_cells(visit: Visit) -> None:
    page = visit("cells")
    bar = page.locator(".st-key-cells .posviz-film")
    expect(bar.locator("output")).to_have_text("8")
    middle = """([row, col]) => {
      const root = document.querySelector('.st-key-cells .posviz-plot');
      const canvas = document.querySelector('.st-key-cells .posviz-raster');
      const { xaxis, yaxis } = root._fullLayout;
      const ratio = canvas.width / root._fullLayout.width;
      const at = [xaxis._offset + xaxis.d2p(col), yaxis._offset + yaxis.d2p(row)];
      return [...canvas.getContext('2d').getImageData(at[0] * ratio, at[1] * ratio, 1, 1).data];
    }"""
    whole = inside(page, "cells", "[...layout.xaxis.range]")
    size = "(of) => [of.clientWidth, of.clientHeight]"
    plot, canvas = (page.locator(f".st-key-cells .posviz-{part}") for part in ("plot", "raster"))
    assert canvas.evaluate(size) == plot.evaluate(size)  # the control below takes from both
    last, corner = page.evaluate(middle, [2, 2]), page.evaluate(middle, [7, 7])
    assert last == corner
    bar.locator("input").focus()
    page.keyboard.press("Home")
    expect(bar.locator("output")).to_have_text("4")
    page.wait_for_function(f"(at) => ({middle})(at)[3] === 0", arg=[7, 7])  # no such row any more
    first = page.evaluate(middle, [2, 2])
    assert first[3] == 255
    assert first != last
    assert inside(page, "cells", "[...layout.xaxis.range]") == pytest.approx(whole)
    bar.get_by_role("button", name="Play").click()
    expect(bar.locator("output")).to_have_text("8", timeout=PATIENCE)
    page.wait_for_function(
        f"(at) => String(({middle})(at)) === '{','.join(map(str, corner))}'", arg=[7, 7]
    )


def test_a_film_is_run_through_by_its_slider_and_its_button(visit: Visit) -> None:
    page = visit("film")
    bar = page.locator(".st-key-film .posviz-film")
    last = "plot.data.filter(t => t.meta === 'walk').at(-1)"
    assert inside(page, "film", f"{last}.customdata.at(-1)") == 63
    whole = inside(page, "film", "[...layout.xaxis.range]")
    expect(bar.locator("output")).to_have_text("64")
    bar.locator("input").focus()
    page.keyboard.press("Home")
    expect(bar.locator("output")).to_have_text("32")
    page.wait_for_function(
        """() => document.querySelector('.st-key-film .posviz-plot').data
             .filter(t => t.meta === 'walk').at(-1).customdata.at(-1) === 31"""
    )
    assert inside(page, "film", f"{last}.x.at(-1)") == pytest.approx(1.5)  # 3 cos(6 pi) / 2
    assert "31" in page.locator(".st-key-film .annotation-text").all_text_contents()
    assert inside(page, "film", "[...layout.xaxis.range]") == pytest.approx(whole)
    bar.get_by_role("button", name="Play").click()
    expect(bar.locator("output")).to_have_text("64", timeout=PATIENCE)
    expect(bar.get_by_role("button", name="Play")).to_be_visible()
