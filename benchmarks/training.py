"""Steps of training a second with the live page open, against a straight loop with the same model.

One of the two is always halted, so that they take turns on the same machine, and the page stays
open and looks at its run all the while.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.browser import PAINTED, chromium, server, visit
from benchmarks.measure import PROJECT, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

TURNS = 4
SECONDS = 10.0  # of a turn
SETTLED = 2.0  # seconds after which the page shows the last step of a halted run
PATH = "/training?task=Next+character+of+a+text"


def rows() -> Iterator[Row]:
    """Mean over turns; what a run writes and measures on its way counts as part of its steps."""
    with tempfile.TemporaryDirectory() as runs:
        os.environ["POSVIZ_RUNS"] = runs
        try:
            with (
                server(PROJECT / "app.py") as address,
                chromium() as browser,
                visit(browser) as page,
            ):
                page.goto(address + PATH)
                _train(page)
                ours, theirs = _take_turns(page, _worker_of(Path(runs)))
        finally:
            del os.environ["POSVIZ_RUNS"]
    yield Row(
        "a step of training with the live page open", ours, "a straight loop, same model", theirs,
        reach="≤ 1.11 × (0.9 of its steps a second)",
    )  # fmt: skip


def _train(page: Page) -> None:
    page.get_by_text("Settings", exact=True).click()
    steps = page.locator(".st-key-steps-char-lm input")
    steps.fill("20000")  # more than are taken here
    steps.press("Enter")
    page.get_by_test_id("stStatusWidget").wait_for(state="detached")
    page.locator(".st-key-train button").click()
    page.get_by_text("steps a second").wait_for()
    page.evaluate(PAINTED)


def _take_turns(page: Page, ours: int) -> tuple[float, float]:
    """Milliseconds a step, of the run on the page and of the straight loop."""
    bare = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bare_training"], cwd=PROJECT,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = [0]

    def listen() -> None:
        assert bare.stdout is not None
        for line in bare.stdout:
            said[0] = int(line.split()[0])

    threading.Thread(target=listen, daemon=True).start()
    try:
        os.kill(ours, signal.SIGSTOP)
        while not said[0]:
            time.sleep(0.1)
        os.kill(bare.pid, signal.SIGSTOP)
        seconds, steps = [0.0, 0.0], [0, 0]
        for _ in range(TURNS):
            for place, process in enumerate((ours, bare.pid)):
                page.wait_for_timeout(1000 * SETTLED)
                before, start = _steps(page, said), time.perf_counter()
                os.kill(process, signal.SIGCONT)
                page.wait_for_timeout(1000 * SECONDS)
                os.kill(process, signal.SIGSTOP)
                seconds[place] += time.perf_counter() - start
                page.wait_for_timeout(1000 * SETTLED)
                steps[place] += _steps(page, said)[place] - before[place]
    finally:
        bare.kill()
        bare.wait()
        os.kill(ours, signal.SIGCONT)
    return 1000 * seconds[0] / steps[0], 1000 * seconds[1] / steps[1]


def _steps(page: Page, said: list[int]) -> tuple[int, int]:
    """Steps taken so far: of the run, as its page shows it, and of the straight loop."""
    bar = page.get_by_test_id("stProgress").inner_text()
    found = re.search(r"Step ([\d,]+)", bar)
    assert found is not None, bar
    return int(found.group(1).replace(",", "")), said[0]


def _worker_of(runs: Path) -> int:
    """The process that trains the run in a folder: it is the one with that folder in its memory."""
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = status.read_bytes().split(b"\0")
            environment = (status.parent / "environ").read_bytes().split(b"\0")
        except OSError:  # ended meanwhile, or somebody else's
            continue
        own = f"POSVIZ_RUNS={runs}".encode() in environment
        if own and any(part.endswith(b"worker") for part in command):
            return int(status.parent.name)
    raise RuntimeError("no training process was found; this measurement needs Linux's /proc")
