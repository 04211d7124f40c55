"""What the Interpolation page gives home, walked without a browser."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from streamlit.testing.v1 import AppTest

import posviz
from posviz.export.checkpoint import zip_pieces
from posviz.export.plan import plan
from posviz.export.recipe import Recipe
from posviz.sources.bundle import open_bundle

Visit = Callable[..., AppTest]
Upload = Callable[..., AppTest]


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.get("download_button")]


def test_a_demo_goes_home_whole_with_its_changes_and_its_lines(
    interpolation: Visit, tmp_path: Path
) -> None:
    app = interpolation(table="demo:gpt-mini", length="200", method="Tile")
    (whole,) = [label for label in labels(app) if "zip" in label]
    assert whole.startswith("Download gpt-mini-200.zip, ")
    text = "\n".join(part.value for part in app.markdown).replace("\\", "")
    assert "- config.json: n_positions from 128 to 200" in text
    code = [part.value for part in app.code]
    assert any("length=200, method='tile'" in lines and "GPT2LMHeadModel" in lines
               for lines in code)  # fmt: skip
    pieces = zip_pieces(plan(open_bundle("demo:gpt-mini"), Recipe(length=200, method="tile")))
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        archive.extractall(tmp_path)
    assert posviz.load(str(tmp_path / "gpt-mini-200")).n_positions == 200


def test_a_table_without_a_model_says_so_and_still_downloads(interpolation: Visit) -> None:
    app = interpolation(table="random:64x8")
    assert labels(app) == ["Table as .safetensors", "Table as .npy"]
    assert any("is a table without a model" in part.value for part in app.info)


@pytest.mark.parametrize("same", [True, False])
def test_an_upload_is_asked_for_again_and_known_again(
    visit: Visit, upload: Upload, same: bool
) -> None:
    first, other = (
        save({"wpe.weight": np.random.default_rng(seed).normal(size=(32, 8)).astype(np.float32)})
        for seed in (0, 1)
    )
    app = upload(visit(expert="true"), ("mine.safetensors", first))
    app = app.switch_page("pages/interpolation.py").run()
    again = next(one for one in app.file_uploader if one.key == "whole_files")
    assert "are not kept" in again.label
    given = first if same else other
    again.upload("mine.safetensors", given, "application/octet-stream").run()
    assert not app.exception
    told = [part.value.replace("\\", "") for part in app.info]
    assert any("zip" in label for label in labels(app)) is same
    sentence = "These files hold another wpe.weight than the table that is open."
    assert any(sentence in words for words in told) is not same


def test_an_image_model_goes_home_in_its_new_shape(interpolation: Visit, grid_table: str) -> None:
    app = interpolation(table=grid_table, height="6", width="8")
    text = "\n".join(part.value for part in app.markdown)
    assert "from 32 to" in text
    assert "48, 64" in text


@pytest.mark.parametrize("table", ["demo:gpt-mini", "random:40x8"])
def test_the_lines_for_the_table_run(
    interpolation: Visit, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = interpolation(table=table, length="96", method="Cubic spline")
    (lines,) = [part.value for part in app.code if "save_table" in part.value]
    monkeypatch.chdir(tmp_path)
    exec(compile(lines, "page", "exec"), {})
    (written,) = tmp_path.glob("*.safetensors")
    assert posviz.load(str(written)).n_positions == 96
