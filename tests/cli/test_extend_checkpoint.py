"""``posviz extend -o FOLDER``: a whole checkpoint, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import posviz
from posviz.cli import main


def test_a_folder_gets_the_whole_checkpoint_and_the_json_lists_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bert-mini-128"
    assert main(["extend", "demo:bert-mini", "--length", "128", "-o", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == str(out)
    assert found["changed"] == [
        "model.safetensors: bert.embeddings.position_embeddings.weight from 64 × 64 to 128 × 64",
        "config.json: max_position_embeddings from 64 to 128",
    ]
    assert [line.split()[0] for line in found["left_out"]] == [
        "history.safetensors", "metrics.jsonl",
    ]  # fmt: skip
    assert posviz.load(str(out)).n_positions == 128


def test_the_text_lists_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new"
    assert main(["extend", "demo:gpt-mini", "--length", "256", "-o", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index(f"written to {out}") + 2] == (
        "  config.json: n_positions from 128 to 256"
    )


def test_a_table_has_no_list_of_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new.npy"
    assert main(["extend", "demo:gpt-mini", "--length", "9", "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []


@pytest.mark.parametrize(
    ("ref", "out", "code", "said"),
    [
        ("demo:gpt-mini", "full", 2, "is not empty"),
        ("demo:gpt-mini", "new.bin", 2, "ends in .safetensors or .npy, not in .bin"),
        ("demo:gpt-mini", "absent/new", 2, "does not exist"),
        ("random:16x8", "new", 3, "is a table without a model"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ref: str, out: str, code: int, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert main(["extend", ref, "--length", "24", "-o", str(tmp_path / out), "--json"]) == code
    text = capsys.readouterr()
    assert text.out == ""
    assert said in text.err
    assert text.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_source_folder_is_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = tmp_path / "first"
    assert main(["extend", "demo:gpt-mini", "--length", "64", "-o", str(first)]) == 0
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    assert main(["extend", str(first), "--length", "32", "-o", str(first)]) == 2
    assert "is the checkpoint that is read" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in first.iterdir()} == before
