"""Ctrl-C while a step takes long: the process ends all the same, and says what is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from posviz.cli.train import _stoppable
with _stoppable(Path(sys.argv[1])) as stop:
    assert not stop()
    os.kill(os.getpid(), signal.SIGINT)
    assert stop()
    time.sleep(600)  # as one call into torch does
"""


@pytest.mark.parametrize("kept", [True, False])
def test_a_step_that_takes_longer_than_a_stop_is_left(kept: bool, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    if kept:
        (out / "metrics.jsonl").touch()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(out)], capture_output=True, text=True, timeout=300,
        cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert ("--resume goes on from there" in done.stderr) is kept
    assert out.exists() is kept
