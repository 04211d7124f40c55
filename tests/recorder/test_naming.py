"""Under which name posviz.record keeps a run: a free one, that of the run that goes on, or none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz import recorder
from posviz.recorder import RecordingWarning
from posviz.training.runs import open_run

Model = Callable[..., Any]
Train = Callable[..., list[str]]


def test_two_processes_that_go_on_with_one_run_take_nothing_from_each_other(
    nano_gpt: Model, train: Train, new_process: Callable[[], None]
) -> None:
    """Each process has its recorder: here the second is made while the first goes on."""
    train(nano_gpt(), 21, run="mine")
    (first,) = recorder._recorders.values()
    new_process()
    second = nano_gpt()
    assert posviz.record(second, 25, run="mine") == "run:mine@25"
    with pytest.warns(RecordingWarning, match="records the run mine too, .* goes on as mine-2"):
        assert first.keep(nano_gpt(), 30, 1.0) == "run:mine-2@30"
    assert first.keep(nano_gpt(), 40, 1.0) == "run:mine-2@40"
    assert posviz.record(second, 35, run="mine") == "run:mine@35"
    assert open_run("mine").steps == (0, 10, 20, 25, 35)
    assert open_run("mine-2").steps == (0, 10, 20, 30, 40)
    assert open_run("mine-2").recorded_from == "transformer.wpe.weight"


def test_only_the_first_of_several_processes_records(
    nano_gpt: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert posviz.record(nano_gpt(), 0, run="mine") is None
    assert not home.exists()


def test_a_run_broken_off_goes_on_and_nothing_before_it_is_lost(
    nano_gpt: Model, train: Train, new_process: Callable[[], None]
) -> None:
    train(nano_gpt(), 41, run="mine")
    before = open_run("mine").snapshot(20)
    new_process()
    model = nano_gpt()
    for step in range(25, 47):
        posviz.record(model, step, run="mine")
    run = open_run("mine")
    assert run.steps == (0, 10, 20, 25, 35, 45)
    assert np.array_equal(run.snapshot(20), before)
    assert np.array_equal(run.snapshot(), model.transformer["wpe"].weight.detach().numpy())


def test_a_name_that_is_taken_is_never_overwritten(nano_gpt: Model) -> None:
    first, second = nano_gpt(), nano_gpt()
    posviz.record(first, 0, run="mine")
    with pytest.warns(RecordingWarning) as told:
        posviz.record(second, 0, run="mine")
    assert str(told[0].message) == (
        "There is a run mine already, so this one is recorded as mine-2."
    )
    assert told[0].filename == __file__
    assert np.array_equal(
        posviz.load("run:mine").weights, first.transformer["wpe"].weight.detach().numpy()
    )
    assert posviz.record(second, 10, run="mine") == "run:mine-2@10"


def test_a_run_trained_by_posviz_itself_is_never_continued(nano_gpt: Model, home: Path) -> None:
    from posviz.training.config import default_config
    from posviz.training.engine import train as train_run

    config = default_config("copy", steps=2, n_positions=8, d_model=8, batch_size=2)
    for _ in train_run(config, home / "copy-1"):
        pass
    written = (home / "copy-1" / "snapshots.safetensors").read_bytes()
    with pytest.warns(RecordingWarning, match="recorded as copy-1-2"):
        posviz.record(nano_gpt(), 5, run="copy-1")
    assert (home / "copy-1" / "snapshots.safetensors").read_bytes() == written


def test_without_a_name_the_script_gives_it(
    nano_gpt: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/my train.py"])
    assert posviz.record(nano_gpt(), 0) == "run:my-train-1@0"
    assert posviz.record(nano_gpt(), 0) == "run:my-train-2@0"
