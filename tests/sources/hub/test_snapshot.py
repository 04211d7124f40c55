"""A whole Hub model: downloaded once, with what belongs to it, into the Hub's own cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posviz
from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint
from posviz.sources import Access
from posviz.sources.bundle import open_bundle
from posviz.sources.snapshot import whole
from posviz.sources.watched import Download

NAME = "someone/tiny"


@pytest.fixture
def hub(fake_hub, model_folder: Callable[..., Path], rows, monkeypatch, tmp_path: Path):
    """One model on the Hub, and an empty cache on this machine."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    folder = model_folder(
        {"transformer.wpe.weight": rows(64, 16), "transformer.wte.weight": rows(500, 16)},
        {"model_type": "gpt2", "n_positions": 64},
    )
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64}')
    (folder / "pytorch_model.bin").write_bytes(b"the same once more" * 1000)
    fake_hub.repos[NAME] = folder
    return fake_hub


def test_a_hub_model_comes_whole_and_only_once(hub, tmp_path: Path) -> None:
    access = hub.access(tmp_path / "cache")
    said: list[str] = []
    extend_checkpoint(f"hub:{NAME}", tmp_path / "new", 96, access=access, told=said.append)
    assert posviz.load(str(tmp_path / "new")).n_positions == 96
    limits = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text())
    assert limits == {"model_max_length": 96}
    assert said == [
        f"{NAME}: the whole model is downloaded into the Hub's cache on this machine, 0.0 MB."
    ]
    fetched = [r.path for r in hub.log if r.method == "GET" and r.sent > 10_000]
    assert len(fetched) == 1  # the weights, not the pickle of the same
    before = len(fetched)
    extend_checkpoint(f"hub:{NAME}", tmp_path / "again", 96, access=access, told=said.append)
    assert len(said) == 1
    fetched = [r.path for r in hub.log if r.method == "GET" and r.sent > 10_000]
    assert len(fetched) == before
    old, new = (posviz.load(str(tmp_path / name)) for name in ("new", "again"))
    np.testing.assert_array_equal(old.raw, new.raw)


def test_its_size_is_known_before(hub, tmp_path: Path) -> None:
    found = whole(f"hub:{NAME}", hub.access(tmp_path / "cache"))
    kept = ("model.safetensors", "config.json", "tokenizer_config.json")
    sizes = {name: (hub.repos[NAME] / name).stat().st_size for name in kept}
    assert (found.id, found.sizes, found.missing) == (NAME, sizes, sum(sizes.values()))
    assert not [r for r in hub.log if r.sent > 10_000]
    open_bundle(f"hub:{NAME}", access=hub.access(tmp_path / "cache"))
    assert found.missing == 0


def test_its_files_are_listed_once_a_download(hub, tmp_path: Path) -> None:
    access = hub.access(tmp_path / "cache")
    for fetch in (
        lambda: open_bundle(f"hub:{NAME}", access=access),
        lambda: Download(f"hub:{NAME}", access).run(lambda **told: None),
    ):
        hub.log.clear()
        fetch()
        assert sum("/api/models/" in r.path for r in hub.log) == 1


@pytest.mark.parametrize("rights", [{"local_paths": False}, {"local_root": Path("/srv")}])
def test_a_shared_server_downloads_no_whole_model(
    hub, tmp_path: Path, rights: dict[str, object]
) -> None:
    with pytest.raises(SourceError, match="downloads no whole models"):
        open_bundle(f"hub:{NAME}", access=hub.access(tmp_path / "cache", **rights))
    assert hub.log == []


def test_a_model_that_is_not_there_is_told(hub, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no model someone/else on the Hub"):
        open_bundle("hub:someone/else", access=hub.access(tmp_path / "cache"))


def test_offline_says_that_it_is_not_here(hub, tmp_path: Path) -> None:
    access = Access(offline=True, endpoint=hub.url, cache=tmp_path / "cache")
    with pytest.raises(SourceError, match="offline mode"):
        open_bundle(f"hub:{NAME}", access=access)
    open_bundle(f"hub:{NAME}", access=hub.access(tmp_path / "cache"))
    assert open_bundle(f"hub:{NAME}", access=access).checkpoint.tables[0].n_positions == 64
