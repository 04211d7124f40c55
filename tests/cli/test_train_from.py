"""``posviz train --from``: a stretched table is fine-tuned, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import posviz
from posviz.cli import main


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_a_run_of_its_own_holds_the_result(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["train", "--from", "demo:bert-mini", "--length", "80", "--method", "tile"]
    assert main([*ask, "--only", "new", "--steps", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == str(runs / "bert-mini-80-1")
    assert (found["steps"], found["rows_seen"]) == (3, 16)
    table = posviz.load("run:bert-mini-80-1")
    assert table.raw[:64].tobytes() == posviz.load("demo:bert-mini").raw.tobytes()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--from", "demo:bert-mini"], 2, "--from needs --length N"),
        (["--length", "80"], 2, "belong to --from REF"),
        (["--length", "0"], 2, "belong to --from REF"),
        (["--keep", ""], 2, "belong to --from REF"),
        (["--from", "Demo:gpt-mini", "--length", "0"], 3, "n-positions lies between 1 and"),
        (["--from", "demo:bert-mini", "--length", "80", "--d-model", "8", "--task", "copy"], 2,
         "leave out --task, --d-model"),
        (["--from", "demo:bert-mini", "--length", "80", "--resume", "-o", "x"], 2,
         "leave out --resume"),
        (["--from", "gpt2", "--length", "80"], 3, "Of gpt2 only the table has been read"),
        (["--from", "no/such", "--length", "80"], 3, "no/such is no folder of a model"),
        (["--from", "random:8x4", "--length", "80"], 3, "is a table by itself"),
        (["--from", "demo:bert-mini", "--length", "80", "--text", "x"], 2, "leave out --text"),
        (["--keep", "0"], 2, "belong to --from REF"),
        (["--from", "demo:bert-mini", "--length", "60", "--method", "tile"], 3,
         "there is no new row to train"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(
    runs: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    assert main(["train", *options, "--json"]) == code
    text = capsys.readouterr()
    assert text.out == ""
    assert said in text.err
    assert not runs.exists() or not list(runs.iterdir())
