"""Short fine-tunings of small models, on a text of few words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posviz.model.tuner import trainer_of
from posviz.model.tuning import tuning_config
from posviz.training.engine import train
from posviz.training.pretrained import PretrainedConfig


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all runs."""
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def asked_of(tmp_path: Path, text: str) -> Callable[..., PretrainedConfig]:
    """A function (model, settings) to a fine-tuning of that model, 4 steps to 24 positions."""
    path = tmp_path / "text.txt"
    path.write_text(" ".join([text] * 3))

    def asked_of(model: Path | str, *, length: int = 24, **settings: Any) -> PretrainedConfig:
        usual = {"steps": 4, "batch_size": 4, "text": str(path), "learning_rate": 0.01}
        made = tuning_config(str(model), length, **{**usual, **settings})
        assert isinstance(made, PretrainedConfig)
        return made

    return asked_of


@pytest.fixture
def tune() -> Callable[..., list[float]]:
    """A function (run folder, configuration) that trains to the end; losses of its snapshots."""

    def tune(out: Path, asked: PretrainedConfig, **options: Any) -> list[float]:
        done = train(asked, out, make=trainer_of, **options)
        return [now.metrics["loss"] for now in done if now.metrics]

    return tune


@pytest.fixture
def weights_of() -> Callable[[Path], dict[str, bytes]]:
    """A function from a model's folder to the bytes of all its weights, by name."""
    from safetensors.numpy import load_file

    return lambda folder: {
        name: value.tobytes() for name, value in load_file(folder / "model.safetensors").items()
    }
