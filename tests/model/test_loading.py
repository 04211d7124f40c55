"""Models that are not there, not whole, not allowed or not what they were: each in one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz.errors import ModelError, SourceError
from posviz.model.loading import open_model
from posviz.model.opening import open_weights
from posviz.sources import Access
from posviz.sources.bundle import open_bundle
from posviz.sources.demos import DEMOS

Make = Callable[[str], tuple[Path, Any]]


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("sinusoidal:16x8", "a table by itself, without a model"),
        ("random:16x8", "a table by itself, without a model"),
        ("upload:model.safetensors", "was uploaded"),
        ("run:nothing-of-that-name", "no run called nothing-of-that-name"),
        ("/no/such/folder", "is no folder of a model"),
    ],
)
def test_what_cannot_be_run_is_explained(ref: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        open_model(ref)


def test_a_table_without_its_model_is_explained(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.eye(8))
    with pytest.raises(ModelError, match=r"table\.npy has no config\.json beside it"):
        open_model(str(tmp_path / "table.npy"))


def test_code_in_a_folder_is_never_run(folder_of_layout: Make, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(folder_of_layout("gpt2")[0], folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModelForCausalLM": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    with pytest.raises(ModelError, match="cannot build theirs"):
        open_model(str(folder))


def test_a_model_without_all_its_weights_is_refused(folder_of_layout: Make, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "half"
    shutil.copytree(folder_of_layout("gpt2")[0], folder)
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {n: w for n, w in tensors.items() if ".h.1." not in n},
        folder / "model.safetensors", metadata={"format": "pt"},
    )  # fmt: skip
    with pytest.raises(ModelError, match="half lacks weights that a gpt2 model needs"):
        open_model(str(folder))


def test_a_folder_outside_what_may_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="lies outside"):
        open_model(str(DEMOS / "gpt-mini"), access=Access(local_root=tmp_path))
    with pytest.raises(SourceError, match="cannot be opened here"):
        open_model(str(DEMOS / "gpt-mini"), access=Access(local_paths=False))


@pytest.mark.parametrize(
    "open_it",
    [open_model, open_weights, lambda ref: open_bundle(ref).table("transformer.wpe.weight")],
    ids=["to run", "to look inside", "to take home"],
)
def test_a_run_whose_model_has_other_rows_by_now_is_refused(
    open_it: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.numpy import save_file

    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path))
    (tmp_path / "mine").mkdir()
    rows = np.random.default_rng(0).normal(size=(128, 8)).astype(np.float32)
    save_file({"step-000010": rows}, tmp_path / "mine" / "snapshots.safetensors")
    training = {"table": "learned", "lender": "demo:gpt-mini"}
    (tmp_path / "mine" / "config.json").write_text(json.dumps({"posviz": {"training": training}}))
    with pytest.raises(SourceError) as refused:
        open_it("run:mine")
    assert str(refused.value) == (
        "run:mine trained rows of 8 numbers, and the model that it was made for has rows of 64 by "
        "now. Put the model back that was trained."
    )
