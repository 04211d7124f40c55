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
from posviz.sources.demos import DEMOS
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


def test_an_upload_goes_home_when_its_files_are_given_once_more(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    """From the visitor's disk to the page, back as a zip, and into transformers."""
    files = [DEMOS / "gpt-mini" / name for name in ("model.safetensors", "config.json")]
    old = posviz.load("demo:gpt-mini").n_positions

    page.goto(f"{app_url}/interpolation")
    page.get_by_text("Upload a checkpoint").click()
    page.locator('input[type="file"]').set_input_files(files)
    expect(page.locator(".st-key-open-table")).to_contain_text("model")
    page.get_by_text("Take the whole checkpoint home").click()
    again = page.locator(".st-key-whole_files")
    expect(again).to_contain_text("The files of an upload are not kept")
    again.locator('input[type="file"]').set_input_files(files)
    button = page.get_by_role("button", name=".zip, ")
    expect(button).to_be_visible()
    with page.expect_download() as download:
        button.click()
    folder = download.value.suggested_filename.removesuffix(".zip")
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    transformers = pytest.importorskip("transformers")
    longer, said = transformers.GPT2LMHeadModel.from_pretrained(
        tmp_path / folder, output_loading_info=True
    )
    assert not any(said.values())
    length = longer.config.n_positions
    assert length > old
    assert posviz.load(str(tmp_path / folder)).n_positions == length
    tokens = pytest.importorskip("torch").zeros(1, length, dtype=int)
    assert longer(tokens).logits.shape[1] == length
