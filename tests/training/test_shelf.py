"""Runs are named, renamed, deleted and taken home, and nothing else is touched."""

from __future__ import annotations

import errno
import io
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from posviz.errors import TrainingError
from posviz.training.config import TrainConfig, default_config
from posviz.training.engine import train
from posviz.training.recording import Recording, write_whole
from posviz.training.runs import Run, list_runs, open_run
from posviz.training.shelf import delete_run, new_run_folder, rename_run, zip_run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def made(folder: Path) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    Recording(folder).add(np.ones((4, 3), np.float32), {"step": 0, "loss": 1.0})
    write_whole(folder / "resume.safetensors", b"state")
    return open_run(folder)


def test_new_runs_count_up() -> None:
    assert [new_run_folder("copy").name for _ in range(3)] == ["copy-1", "copy-2", "copy-3"]


def test_a_renamed_run_finds_its_own_text_again(home: Path) -> None:
    text = home / "letters" / "text.txt"
    text.parent.mkdir(parents=True)
    text.write_text("a quick brown fox jumps over the lazy dog. " * 9)
    config = default_config(
        "char-lm", steps=2, n_positions=8, d_model=8, batch_size=2, text=str(text)
    )
    for _ in train(config, text.parent):
        pass
    rename_run(open_run("letters"), "poem")
    settings = open_run("poem").settings
    assert settings["text"] == str(home / "poem" / "text.txt")
    longer = TrainConfig.from_dict({**settings, "steps": 4})
    assert [now.step for now in train(longer, home / "poem", resume=True)][-1] == 4


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", ".hidden", "a@3", "x" * 65, "a b"])
def test_names_that_could_lead_elsewhere_are_refused(name: str, home: Path) -> None:
    run = made(home / "mine")
    with pytest.raises(TrainingError, match="up to 64 letters, digits, dots, hyphens"):
        rename_run(run, name)
    assert open_run("mine").steps == (0,)


def test_a_renamed_run_is_found_by_its_new_name_alone(home: Path) -> None:
    rename_run(made(home / "old"), "new")
    assert [run.name for run in list_runs()] == ["new"]


def test_a_name_that_is_taken_is_refused(home: Path) -> None:
    made(home / "taken")
    with pytest.raises(TrainingError, match="There is a run taken already"):
        rename_run(made(home / "mine"), "taken")


def test_a_deleted_run_is_gone_and_the_others_stay(home: Path) -> None:
    made(home / "kept")
    delete_run(made(home / "gone"))
    assert [run.name for run in list_runs()] == ["kept"]


def test_a_run_elsewhere_is_never_moved_or_removed(tmp_path: Path) -> None:
    run = made(tmp_path / "elsewhere")
    for change in (delete_run, lambda run: rename_run(run, "mine")):
        with pytest.raises(TrainingError, match="does not lie in the runs folder"):
            change(run)
    assert open_run(tmp_path / "elsewhere").steps == (0,)


def test_a_zip_holds_a_run_that_opens(home: Path, tmp_path: Path) -> None:
    packed = zip_run(made(home / "mine"))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path)
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "metrics.jsonl",
        "snapshots.safetensors",
    }
    assert np.array_equal(open_run(tmp_path / "mine").snapshot(), np.ones((4, 3)))


def test_a_run_that_was_deleted_elsewhere_is_told_and_nothing_breaks(home: Path) -> None:
    run = made(home / "mine")
    delete_run(open_run("mine"))
    delete_run(run)  # the other tab was quicker: it is gone, as asked for
    with pytest.raises(TrainingError) as refused:
        rename_run(run, "other")
    assert str(refused.value) == "The run mine is gone: it was deleted or renamed meanwhile."
    assert zipfile.ZipFile(io.BytesIO(zip_run(run))).namelist() == []
    assert (run.length, run.changed) == (0, 0.0)


@pytest.mark.parametrize("lost", ["snapshots.safetensors", "metrics.jsonl"])
def test_a_run_that_lost_half_its_files_is_not_listed_with_snapshots(home: Path, lost: str) -> None:
    made(home / "whole")
    made(home / "half")
    (home / "half" / lost).unlink()
    assert [run.name for run in list_runs() if run.steps] == ["whole"]


def test_a_zip_taken_while_the_run_is_written_holds_whole_files(home: Path, tmp_path: Path) -> None:
    folder = home / "live"
    folder.mkdir(parents=True)
    recording, ended = Recording(folder), threading.Event()
    recording.add(np.zeros((4, 3), np.float32), {"step": 0, "loss": 1.0})

    def go_on() -> None:
        for step in range(1, 150):
            recording.add(np.full((4, 3), step, np.float32), {"step": step, "loss": 1.0})
        ended.set()

    threading.Thread(target=go_on).start()
    taken = 0
    while not ended.is_set() or not taken:
        zipfile.ZipFile(io.BytesIO(zip_run(open_run("live")))).extractall(tmp_path / str(taken))
        run = open_run(tmp_path / str(taken) / "live")
        assert [float(rows[0, 0]) for rows in run.snapshots()] == list(run.steps)
        assert open_run("live").length > 0, "files come and go while they are counted"
        taken += 1


def test_a_full_disk_ends_a_run_in_words_and_what_was_saved_opens(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, room = Path.write_bytes, [12]

    def limited(path: Path, content: bytes) -> int:
        room[0] -= 1
        if room[0] < 0:
            write(path, content[: len(content) // 2])  # as a disk does: half of it is there
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", limited)
    config = default_config("copy", steps=60, n_positions=8, d_model=8, batch_size=2)
    with pytest.raises(TrainingError, match="No space left on device"):
        for _ in train(config, home / "mine"):
            pass
    run = open_run("mine")
    assert len(run.snapshots()) == len(run.steps) >= 2
    assert not [path.name for path in run.folder.iterdir() if path.name.startswith(".")]
    monkeypatch.undo()
    monkeypatch.setenv("POSVIZ_RUNS", str(home))
    for _ in train(config, home / "mine", resume=True):
        pass
    assert open_run("mine").finished
