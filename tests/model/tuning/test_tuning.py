"""What a fine-tuning is asked for: its usual settings, its name, and which kind it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posviz.errors import TrainingError
from posviz.model.tuning import tuning_config, usual_rate
from posviz.training.finetune import FineTuneConfig, run_name
from posviz.training.pretrained import config_of


def test_the_usual_rate_follows_the_size_of_a_usual_row() -> None:
    rows = np.full((9, 4), 0.2, dtype=np.float32)
    assert usual_rate(rows) == 0.01
    rows[0] = 100  # a special first row does not count
    assert usual_rate(rows) == 0.01
    assert usual_rate(rows * -3) == 0.03
    assert usual_rate(rows * 0) > 0


def test_a_demo_goes_on_with_its_own_task() -> None:
    assert isinstance(tuning_config("demo:gpt-mini", 160), FineTuneConfig)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("demo:gpt-mini", "gpt-mini-24"),
        ("run:mine@20", "mine-24"),
        ("hub:openai-community/gpt2", "gpt2-24"),
        ("/models/gpt2", "gpt2-24"),
        ("/models/gpt2/model.safetensors", "gpt2-24"),
        ("/models/größe 1.5", "gr--e-1-5-24"),
        ("/", "model-24"),
    ],
)
def test_a_run_is_called_after_its_model(source: str, name: str) -> None:
    assert run_name(source, 24) == name


def test_a_run_of_another_version_is_refused() -> None:
    with pytest.raises(TrainingError, match="does not know: pace"):
        config_of({"lender": "x", "pace": 1})


def test_asking_for_a_fine_tuning_loads_no_torch() -> None:
    program = (
        "import sys; from posviz.model.tuning import tuning_config; "
        "tuning_config('Demo:gpt-mini', 160); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[3], check=True)
