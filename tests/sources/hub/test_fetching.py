"""A whole Hub model comes in a process of its own, watched, and can be cancelled."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from posviz.errors import SourceError
from posviz.export import fetching
from posviz.export.fetching import Fetch, Fetches
from posviz.sources import Access
from posviz.sources.bundle import open_bundle

Until = Callable[[Callable[[], bool]], None]

NAME = "someone/large"
ROWS = 200_000  # of 16 numbers: more than the 10 MB that the Hub's library reads at a time


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of the Hub's tools, for this process and for those it starts."""
    from huggingface_hub import constants

    folder = tmp_path / "hf"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def hub(fake_hub, model_folder: Callable[..., Path], rows):
    """A model that comes up to a point and then waits."""
    fake_hub.repos[NAME] = model_folder(
        {"transformer.wpe.weight": rows(64, 16), "transformer.wte.weight": rows(ROWS, 16)},
        {"model_type": "gpt2", "n_positions": 64},
    )
    fake_hub.hold = 11 << 20
    yield fake_hub
    fake_hub.go.set()


@pytest.fixture
def fetches():
    made = Fetches()
    yield made
    made.close()


def halves(cache: Path) -> list[Path]:
    return list(cache.rglob("*.incomplete"))


def test_a_download_tells_how_much_has_come_and_ends_whole(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    access = hub.access(tmp_path / "ranges")
    fetch = fetches.start("me", f"hub:{NAME}", access)
    assert fetches.start("me", f"hub:{NAME}", access) is fetch
    until(lambda: 0 < fetch.have < fetch.size)
    assert fetch.size > 4 * 16 * ROWS
    hub.go.set()
    until(lambda: not fetch.alive)
    assert (fetch.state, fetch.message) == ("done", None)
    assert halves(cache) == []
    before = len(hub.log)
    bundle = open_bundle(f"hub:{NAME}", access=access)
    assert bundle.size > 4 * 16 * ROWS
    assert not [r for r in hub.log[before:] if r.sent > 1 << 20]


def test_a_cancelled_download_leaves_nothing_half(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    other = cache / "models--someone--large" / "blobs" / "of-another-process.incomplete"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"half")
    fetch = fetches.start("me", f"hub:{NAME}", hub.access(tmp_path / "ranges"))
    until(lambda: fetch.have > 0)
    assert len(halves(cache)) == 2
    fetches.cancel(fetch)
    assert fetch.process.poll() is not None
    assert (fetch.state, fetch.message) == ("stopped", None)
    assert halves(cache) == [other]
    again = fetches.start("me", f"hub:{NAME}", hub.access(tmp_path / "ranges"))
    hub.go.set()
    until(lambda: not again.alive)
    assert again.state == "done"


def test_a_download_that_does_not_leave_is_killed_and_leaves_nothing_half(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    fetch = fetches.start("me", f"hub:{NAME}", hub.access(tmp_path / "ranges"))
    until(lambda: bool(fetch.halves))
    os.kill(fetch.process.pid, signal.SIGSTOP)  # deaf to the end of its standard input
    assert os.WIFSTOPPED(os.waitpid(fetch.process.pid, os.WUNTRACED)[1])
    fetches.cancel(fetch)
    assert fetch.process.returncode == -signal.SIGKILL
    assert halves(cache) == []


def test_a_download_that_somebody_kills_leaves_nothing_half(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    fetch = fetches.start("me", f"hub:{NAME}", hub.access(tmp_path / "ranges"))
    until(lambda: bool(fetch.halves))
    fetch.process.kill()
    until(lambda: not fetch.alive)
    assert fetch.state == "failed"
    assert halves(cache) == []


def test_what_was_left_long_ago_is_removed_by_the_next_download(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    """Its server was killed as well. What may still come, or may be gone on with, stays."""
    blobs = cache / "models--someone--large" / "blobs"
    blobs.mkdir(parents=True)
    names = ("0af1.0123abcd.incomplete", "0af1.0123abce.incomplete", "0af1.incomplete", "0af2")
    old, new, shared, whole = (blobs / name for name in names)
    for path in (old, new, shared, whole):
        path.write_bytes(b"half")
    for path in (old, shared, whole):
        os.utime(path, (time.time() - 2 * 86_400,) * 2)
    fetches.start("me", f"hub:{NAME}", hub.access(tmp_path / "ranges"))
    until(lambda: not old.exists())
    assert all(path.exists() for path in (new, shared, whole))


def test_another_visitor_cannot_see_it_and_there_is_room_for_two(
    hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    access = hub.access(tmp_path / "ranges")
    first = fetches.start("me", f"hub:{NAME}", access)
    assert fetches.of("you", f"hub:{NAME}") is None
    fetches.start("you", f"hub:{NAME}", access)
    with pytest.raises(SourceError, match="2 models are being downloaded on this server"):
        fetches.start("them", f"hub:{NAME}", access)
    fetches.cancel(first)
    fetches.start("them", f"hub:{NAME}", access)


def test_a_download_that_fails_says_why(
    until: Until, hub, fetches: Fetches, cache: Path, tmp_path: Path
) -> None:
    fetch = fetches.start("me", "hub:nobody/nothing", hub.access(tmp_path / "ranges"))
    until(lambda: not fetch.alive)
    assert fetch.state == "failed"
    assert fetch.message is not None
    assert "nobody/nothing" in fetch.message


def test_a_worker_that_dies_is_told(
    until: Until, fetches: Fetches, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    code = "import sys; sys.stdin.readline(); sys.exit('no such thing')"
    monkeypatch.setattr(fetching, "WORKER", (sys.executable, "-c", code))
    fetch: Fetch = fetches.start("me", "hub:a/b", Access())
    until(lambda: not fetch.alive)
    assert fetch.message == "The download of hub:a/b ended by itself (no such thing). Try again."


# On the page -------------------------------------------------------------------------------


def _page() -> None:
    import streamlit as st

    from posviz.ui import wholemodel

    st.text("whole" if wholemodel.is_here("hub:someone/large") else "not yet")


@pytest.fixture
def page(hub, cache: Path, monkeypatch: pytest.MonkeyPatch):
    from huggingface_hub import constants
    from streamlit.testing.v1 import AppTest

    from posviz.ui import measuring, wholemodel

    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    wholemodel.fetches.clear()
    measuring.download_size.clear()
    yield AppTest.from_function(_page, default_timeout=60).run()
    wholemodel.fetches().close()
    wholemodel.fetches.clear()


def test_a_visitor_is_asked_sees_progress_and_cancels(until: Until, page, hub, cache: Path) -> None:
    (ask,) = page.button
    assert ask.label == "Download the whole model, 12.8 MB"
    assert cache.exists() is False
    ask.click().run()
    assert [button.label for button in page.button] == ["Cancel"]

    def shown() -> str:
        page.run()
        return str(page.get("progress")[0].proto.text)

    until(lambda: "of 12.8 MB" in shown() and not shown().startswith("0"))
    page.button[0].click().run()
    assert [part.value for part in page.info] == ["Cancelled. Nothing half is left in the cache."]
    assert halves(cache) == []
    assert page.text[0].value == "not yet"
    hub.go.set()
    page.button[0].click().run()
    until(lambda: page.run().text[0].value == "whole")
    assert not page.button
