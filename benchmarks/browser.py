"""A Streamlit server started from nothing and a Chromium to watch it with."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

from benchmarks.measure import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VIEW = {"width": 1360, "height": 960}

# When the first chart is on the screen: the first frame in which Plotly has drawn a trace, or
# posviz says that it has painted. In milliseconds since 1970, the clock of `time.time` too.
PAINTED = """() => new Promise((done, failed) => {
  setTimeout(() => failed(new Error('no chart was painted within a minute')), 60000);
  const marks = '[data-posviz-painted], .stPlotlyChart .trace path, .stPlotlyChart image';
  const look = () => {
    if (document.querySelector(marks)) done(performance.timeOrigin + performance.now());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium where there is one, else Playwright's."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    flags = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


@contextlib.contextmanager
def server(script: Path) -> Iterator[str]:
    """`streamlit run script` on a free port with the project's own settings; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", os.fspath(script)]
    process = subprocess.Popen(
        [*command, "--server.port", str(port)],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address, process)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health"):
            return
        time.sleep(0.01)
    raise RuntimeError(f"{address} did not start")


@contextlib.contextmanager
def visit(browser: Browser) -> Iterator[Page]:
    """A page of a browser that has never been here: nothing in its cache."""
    context = browser.new_context(viewport=VIEW)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()
