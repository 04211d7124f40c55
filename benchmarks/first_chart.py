"""From `streamlit run` to the first chart on screen, against a bare one-chart app."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from benchmarks.browser import PAINTED, chromium, server, visit
from benchmarks.measure import PROJECT, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

ROUNDS = 5
OURS = PROJECT / "app.py"
BARE = PROJECT / "benchmarks" / "bare_app.py"


def rows() -> Iterator[Row]:
    """Both apps in turn, each time with a new server and an empty browser cache."""
    started: dict[Path, list[float]] = {OURS: [], BARE: []}
    again: dict[Path, list[float]] = {OURS: [], BARE: []}
    with chromium() as browser:
        for _ in range(ROUNDS):
            for script in started:
                first, second = _once(browser, script)
                started[script].append(first)
                again[script].append(second)
    yield _row("server start to first painted chart", started, reach="≤ 1.3 ×")
    yield _row("a second visitor: address to painted chart", again)


def _once(browser: Browser, script: Path) -> tuple[float, float]:
    """Seconds from starting the server to a chart, and for the next visitor from the address."""
    start = time.time()
    with server(script) as address:
        first = _visit(browser, address) - start
        start = time.time()
        second = _visit(browser, address) - start
    return first, second


def _visit(browser: Browser, address: str) -> float:
    """When a new visitor sees the first chart, in seconds since 1970."""
    with visit(browser) as page:
        page.goto(address, wait_until="commit")
        return page.evaluate(PAINTED) / 1000


def _row(what: str, seconds: dict[Path, list[float]], *, reach: str = "") -> Row:
    ours, bare = (statistics.median(seconds[script]) for script in (OURS, BARE))
    return Row(what, ours, "a bare Streamlit app with one chart", bare, unit="s", reach=reach)
