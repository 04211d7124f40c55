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


PATIENCE = 60_000  # milliseconds; the machine of a test run may be busy with other things
expect.set_options(timeout=PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(log: Path) -> Iterator[str]:
    """The address of a fresh server, started as a person starts it, with no Hub to reach."""
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9"}
    with log.open("w") as output:
        server = subprocess.Popen(
            command, cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests that do not need a fresh one."""
    with running_app(tmp_path_factory.mktemp("app") / "log.txt") as address:
        yield address


@pytest.fixture
def start_app(tmp_path: Path) -> Callable[[], AbstractContextManager[str]]:
    """Starts a fresh server: ``with start_app() as url``."""
    return lambda: running_app(tmp_path / "log.txt")


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


def _is_error(message: ConsoleMessage) -> bool:
    # On /curve Streamlit first asks for /curve/_stcore/…, is told 404, and then finds its server.
    looking = "/_stcore/" in message.location.get("url", "")
    return message.type == "error" and not looking


@pytest.fixture
def page(browser: Browser, app_url: str) -> Iterator[Page]:
    """A fresh visit; what the browser complains of and requests to elsewhere fail the test."""
    context = browser.new_context(viewport={"width": 1360, "height": 960})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    bad: list[str] = []
    local = (app_url, app_url.replace("http", "ws"), "data:", "blob:")
    opened.on("request", lambda r: None if r.url.startswith(local) else bad.append(r.url))
    opened.on("console", lambda m: bad.append(m.text) if _is_error(m) else None)
    opened.on("pageerror", lambda error: bad.append(str(error)))
    yield opened
    context.close()
    assert bad == []
