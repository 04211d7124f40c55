"""From a click to the repainted heatmap of 1,024 rows, against Streamlit's own Plotly chart.

And from a slider that stretches a table of 1,024 rows to the repainted figure.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from benchmarks.browser import PAINTED, chromium, server, visit
from benchmarks.measure import PROJECT, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

ROUNDS = 12
METRICS = ("Centred cosine", "Cosine")
OURS = "/similarity?table=random%3A1024x768"
SLIDES = 62
SLIDING = "/interpolation?table=sinusoidal%3A1024x768"
STRETCHED = {
    "the curve": "Curve", "all pairs": "All+pairs", "cosine by offset": "By+offset",
    "the spectrum": "Spectrum", "norms and steps": "Row+by+row",
}  # fmt: skip
SLIDER = "[data-testid=stSlider] input[type=range]"

# The clock starts in the browser, when the press arrives, and stops with the first frame of the new
# picture: posviz marks what it has painted, Plotly's heatmap is an image of its own.
_CLOCK = """for (const kind of ['pointerdown', 'keydown'])
  addEventListener(kind, () => { window.pressed = performance.now(); }, true);"""
_WATCH = """() => {
  const painted = () => [...document.querySelectorAll('[data-posviz-painted]')].map(
    (figure) => figure.dataset.posvizPainted).join();
  const seen = () => painted()
    || document.querySelector('.heatmaplayer image')?.getAttribute('href')?.slice(-200);
  const before = seen();
  window.repainted = new Promise((done, failed) => {
    setTimeout(() => failed(new Error('nothing was repainted within a minute')), 60000);
    const look = () => {
      const now = seen();
      if (now && now !== before) done(performance.now() - window.pressed);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}"""


def rows() -> Iterator[Row]:
    """Medians over switches between two metrics, both computed before."""
    with chromium() as browser:
        ours = _median(browser, PROJECT / "app.py", OURS)
        bare = _median(browser, PROJECT / "benchmarks" / "bare_heatmap.py", "/")
    yield Row(
        "click to repainted heatmap of 1,024 rows", ours, "st.plotly_chart", bare,
        reach="≤ 300 ms",
    )  # fmt: skip
    with chromium() as browser:
        bare = _slide(browser, PROJECT / "benchmarks" / "bare_stretch.py", "/")
        for figure, view in STRETCHED.items():
            ours = _slide(browser, PROJECT / "app.py", f"{SLIDING}&stretched={view}")
            yield Row(
                f"slider to {figure} of 1,024 rows stretched, 95th percentile", ours,
                "st.plotly_chart of all pairs", bare, reach="≤ 300 ms",
            )  # fmt: skip


def _median(browser: Browser, script: Path, path: str) -> float:
    with server(script) as address, visit(browser) as page:
        page.add_init_script(_CLOCK)
        page.goto(address + path)
        page.evaluate(PAINTED)
        taken = []
        for turn in range(ROUNDS):
            page.evaluate(_WATCH)
            page.get_by_role("radio", name=METRICS[turn % 2], exact=True).click()
            milliseconds = page.evaluate("() => window.repainted")
            if turn >= len(METRICS):  # by now both have been computed and drawn once
                taken.append(milliseconds)
            page.wait_for_timeout(300)  # a person looks; the script of the run before ends
        return statistics.median(taken)


def _slide(browser: Browser, script: Path, path: str) -> float:
    """95th percentile over lengths that were never asked for before."""
    with server(script) as address, visit(browser) as page:
        page.add_init_script(_CLOCK)
        page.goto(address + path)
        page.evaluate(PAINTED)
        page.wait_for_timeout(1000)
        page.locator(SLIDER).first.focus()
        taken = []
        for turn in range(SLIDES):
            page.evaluate(_WATCH)
            page.keyboard.press("ArrowRight")
            milliseconds = page.evaluate("() => window.repainted")
            if turn >= 2:
                taken.append(milliseconds)
            page.wait_for_timeout(300)
        return statistics.quantiles(taken, n=20, method="inclusive")[-1]
