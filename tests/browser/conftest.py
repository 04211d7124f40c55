"""A running app and a real Chromium; a console error or a request to elsewhere fails a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

PROJECT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL for the 3-D curve on machines without a GPU
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


PATIENCE = 90_000  # milliseconds; a busy machine without a GPU draws WebGL slowly
expect.set_options(timeout=PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _serving(folder: Path, log: Path, base: str = "", **variables: str) -> Iterator[str]:
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--server.baseUrlPath", base],
            cwd=folder,
            env=os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9"} | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}/{base}".rstrip("/")
    try:
        _wait_until_healthy(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="session")
def serving(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., AbstractContextManager[str]]:
    """``with serving(folder) as address``: its app.py as a person starts it, with no Hub to reach.

    ``base`` is the path below which it answers; all further names are environment variables.
    """

    def serving(folder: Path, **options: str) -> AbstractContextManager[str]:
        return _serving(folder, tmp_path_factory.mktemp("server") / "log.txt", **options)

    return serving


@pytest.fixture(scope="session")
def app_url(serving: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """One server for all tests that do not need a fresh one."""
    with serving(PROJECT) as address:
        yield address


@pytest.fixture
def start_app(
    serving: Callable[..., AbstractContextManager[str]],
) -> Callable[[], AbstractContextManager[str]]:
    """Starts a fresh server: ``with start_app() as url``."""
    return lambda: serving(PROJECT)


def _wait_until_healthy(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the app did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium where there is one, else the one Playwright downloaded."""
    found = os.environ.get("POSVIZ_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all visits: a new one would have to compile Streamlit and Plotly anew."""
    with browser.new_context() as context:
        opened = context.new_page()
        opened.set_default_timeout(PATIENCE)
        yield opened


def _is_error(message: ConsoleMessage) -> bool:
    # On /curve Streamlit first asks for /curve/_stcore/…, is told 404, and then finds its server.
    looking = "/_stcore/" in message.location.get("url", "")
    return message.type == "error" and not looking


@pytest.fixture(scope="session")
def visiting(tab: Page) -> Callable[..., AbstractContextManager[Page]]:
    """``with visiting(address) as page``: somebody who was never there before.

    What the browser complains of, and requests to elsewhere, fail the test, unless they hold
    one of the words that are ``excused``.
    """

    @contextmanager
    def visiting(address: str, *, excused: tuple[str, ...] = ()) -> Iterator[Page]:
        bad: list[str] = []
        host = address.removesuffix(urlsplit(address).path)
        local = (host, host.replace("http", "ws"), "data:", "blob:")
        listeners = {
            "request": lambda r: None if r.url.startswith(local) else bad.append(r.url),
            "console": lambda m: bad.append(m.text) if _is_error(m) else None,
            "pageerror": lambda error: bad.append(str(error)),
        }
        for event, listener in listeners.items():
            tab.on(event, listener)  # type: ignore[call-overload]
        tab.set_viewport_size({"width": 1360, "height": 960})
        tab.emulate_media(color_scheme="light")
        try:
            yield tab
        finally:
            for event, listener in listeners.items():
                tab.remove_listener(event, listener)
            _forget(tab)
        assert [text for text in bad if not any(word in text for word in excused)] == []

    return visiting


def _forget(tab: Page) -> None:
    """Leave nothing of a visit behind for the next one."""
    tab.unroute_all()
    tab.evaluate(
        "try { localStorage.clear(); sessionStorage.clear(); } catch { /* no page yet */ }"
    )
    tab.goto("about:blank")
    tab.context.clear_cookies()
    tab.mouse.move(0, 0)


@pytest.fixture
def page(visiting: Callable[..., AbstractContextManager[Page]], app_url: str) -> Iterator[Page]:
    """A first visit to the server that all tests share."""
    with visiting(app_url) as page:
        yield page
