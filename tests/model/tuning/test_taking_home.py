"""A fine-tuned table leaves in a whole checkpoint that transformers opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz.interpolation import extend
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.texts import sequences
from posviz.training.pretrained import PretrainedConfig

CAUSAL = ("gpt2", "openai-gpt", "gpt-neo", "opt")
Make = Callable[[str], tuple[Path, Any]]
Asked = Callable[..., PretrainedConfig]
Tune = Callable[..., list[float]]
Weights = Callable[[Path], dict[str, bytes]]


@pytest.mark.parametrize("name", ["gpt2", "opt", "bert", "roberta", "distilbert"])
def test_the_fine_tuned_checkpoint_is_taken_home(
    folder_of_layout: Make,
    asked_of: Asked,
    tune: Tune,
    weights_of: Weights,
    name: str,
    runs: Path,
    tmp_path: Path,
    text: str,
) -> None:
    import transformers

    from posviz.export.checkpoint import extend_checkpoint

    folder, network = folder_of_layout(name)
    tune(runs / "tuned", asked_of(folder, method="cubic", moving="table"))
    written = extend_checkpoint("run:tuned", tmp_path / "home", 24)
    table = posviz.load("run:tuned").weights
    assert posviz.load(str(tmp_path / "home")).weights.tobytes() == table.tobytes()
    others = {n: v for n, v in weights_of(tmp_path / "home").items() if "position" not in n}
    before = weights_of(folder)
    assert {n: v for n, v in others.items() if "wpe" not in n} == {
        n: before[n] for n in others if "wpe" not in n
    }
    assert any("24" in line for line in written.changed)
    theirs = type(network).from_pretrained(tmp_path / "home").eval()
    assert isinstance(theirs, transformers.PreTrainedModel)
    read = sequences(open_model(str(folder)), length=24, count=3, text=text)
    tokens = torch.from_numpy(read.tokens)
    labels = torch.from_numpy(read.targets)
    asked = {"labels": labels} if name not in CAUSAL else {"labels": tokens, "shift_labels": labels}
    with torch.no_grad():
        loss = float(theirs(input_ids=tokens, **asked).loss)
    assert loss == pytest.approx(loss_by_position(open_model("run:tuned"), read).mean, rel=1e-5)
    card = (tmp_path / "home" / "README.md").read_text()
    assert "fine-tuned as run:tuned@4" in card
    assert "trained for a while at its new length" in card


def test_a_fine_tuned_table_is_stretched_further_on_its_way_home(
    folder_of_layout: Make, asked_of: Asked, tune: Tune, runs: Path, tmp_path: Path
) -> None:
    from posviz.export.checkpoint import extend_checkpoint

    folder, _ = folder_of_layout("roberta")
    tune(runs / "tuned", asked_of(folder))
    extend_checkpoint("run:tuned@2", tmp_path / "home", 40, method="linear")
    expected = extend(posviz.load("run:tuned@2"), 40).table.weights
    home = posviz.load(str(tmp_path / "home"))
    assert (home.row_offset, home.n_positions) == (2, 40)
    np.testing.assert_allclose(home.weights, expected, rtol=1e-6)
