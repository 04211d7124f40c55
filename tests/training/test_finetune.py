"""Fine-tuning a stretched table: only what should move moves, and the loss falls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import posviz
from posviz.errors import TrainingError
from posviz.interpolation import METHODS, extend
from posviz.training.config import TrainConfig, default_config
from posviz.training.engine import train
from posviz.training.finetune import FineTuneConfig, fine_tune_config
from posviz.training.finetuner import FineTuner
from posviz.training.jobs import Jobs

Until = Callable[[Callable[[], bool]], None]

TABLES = {
    "gpt2": "transformer.wpe.weight",
    "bert": "bert.embeddings.position_embeddings.weight",
}


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def source(runs: Path) -> Callable[[str], str]:
    """A tiny model that was trained a little, as a reference."""

    def make(task: str = "copy", **settings: object) -> str:
        sizes = {"steps": 20, "n_positions": 16, "d_model": 16, "batch_size": 8, **settings}
        list(train(default_config(task, **sizes), runs / task))
        return f"run:{task}"

    return make


def tuned(source: str, out: Path, length: int = 24, **settings: object) -> list[float]:
    """Losses of a fine-tuning's snapshots."""
    config = fine_tune_config(source, length, **{"steps": 10, "batch_size": 8, **settings})
    return [now.metrics["loss"] for now in train(config, out) if now.metrics]


def weights(folder: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The table of a run, and all other weights."""
    held = load_file(folder / "model.safetensors")
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    return held.pop(TABLES[kind]), held


@pytest.mark.parametrize("method", [key for key, m in METHODS.items() if m.family == "append"])
@pytest.mark.parametrize("task", ["copy", "sticky-mlm"])
def test_only_new_rows_move(task: str, method: str, source: Callable[..., str], runs: Path) -> None:
    ref = source(task)
    tuned(ref, runs / "tuned", method=method, moving="new")
    (old, before), (new, after) = weights(runs / task), weights(runs / "tuned")
    start = extend(posviz.load(ref), 24, method=method).table.raw
    assert new.shape == (24, 16)
    assert new[:16].tobytes() == old.tobytes()
    assert (np.abs(new[16:] - start[16:]).max(axis=1) > 0).all()
    assert {name: rows.tobytes() for name, rows in after.items()} == {
        name: rows.tobytes() for name, rows in before.items()
    }


@pytest.mark.parametrize("method", ["linear", "tile"])
def test_the_whole_table_moves_and_nothing_else(
    method: str, source: Callable[..., str], runs: Path
) -> None:
    ref = source()
    tuned(ref, runs / "tuned", method=method, moving="table")
    (_, before), (new, after) = weights(runs / "copy"), weights(runs / "tuned")
    start = extend(posviz.load(ref), 24, method=method).table.raw
    assert (np.abs(new - start).max(axis=1) > 0).all()
    assert {name: rows.tobytes() for name, rows in after.items()} == {
        name: rows.tobytes() for name, rows in before.items()
    }


def test_rows_that_were_put_back_stay_where_the_rest_was_resampled(
    source: Callable[..., str], runs: Path
) -> None:
    tuned(source(), runs / "tuned", method="cubic", keep="0,last:1", moving="new")
    (old, _), (new, _) = weights(runs / "copy"), weights(runs / "tuned")
    np.testing.assert_array_equal(new[[0, -1]], old[[0, -1]])
    start = extend(posviz.load("run:copy"), 24, method="cubic", keep="0,last:1").table.raw
    assert (np.abs(new - start).max(axis=1) > 0)[1:-1].all()


def test_the_run_opens_and_goes_on_being_a_model(source: Callable[..., str], runs: Path) -> None:
    losses = tuned(source(), runs / "tuned", method="clamp")
    table = posviz.load("run:tuned")
    np.testing.assert_array_equal(table.raw, weights(runs / "tuned")[0])
    first = posviz.load("run:tuned@0")
    expected = extend(posviz.load("run:copy"), 24, method="clamp").table.raw
    np.testing.assert_array_equal(first.raw, expected)
    kept = (runs / "tuned" / "metrics.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in kept]
    assert [line["loss"] for line in lines] == losses
    config = json.loads((runs / "tuned" / "config.json").read_text())
    assert config["n_positions"] == 24
    assert config["posviz"]["training"]["source"] == "run:copy"
    assert isinstance(TrainConfig.from_dict(config["posviz"]["training"]), FineTuneConfig)
    tuned("run:tuned", runs / "again", length=32)
    assert posviz.load("run:again").n_positions == 32


def test_a_fine_tuning_that_was_broken_off_goes_on_to_the_same_bits(
    source: Callable[..., str], runs: Path
) -> None:
    ref = source()
    tuned(ref, runs / "whole", method="zeros", steps=20)
    config = fine_tune_config(ref, 24, method="zeros", steps=20, batch_size=8)
    for now in train(config, runs / "broken"):
        if now.step == 10:
            break
    list(train(config, runs / "broken", resume=True))
    (one, _), (two, _) = weights(runs / "whole"), weights(runs / "broken")
    assert one.tobytes() == two.tobytes()


def test_a_resampled_start_ends_lower_than_zeros(runs: Path) -> None:
    """The finding on a shipped demo at twice its length, 60 steps on the table alone."""
    ends = {}
    for method in ("linear", "zeros"):
        losses = tuned("demo:bert-mini", runs / method, length=128, steps=60, batch_size=16,
                       method=method, moving="table")  # fmt: skip
        assert losses[-1] < losses[0]
        ends[method] = losses[-1]
    assert ends["linear"] < ends["zeros"] - 0.2


def test_a_worker_process_fine_tunes(until: Until, source: Callable[..., str], runs: Path) -> None:
    known = Jobs()
    config = fine_tune_config(source(), 24, steps=10, batch_size=8, method="tile")
    job = known.start("me", config, runs / "tuned")
    until(lambda: not job.alive)
    assert (job.state, job.message) == ("done", None)
    old, new = weights(runs / "copy")[0], weights(runs / "tuned")[0]
    assert new[:16].tobytes() == old.tobytes()
    known.close()


def test_texts_are_read_in_the_models_own_numbers(source: Callable[..., str], runs: Path) -> None:
    text = runs.parent / "text.txt"
    text.write_text("abcab " * 60)
    ref = source("char-lm", text=str(text))
    vocabulary = json.loads((runs / "char-lm" / "vocab.json").read_text())
    text.write_text("abzab " * 60)  # c is gone, z is new
    tuner = FineTuner(fine_tune_config(ref, 24, batch_size=4))
    batch = tuner.data.sample(3, torch.Generator().manual_seed(0), False)
    names = {number: symbol for symbol, number in vocabulary.items()}
    read = {"".join(names[n] for n in row) for row in batch.inputs[0].tolist()}
    assert all(row.replace("[UNK]", "z") in "abzab " * 60 for row in read)
    assert not any("c" in row for row in read)
    assert any("[UNK]" in row for row in read)


@pytest.mark.parametrize(
    ("source", "settings", "said"),
    [
        ("demo:none", {}, "holds no model of posviz"),
        ("demo:../demos/gpt-mini", {}, "holds no model of posviz"),
        ("run:none", {}, "There is no run none"),
        ("run:mine@3", {}, "is the table of an earlier step"),
        ("demo:gpt-mini", {"method": "magic"}, "method is one of linear, cubic"),
        ("demo:gpt-mini", {"moving": "all"}, "moving is one of new, table"),
        ("demo:gpt-mini", {"keep": "9999"}, "Rows to keep are positions from 0 to 127"),
        ("demo:gpt-mini", {"length": 64, "method": "tile"}, "there is no new row to train"),
        ("demo:gpt-mini", {"length": 1}, "sequence-length lies between"),
    ],
)
def test_what_cannot_be_fine_tuned_is_told(
    source: str, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(TrainingError, match=said):
        FineTuner(fine_tune_config(source, **{"length": 192, **settings}))


def test_a_model_without_a_learned_table_is_refused(source: Callable[..., str]) -> None:
    ref = source("copy", table="sinusoidal")
    with pytest.raises(TrainingError, match="was trained with a table that is sinusoidal"):
        fine_tune_config(ref, 24)
