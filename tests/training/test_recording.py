"""Run folders survive whatever happens to their writer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from posviz.errors import NoTableError, TrainingError
from posviz.runfolder import METRICS, SNAPSHOTS, runs_folder
from posviz.training.recording import Recording, json_bytes, write_whole
from posviz.training.runs import list_runs, open_run

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def recorded(folder: Path, *steps: int) -> Recording:
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording(folder)
    for step in steps:
        recording.add(ROWS + step, {"step": step, "loss": 1 / (step + 1)})
    return recording


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10, 123)
    run = open_run(tmp_path)
    assert run.steps == (0, 10, 123)
    assert [line["loss"] for line in run.metrics] == [1, 1 / 11, 1 / 124]
    assert np.array_equal(run.snapshot(10), ROWS + 10)
    assert np.array_equal(run.snapshot(), ROWS + 123)


def test_the_files_are_those_of_the_contract(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 123)
    tensors = load_file(tmp_path / SNAPSHOTS)
    assert set(tensors) == {"step-000000", "step-000123"}
    assert tensors["step-000123"].dtype == np.float32
    lines = (tmp_path / METRICS).read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 123]


def test_nothing_but_finished_files_is_left(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    assert {path.name for path in tmp_path.iterdir()} == {METRICS, SNAPSHOTS}


def test_a_kill_between_the_two_files_hides_the_newest_snapshot(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    metrics = (tmp_path / METRICS).read_bytes()
    recorded(tmp_path, 0, 10, 20)
    write_whole(tmp_path / METRICS, metrics)
    assert open_run(tmp_path).steps == (0, 10)


def test_a_line_without_its_snapshot_is_hidden(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    snapshots = (tmp_path / SNAPSHOTS).read_bytes()
    recorded(tmp_path, 0, 10, 20)
    write_whole(tmp_path / SNAPSHOTS, snapshots)
    assert open_run(tmp_path).steps == (0, 10)


def test_a_line_that_is_not_whole_ends_the_list(tmp_path: Path) -> None:
    """Our writer never leaves one; a copy that was cut short may."""
    recorded(tmp_path, 0, 10)
    whole = (tmp_path / METRICS).read_bytes()
    (tmp_path / METRICS).write_bytes(whole[:-9])
    assert open_run(tmp_path).steps == (0,)


@pytest.mark.parametrize("kept", [0, 5, 200])
def test_damaged_snapshots_leave_a_run_without_any(kept: int, tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    (tmp_path / SNAPSHOTS).write_bytes((tmp_path / SNAPSHOTS).read_bytes()[:kept])
    run = open_run(tmp_path)
    assert run.steps == ()
    with pytest.raises(TrainingError, match="has no snapshot yet"):
        run.table()


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path) -> None:
    """A real refusal by the system: the process may write no file beyond 20 kB."""
    code = f"""
import resource, signal, numpy as np
from pathlib import Path
from posviz.errors import TrainingError
from posviz.training.recording import Recording
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
recording = Recording(Path({str(tmp_path)!r}))
try:
    for step in range(100):
        recording.add(np.ones((16, 16), np.float32), {{"step": step, "loss": 1.0}})
except TrainingError as err:
    print(err)
"""
    pytest.importorskip("resource", reason="only POSIX limits the length of files")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == (
        f"{tmp_path / SNAPSHOTS} cannot be written (File too large). What was saved before is "
        f"kept; make room or choose another folder, and resume.\n"
    )
    assert {path.name for path in tmp_path.iterdir()} == {METRICS, SNAPSHOTS}
    steps = open_run(tmp_path).steps
    assert steps == tuple(range(len(steps)))
    assert len(steps) > 10


def test_json_is_strict() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"loss": float("nan")})


def test_a_run_is_a_table_with_its_step(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    table = open_run(tmp_path).table(10)
    assert np.array_equal(table.weights, ROWS + 10)
    assert table.kind == "learned"
    assert table.provenance.ref == f"run:{tmp_path}@10"
    assert table.provenance.parameter == "step-000010"
    assert table.provenance.revision == "10"


def test_a_step_without_a_snapshot_is_answered_with_the_nearest(tmp_path: Path) -> None:
    recorded(tmp_path, 0, 10)
    with pytest.raises(TrainingError) as refused:
        open_run(tmp_path).table(8)
    assert str(refused.value) == (
        f"run:{tmp_path} has no snapshot of step 8; the nearest of its 2 is at step 10. "
        f"Open run:{tmp_path}@10."
    )


def test_a_run_without_positions_has_no_table(tmp_path: Path) -> None:
    recorded(tmp_path, 0)
    write_whole(tmp_path / "config.json", b'{"posviz": {"training": {"table": "none"}}}')
    with pytest.raises(NoTableError) as refused:
        open_run(tmp_path).table()
    assert refused.value.scheme == "none"


def test_runs_are_found_by_name_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path))
    recorded(tmp_path / "older", 0)
    recorded(tmp_path / "newer", 0, 10)
    (tmp_path / "holiday").mkdir()
    (tmp_path / "note.txt").write_text("not a run")
    os.utime(tmp_path / "older", (1, 1))
    assert [run.name for run in list_runs()] == ["newer", "older"]
    assert open_run("newer").table().provenance.ref == "run:newer@10"
    assert open_run(tmp_path / "newer").name == "newer"
    with pytest.raises(TrainingError) as refused:
        open_run("lost")
    assert str(refused.value) == (
        f"There is no run lost. The newest in {tmp_path}: newer, older. Name one, or train one."
    )
    with pytest.raises(TrainingError, match="is not a training run"):
        open_run("holiday")


def test_no_runs_yet_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "absent"))
    assert list_runs() == ()
    with pytest.raises(TrainingError, match="none yet"):
        open_run("mine")


def test_the_runs_folder_is_the_users_own_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSVIZ_RUNS", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setattr(sys, "platform", "linux")
    assert runs_folder() == Path("/data/posviz/runs")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert runs_folder() == Path("/home/somebody/Library/Application Support/posviz/runs")
