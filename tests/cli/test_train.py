"""``posviz train``: the folder it leaves, resuming, Ctrl-C, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import posviz
from posviz.cli import main

SMALL = ("--task", "copy", "--n-positions", "16", "--d-model", "16", "--seed", "3")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))


def train(*words: str) -> int:
    return main(["train", *SMALL, *words, "--json"])


def test_the_answer_and_the_folder_are_those_of_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "12", "-o", str(tmp_path / "run")) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert err == ""
    assert told["steps"] == 12
    assert told["out"] == str(tmp_path / "run")
    assert told["seconds"] > 0
    text = (tmp_path / "run/metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[-1] == {name: told[name] for name in lines[-1]}
    snapshots = load_file(tmp_path / "run/snapshots.safetensors")
    assert list(snapshots) == [f"step-{line['step']:06d}" for line in lines]
    assert {rows.shape for rows in snapshots.values()} == {(16, 16)}


def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path) -> None:
    assert train("--steps", "23", "-o", str(tmp_path / "whole")) == 0
    assert train("--steps", "11", "-o", str(tmp_path / "parts")) == 0
    parts = str(tmp_path / "parts")
    assert main(["train", "--resume", "--steps", "23", "-o", parts, "--json"]) == 0
    for name in ("snapshots.safetensors", "metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_without_a_folder_the_run_opens_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *SMALL, "--steps", "0"]) == 0
    out, err = capsys.readouterr()
    assert Path(out.splitlines()[0]).name == "copy-1"
    assert err.startswith("posviz: step 0 of 0, loss ")
    rows = posviz.load("run:copy-1")
    assert np.array_equal(rows.weights, posviz.load("run:copy-1@0").weights)


def test_ctrl_c_keeps_the_step_it_falls_in(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "posviz", "train", *SMALL, "--steps", "1000000"]
    process = subprocess.Popen(
        [*command, "-o", str(tmp_path / "run")], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    while "step 10 " not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 130
    last = json.loads((tmp_path / "run/metrics.jsonl").read_text().splitlines()[-1])["step"]
    assert said[-2:] == [
        f"posviz: step {last} is kept in {tmp_path / 'run'}; --resume goes on from there.",
        "posviz: interrupted.",
    ]
    assert last >= 10


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--task", "juggling"), 2, "juggling"),
        (("--steps", "many"), 2, "many"),
        (("--resume",), 2, "--resume goes on with the run in a folder; name it with -o DIR."),
        (("--steps", "-1"), 3, "steps lies between 0 and 1e+09; -1 was given."),
        (("--lag", "16", "--steps", "1"), 3, "lag lies between 0 and 15 in sequences of 16"),
        (("--learning-rate", "nan"), 3, "learning-rate lies between"),
        (("--task", "char-lm", "--text", "absent.txt"), 3, "The text absent.txt cannot be read"),
    ],
)
def test_refusals_say_what_to_do_and_leave_nothing(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["train", *SMALL, *words]) == code
    assert said in capsys.readouterr().err
    assert not list((tmp_path / "runs").glob("*"))


def test_a_folder_that_holds_a_run_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "0", "-o", str(tmp_path)) == 0
    before = (tmp_path / "metrics.jsonl").read_bytes()
    assert train("--steps", "9", "-o", str(tmp_path)) == 3
    assert "which a new run would overwrite" in capsys.readouterr().err
    assert (tmp_path / "metrics.jsonl").read_bytes() == before
