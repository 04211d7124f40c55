"""Every experiment can be trained, and changes what its label says and nothing else."""

from __future__ import annotations

import pytest

from posviz.training.config import default_config
from posviz.training.experiments import EXPERIMENTS


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_an_experiment_is_the_default_run_with_one_change(key: str) -> None:
    settings = dict(EXPERIMENTS[key].settings)
    config, usual = default_config(**settings), default_config(settings["task"])
    changed = {name for name, value in config.as_dict().items() if value != usual.as_dict()[name]}
    assert changed == set(settings) - {"task"}
    assert len(changed) <= 1


def test_the_questions_of_the_lab_are_among_them() -> None:
    changed = {name for one in EXPERIMENTS.values() for name in one.settings}
    assert changed == {"task", "table_scale", "weight_decay", "sequence_length", "table"}
    tables = {one.settings.get("table") for one in EXPERIMENTS.values()}
    assert {"sinusoidal", "none"} <= tables
    assert {one.settings["task"] for one in EXPERIMENTS.values()} == {"sticky-mlm", "copy"}
