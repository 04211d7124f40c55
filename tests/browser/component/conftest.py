"""The figure component by itself, in a little app served below a base path, as behind a proxy."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posviz.ui.assets import ensure_plotly_js

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]


@pytest.fixture(scope="session")
def tiny_url(
    tmp_path_factory: pytest.TempPathFactory,
    serving: Callable[..., AbstractContextManager[str]],
) -> Iterator[str]:
    """Address of the little app; ``?show=map,curve`` says which of its figures it shows."""
    folder = tmp_path_factory.mktemp("tiny")
    shutil.copy(HERE / "tiny_app.py", folder / "app.py")
    shutil.copytree(PROJECT / ".streamlit", folder / ".streamlit")
    ensure_plotly_js(folder)
    with serving(folder, base="behind/proxy", PYTHONPATH=str(PROJECT)) as address:
        yield address


@pytest.fixture
def tiny_page(
    visiting: Callable[..., AbstractContextManager[Page]], tiny_url: str
) -> Iterator[Page]:
    """A first visit to the little app, before it is opened."""
    with visiting(tiny_url, excused=("plotly.min.js", "ERR_FAILED")) as page:
        page.set_viewport_size({"width": 1200, "height": 1200})
        yield page


class Figure:
    """One figure of the little app: what it has drawn, and a hand on it."""

    def __init__(self, page: Page, key: str) -> None:
        self.page = page
        self.key = key
        self.card = page.locator(f".st-key-{key}")

    def part(self, name: str) -> Locator:
        """One of its elements: ``figure`` around it all, ``plot``, ``raster``, ``tip``, …"""
        return self.card.locator(f".posviz-{name}")

    def read(self, expression: str) -> Any:
        """Value of a JavaScript expression of ``plot``, Plotly's element, and its ``layout``."""
        return self.page.evaluate(
            f"key => {{ const plot = document.querySelector(`.st-key-${{key}} .posviz-plot`);"
            f" const layout = plot._fullLayout; return ({expression}); }}",
            self.key,
        )

    def wait_for(self, condition: str, was: object = None) -> None:
        """Wait until a JavaScript condition of ``plot``, ``layout`` and ``was`` holds."""
        self.page.wait_for_function(
            "([key, was]) => {"
            " const plot = document.querySelector(`.st-key-${key} .posviz-plot`);"
            f" const layout = plot?._fullLayout; return layout && ({condition}); }}",
            arg=[self.key, was],
        )

    def painted(self, *, instead_of: str = "") -> str:
        """Wait until it is painted (again), and return what revision of its data it shows."""
        self.page.wait_for_function(
            """([key, before]) => {
              const seen = document.querySelector(`.st-key-${key} .posviz-figure`)?.dataset;
              return seen?.posvizPainted && seen.posvizPainted !== before;
            }""",
            arg=[self.key, instead_of],
        )
        return str(self.part("figure").get_attribute("data-posviz-painted"))

    def change_data(self) -> None:
        """Give every figure of the page other data, by its slider, and wait for this one."""
        before = self.painted()
        self.page.locator("[data-testid=stSlider] input").press("ArrowRight")
        self.painted(instead_of=before)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag between two points given as shares of its width and height."""
        box = self.part("plot").bounding_box()
        assert box is not None
        first, last = (
            (box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)
        )
        self.drag_on_page(first, last)

    def drag_on_page(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag between two points of the page."""
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=8)
        self.page.mouse.up()

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where on the page a point of its two axes lies; a cell is (column, row)."""
        left, top = self.read(
            f"(() => {{ const box = plot.getBoundingClientRect();"
            f" return [box.left + layout.xaxis._offset + layout.xaxis.d2p({x}),"
            f" box.top + layout.yaxis._offset + layout.yaxis.d2p({y})]; }})()"
        )
        return left, top

    def pixel(self, row: int, col: int) -> str:
        """The expression of what its canvas shows for a cell: red, green, blue, alpha."""
        return f"""(() => {{
          const canvas = document.querySelector(`.st-key-${{key}} .posviz-raster`);
          const ratio = canvas.width / layout.width;
          const x = Math.round((layout.xaxis._offset + layout.xaxis.d2p({col})) * ratio);
          const y = Math.round((layout.yaxis._offset + layout.yaxis.d2p({row})) * ratio);
          return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
        }})()"""

    def colour(self, row: int, col: int) -> list[int]:
        """What its canvas shows for a cell: red, green, blue, alpha."""
        return list(self.read(self.pixel(row, col)))


@pytest.fixture
def figure(tiny_page: Page) -> Callable[[str], Figure]:
    """A function from the key of a figure to that figure on the page."""
    return lambda key: Figure(tiny_page, key)


@pytest.fixture
def visit(tiny_page: Page, tiny_url: str, figure: Callable[[str], Figure]) -> Callable[..., Page]:
    """A function that opens the little app with the figures of these keys, and waits for them."""

    def visit(*keys: str, wait: bool = True) -> Page:
        tiny_page.goto(f"{tiny_url}/?show={','.join(keys)}")
        for key in keys if wait else ():
            figure(key).painted()
        return tiny_page

    return visit


@pytest.fixture(scope="session")
def near() -> Callable[[str], object]:
    """A function from #rrggbb to what equals it as a canvas may have rounded it."""
    return lambda colour: pytest.approx([int(colour[i : i + 2], 16) for i in (1, 3, 5)], abs=12)
