"""A checkpoint goes home through a real browser, piece by piece."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect
from safetensors.numpy import load_file, save_file

import posviz
from posviz.ui.stream import PIECE
from posviz.ui.takehome import AT_ONCE

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_a_large_checkpoint_arrives_whole(page: Page, app_url: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    source = tmp_path / "large"
    source.mkdir()
    tokens = rng.normal(size=(18_000, 512)).astype(np.float32)
    assert AT_ONCE < tokens.nbytes > 4 * PIECE
    held = {
        "transformer.wte.weight": tokens,
        "transformer.wpe.weight": rng.normal(size=(48, 512)).astype(np.float32),
    }
    save_file(held, source / "model.safetensors", metadata={"format": "pt"})
    config = {"model_type": "gpt2", "n_positions": 48, "n_embd": 512}
    (source / "config.json").write_text(json.dumps(config))

    page.goto(f"{app_url}/interpolation?table={source}&length=64")
    page.get_by_text("Take the whole checkpoint home").click()
    button = page.locator(".posviz-stream button")
    expect(button).to_contain_text("Download large-64.zip")
    with page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "large-64.zip"
    expect(page.locator(".posviz-stream output")).to_have_text("Saved.")
    expect(button).to_contain_text("Download large-64.zip")  # once more, if wanted
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    written = load_file(tmp_path / "large-64" / "model.safetensors")
    assert written["transformer.wte.weight"].tobytes() == tokens.tobytes()
    assert posviz.load(str(tmp_path / "large-64")).n_positions == 64
