"""What posviz.record keeps of a loop, how often, and what never ends the training."""

from __future__ import annotations

import inspect
import json
import math
import shutil
import subprocess
import sys
import warnings
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

PROJECT = Path(__file__).resolve().parents[2]

Model = Callable[..., Any]
Train = Callable[..., list[str]]


def test_one_line_in_a_loop_makes_a_run_that_opens(
    nano_gpt: Model, train: Train, home: Path
) -> None:
    model = nano_gpt()
    before = model.transformer["wpe"].weight.detach().numpy().copy()
    torch.manual_seed(0)  # as the loop begins
    tokens = torch.randint(11, (4, 24))
    loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    kept = train(model, 31, run="mine")
    assert kept == ["run:mine@0", "run:mine@10", "run:mine@20", "run:mine@30"]
    assert {path.name for path in (home / "mine").iterdir()} == {
        "config.json", "metrics.jsonl", "snapshots.safetensors",
    }  # fmt: skip
    assert np.array_equal(posviz.load("run:mine@0").weights, before)
    run = open_run("mine")
    assert run.steps == (0, 10, 20, 30)
    assert run.metrics[0]["loss"] == pytest.approx(loss.item())
    found = json.loads((home / "mine" / "config.json").read_text())["posviz"]["recorded"]
    assert found["parameter"] == "transformer.wpe.weight"


def test_the_table_kept_is_that_of_the_moment(nano_gpt: Model, home: Path) -> None:
    model = nano_gpt()
    for step in range(3):
        with torch.no_grad():
            model.transformer["wpe"].weight.fill_(step)
        posviz.record(model, step, every=1, run="mine")
    assert [float(rows.max()) for rows in open_run("mine").snapshots()] == [0, 1, 2]


def test_posviz_record_asks_for_what_the_recorder_asks_for() -> None:
    light, whole = (inspect.signature(one) for one in (posviz.record, recorder.record))
    assert str(light) == str(whole)


def test_snapshots_are_as_often_as_asked_or_ever_more_rarely(nano_gpt: Model) -> None:
    model = nano_gpt()
    for step in range(0, 1000, 3):
        posviz.record(model, step, run="log")
        posviz.record(model, step, run="hundred", every=100)
    assert open_run("hundred").steps == (0, 102, 204, 306, 408, 510, 612, 714, 816, 918)
    steps = open_run("log").steps
    gaps = np.diff(steps)
    assert gaps[0] == 12
    assert 30 < len(steps) < 70
    assert gaps[-1] > 5 * gaps[0]


def test_the_last_table_is_kept_when_asked_for(nano_gpt: Model) -> None:
    model = nano_gpt()
    for step in range(15):
        posviz.record(model, step, run="mine")
    assert posviz.record(model, 15, run="mine", every=1) == "run:mine@15"


def test_a_step_without_a_snapshot_looks_at_nothing(nano_gpt: Model) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(name)

    model = nano_gpt()
    posviz.record(model, 0, run="mine")
    assert posviz.record(model, 1, loss=Untouchable(), run="mine") is None


def test_steps_that_start_again_each_epoch_are_told_once(nano_gpt: Model) -> None:
    model = nano_gpt()

    def epochs() -> None:
        for step in 3 * [*range(12)]:
            posviz.record(model, step, run="mine")

    with pytest.warns(RecordingWarning, match="step went back from 10 to 0") as told:
        epochs()
    assert len(told) == 1
    assert open_run("mine").steps == (0, 10)


@pytest.mark.parametrize("loss", [math.nan, torch.tensor(math.inf)])
def test_a_loss_that_is_not_finite_is_missing_and_told(
    nano_gpt: Model, loss: object, home: Path
) -> None:
    with pytest.warns(RecordingWarning, match="at step 0; it is kept as missing"):
        posviz.record(nano_gpt(), 0, loss=loss, run="mine")
    assert open_run("mine").metrics[0]["loss"] is None
    text = (home / "mine" / "metrics.jsonl").read_text()
    assert "NaN" not in text


def test_a_table_that_is_not_finite_is_not_kept_and_the_good_ones_stay(nano_gpt: Model) -> None:
    model = nano_gpt()
    posviz.record(model, 0, run="mine")
    with torch.no_grad():
        model.transformer["wpe"].weight[3, 3] = math.nan
    with pytest.warns(RecordingWarning, match="position table is not finite at step 10"):
        assert posviz.record(model, 10, run="mine") is None
    assert open_run("mine").steps == (0,)


def test_a_folder_that_is_gone_is_a_warning_and_the_training_goes_on(
    nano_gpt: Model, home: Path
) -> None:
    model = nano_gpt()
    posviz.record(model, 0, run="mine")
    shutil.rmtree(home / "mine")
    with pytest.warns(RecordingWarning, match="cannot be written"):
        assert posviz.record(model, 10, run="mine") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert posviz.record(model, 20, run="mine") is None


def test_a_long_recording_is_thinned_and_keeps_both_ends(
    nano_gpt: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_BYTES", 10 * 24 * 8 * 4)
    model = nano_gpt()
    for step in range(100):
        posviz.record(model, step, run="mine", every=1)
    steps = open_run("mine").steps
    assert steps[0] == 0
    assert steps[-1] > 80
    assert 5 <= len(steps) <= 10


def test_a_kill_in_the_middle_leaves_a_run_that_opens(home: Path) -> None:
    script = """
import os, posviz, numpy as np
for step in range(60):
    posviz.record({"wpe.weight": np.full((4, 3), step, np.float32)}, step, run="killed", every=1)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, check=False)
    assert done.returncode == -9
    run = open_run("killed")
    assert run.steps == tuple(range(60))
    assert float(run.snapshot().max()) == 59


def test_importing_posviz_stays_light() -> None:
    script = (
        "import sys, posviz; "
        "print([name for name in ('torch', 'numpy', 'scipy', 'streamlit') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
