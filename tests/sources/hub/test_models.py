"""A whole Hub model, downloaded because somebody asked, and read with every table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posviz import sources
from posviz.errors import ModelError
from posviz.model import worker
from posviz.model.places import folder_of
from posviz.sources.access import packed_access
from posviz.sources.demos import DEMOS

NAME = "someone/bert-mini"


@pytest.fixture
def hub(fake_hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A demo under a name of the Hub, and an empty cache on this machine."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    fake_hub.repos[NAME] = DEMOS / "bert-mini"
    return fake_hub


def asked(hub, tmp_path: Path, *, fetch: bool) -> dict[str, object]:
    access = hub.access(tmp_path / "cache")
    ref = f"hub:{NAME}"
    order = {
        "ref": ref, "fingerprint": sources.load(ref, access=access).fingerprint, "length": 96,
        "methods": ["linear"], "grid": "align-corners", "keep": "", "count": 2, "seed": 0,
        "text": None,
    }  # fmt: skip
    return {"order": order, "access": packed_access(access), "fetch": fetch}


def test_without_a_yes_nothing_is_downloaded(hub, tmp_path: Path) -> None:
    order = asked(hub, tmp_path, fetch=False)
    with pytest.raises(ModelError, match="all its weights have to be on this machine"):
        worker._measure(order, [])
    with pytest.raises(ModelError, match="Download it first"):
        folder_of(f"hub:{NAME}", hub.access(tmp_path / "cache"))
    assert not (tmp_path / "hf").exists()


def test_it_comes_whole_is_told_and_read(
    hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker._measure(asked(hub, tmp_path, fetch=True), [])
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = [line["event"] for line in said]
    assert [event for event in events if event != "fetching"] == [
        "opening", "begun", "measured", "measured",
    ]  # fmt: skip
    fetching = [line for line in said if line["event"] == "fetching"]
    assert fetching
    assert all(0 <= line["bytes"] <= line["of"] for line in fetching)
    assert said[-1]["method"] == "linear"
