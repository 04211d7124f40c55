"""Fine-tuning the table of other people's models: what moves, what stays, what is kept."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz.errors import ModelError, PosvizError, TrainingError
from posviz.interpolation import extend
from posviz.model.loss import loss_by_position
from posviz.model.measuring import Measured, Order, measure
from posviz.model.memory import sequences_at_once, tuning_memory
from posviz.model.runner import open_model
from posviz.model.texts import sequences
from posviz.model.tuner import Tuner, trainer_of
from posviz.model.tuning import tuning_config, usual_rate
from posviz.model.tuning_worker import WORKER
from posviz.training.engine import train
from posviz.training.finetune import FineTuneConfig, run_name
from posviz.training.jobs import Jobs
from posviz.training.pretrained import TOKENS, PretrainedConfig, config_of
from posviz.training.runs import open_run

CAUSAL = ("gpt2", "openai-gpt", "gpt-neo", "opt")
MASKED = ("bert", "roberta", "distilbert", "electra")
OFFSET = {"opt": 2, "roberta": 2}
Make = Callable[[str], tuple[Path, Any]]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def own_text(tmp_path: Path, text: str) -> str:
    path = tmp_path / "text.txt"
    path.write_text(" ".join([text] * 3))
    return str(path)


def config(folder: Path | str, own_text: str, **settings: Any) -> PretrainedConfig:
    usual = {"steps": 4, "batch_size": 4, "text": own_text, "learning_rate": 0.01}
    made = tuning_config(str(folder), settings.pop("length", 24), **{**usual, **settings})
    assert isinstance(made, PretrainedConfig)
    return made


def tune(out: Path, asked: PretrainedConfig, **options: Any) -> list[float]:
    """Losses of the snapshots."""
    done = train(asked, out, make=trainer_of, **options)
    return [now.metrics["loss"] for now in done if now.metrics]


def weights_of(folder: Path) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    return {n: v.tobytes() for n, v in load_file(folder / "model.safetensors").items()}


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_only_new_rows_move(name: str, folder_of_layout: Make, own_text: str, runs: Path) -> None:
    folder, _ = folder_of_layout(name)
    before = weights_of(folder)
    asked = config(folder, own_text, method="tile", moving="new")
    tuner = Tuner(asked)
    others = [p for n, p in tuner.model.named_parameters() if n != "positions.weight"]
    assert others == []
    tune(runs / "tuned", asked)
    old, new = posviz.load(str(folder)), posviz.load("run:tuned")
    start = extend(old, 24, method="tile").table.weights
    assert new.weights.shape == (24, 12)
    assert new.weights[:16].tobytes() == old.weights.tobytes()
    moved = np.abs(new.weights[16:] - start[16:]).max(axis=1) > 0
    assert moved[:-1].all()  # the last place of a masked model is the closing symbol's
    assert weights_of(folder) == before
    kept = {path.name for path in (runs / "tuned").iterdir()}
    assert kept == {"config.json", "metrics.jsonl", "resume.safetensors", "snapshots.safetensors"}


@pytest.mark.parametrize("name", ["gpt2", "roberta", "opt"])
def test_the_whole_table_moves_and_rows_that_no_position_uses_stay(
    name: str, folder_of_layout: Make, own_text: str, runs: Path
) -> None:
    folder, _ = folder_of_layout(name)
    tune(runs / "tuned", config(folder, own_text, moving="table"))
    old = posviz.load(str(folder))
    start = extend(old, 24).table
    new = posviz.load("run:tuned").weights
    assert (np.abs(new - start.weights).max(axis=1) > 0).all()
    model = open_model("run:tuned")
    stored = model.positions.weight.numpy()
    offset = OFFSET.get(name, 0)
    assert stored[:offset].tobytes() == old.raw[:offset].tobytes()
    assert stored[offset:].tobytes() == new.tobytes()


def test_weight_decay_does_not_reach_frozen_rows(
    folder_of_layout: Make, own_text: str, runs: Path
) -> None:
    folder, _ = folder_of_layout("gpt2")
    tune(runs / "tuned", config(folder, own_text, method="zeros", weight_decay=0.5))
    old, new = posviz.load(str(folder)).raw, posviz.load("run:tuned").raw
    assert new[:16].tobytes() == old.tobytes()


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_the_gradient_is_that_of_transformers_own_loss(
    name: str, folder_of_layout: Make, own_text: str
) -> None:
    """One step on one batch, against the library's model, its own loss and torch's AdamW."""
    folder, network = folder_of_layout(name)
    tuner = Tuner(config(folder, own_text, length=16, method="linear", moving="table"))
    batch = tuner.data.sample(4, torch.Generator().manual_seed(5), False)
    tuner.data = type(tuner.data)(tuner.data.vocabulary, lambda *_: batch)
    network.zero_grad()
    tokens, segments = batch.inputs
    labels = (
        {"labels": tokens, "shift_labels": batch.targets}
        if name == "gpt2"
        else {"labels": batch.targets, "token_type_ids": segments}
    )
    loss = network(input_ids=tokens, **labels).loss
    loss.backward()
    parameter = posviz.load(str(folder)).provenance.parameter
    gradient = dict(network.named_parameters())[parameter].grad
    assert tuner.advance() == pytest.approx(loss.item(), rel=1e-5)
    # Shortened to length 1 at most, then AdamW's first step: the rate times the sign.
    ours = tuner.positions.weight.grad
    shortened = gradient / max(float(gradient.norm()), 1.0)
    torch.testing.assert_close(ours, shortened, rtol=1e-3, atol=1e-5)
    network.zero_grad()


def test_sequences_read_apart_have_the_gradient_of_the_batch(
    folder_of_layout: Make, own_text: str
) -> None:
    folder, _ = folder_of_layout("bert")  # each sequence hides another number of tokens
    gradients = []
    for at_once in (1, 3, 8):
        tuner = Tuner(config(folder, own_text, batch_size=8, moving="table"))
        tuner._at_once = at_once
        batch = tuner.data.sample(8, torch.Generator().manual_seed(1), False)
        loss = tuner.backward(batch)
        gradients.append((loss, tuner.positions.weight.grad))
    for loss, gradient in gradients[1:]:
        assert loss == pytest.approx(gradients[0][0], rel=1e-5)
        torch.testing.assert_close(gradient, gradients[0][1], rtol=1e-4, atol=1e-7)


def test_the_usual_rate_follows_the_size_of_a_usual_row() -> None:
    rows = np.full((9, 4), 0.2, dtype=np.float32)
    assert usual_rate(rows) == 0.01
    rows[0] = 100  # a special first row does not count
    assert usual_rate(rows) == 0.01
    assert usual_rate(rows * -3) == 0.03
    assert usual_rate(rows * 0) > 0


def test_the_output_of_a_large_model_allows_one_sequence() -> None:
    assert sequences_at_once(2048, 50_257) == 1
    assert sequences_at_once(24, 23) > 1000


def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(
    folder_of_layout: Make, own_text: str, runs: Path
) -> None:
    folder, _ = folder_of_layout("roberta")
    asked = config(folder, own_text, method="cubic", steps=8)
    tune(runs / "whole", asked)
    for now in train(asked, runs / "broken", make=trainer_of):
        if now.step == 4:
            break
    again = config_of(open_run("broken").settings)
    assert again == asked
    tune(runs / "broken", again, resume=True)
    whole, broken = open_run("whole"), open_run("broken")
    assert whole.steps == broken.steps == (0, 2, 4, 6, 8)
    for one, two in zip(whole.snapshots(), broken.snapshots(), strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("name", ["gpt2", "roberta"])
def test_the_run_is_a_model_with_its_table_in_place(
    name: str, folder_of_layout: Make, own_text: str, runs: Path, text: str
) -> None:
    folder, _ = folder_of_layout(name)
    losses = tune(runs / "tuned", config(folder, own_text, steps=6))
    table = posviz.load("run:tuned")
    assert posviz.load("run:tuned@0").weights.tobytes() == (
        extend(posviz.load(str(folder)), 24).table.weights.tobytes()
    )
    kept = json.loads((runs / "tuned" / "config.json").read_text())
    assert kept["posviz"]["before"]["n_positions"] == 16
    assert losses[-1] < losses[0]
    tuned, lender = open_model("run:tuned"), open_model(str(folder))
    read = sequences(lender, length=24, count=4, text=text)
    ours = loss_by_position(tuned, read).mean
    assert ours == loss_by_position(lender, read, table.weights).mean
    order = Order(ref="run:tuned", fingerprint=table.fingerprint, length=24, methods=("linear",),
                  count=2, text=text)  # fmt: skip
    found = [one for one in measure(tuned, order) if isinstance(one, Measured)]
    assert [one.method for one in found] == ["", "linear"]


def test_a_run_is_fine_tuned_further(folder_of_layout: Make, own_text: str, runs: Path) -> None:
    folder, _ = folder_of_layout("opt")
    tune(runs / "first", config(folder, own_text))
    further = config("run:first", own_text, length=32, method="clamp")
    assert (further.source, further.lender) == ("run:first", str(folder))
    tune(runs / "second", further)
    second = posviz.load("run:second").weights
    assert second[:24].tobytes() == posviz.load("run:first").weights.tobytes()
    assert open_model("run:second").table.n_positions == 32


def test_the_loss_before_is_that_of_the_model_as_it_was(
    folder_of_layout: Make, own_text: str
) -> None:
    folder, network = folder_of_layout("gpt2")
    tuner = Tuner(config(folder, own_text))
    before = tuner.description()["posviz"]["before"]
    read = tuner._held_out
    tokens, targets = (
        torch.from_numpy(part[:, :16].copy()) for part in (read.tokens, read.targets)
    )
    with torch.no_grad():
        theirs = network(input_ids=tokens, labels=tokens, shift_labels=targets).loss
    assert before == {"n_positions": 16, "loss": pytest.approx(float(theirs), rel=1e-5)}


def test_a_demo_goes_on_with_its_own_task(own_text: str) -> None:
    assert isinstance(tuning_config("demo:gpt-mini", 160), FineTuneConfig)


def test_a_table_that_changed_since_is_refused(folder_of_layout: Make, own_text: str) -> None:
    folder, _ = folder_of_layout("gpt2")
    asked = config(folder, own_text)
    other = PretrainedConfig.from_dict(asked.as_dict() | {"fingerprint": "another"})
    with pytest.raises(ModelError, match="has another position table by now"):
        Tuner(other)


def test_a_model_without_a_head_is_refused(
    folder_of_layout: Make, own_text: str, tmp_path: Path
) -> None:
    from transformers import AutoModel

    folder, _ = folder_of_layout("bert")
    network = AutoModel.from_pretrained(folder)
    network.save_pretrained(tmp_path / "encoder")
    with pytest.raises(ModelError, match="no output head"):
        Tuner(config(tmp_path / "encoder", own_text))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"length": 1}, "length lies between 2 and"),
        ({"length": 2, "source": "bert"}, "no room for text beside the model's special symbols"),
        ({"length": 16, "method": "tile"}, "there is no new row to train"),
        ({"method": "magic"}, "method is one of linear"),
        ({"moving": "all"}, "moving is one of new, table"),
        ({"length": 4000}, "sequences of 4,000 positions need at least 8,002"),
        ({"keep": "99"}, "Rows to keep are positions from 0 to 15"),
    ],
)
def test_what_cannot_be_tuned_is_told(
    settings: dict[str, Any], said: str, folder_of_layout: Make, own_text: str
) -> None:
    folder, _ = folder_of_layout(settings.pop("source", "gpt2"))
    with pytest.raises(PosvizError, match=said):
        Tuner(config(folder, own_text, **settings))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("demo:gpt-mini", "gpt-mini-24"),
        ("run:mine@20", "mine-24"),
        ("hub:openai-community/gpt2", "gpt2-24"),
        ("/models/gpt2", "gpt2-24"),
        ("/models/gpt2/model.safetensors", "gpt2-24"),
        ("/models/größe 1.5", "gr--e-1-5-24"),
        ("/", "model-24"),
    ],
)
def test_a_run_is_called_after_its_model(source: str, name: str) -> None:
    assert run_name(source, 24) == name


def test_a_run_of_another_version_is_refused() -> None:
    with pytest.raises(TrainingError, match="does not know: pace"):
        config_of({"lender": "x", "pace": 1})


@pytest.mark.parametrize("name", ["gpt2", "opt", "bert", "roberta", "distilbert"])
def test_the_fine_tuned_checkpoint_is_taken_home(
    name: str, folder_of_layout: Make, own_text: str, runs: Path, tmp_path: Path, text: str
) -> None:
    import transformers

    from posviz.export.checkpoint import extend_checkpoint

    folder, network = folder_of_layout(name)
    tune(runs / "tuned", config(folder, own_text, method="cubic", moving="table"))
    written = extend_checkpoint("run:tuned", tmp_path / "home", 24)
    table = posviz.load("run:tuned").weights
    assert posviz.load(str(tmp_path / "home")).weights.tobytes() == table.tobytes()
    others = {n: v for n, v in weights_of(tmp_path / "home").items() if "position" not in n}
    before = weights_of(folder)
    assert {n: v for n, v in others.items() if "wpe" not in n} == {
        n: before[n] for n in others if "wpe" not in n
    }
    assert any("24" in line for line in written.changed)
    theirs = type(network).from_pretrained(tmp_path / "home").eval()
    assert isinstance(theirs, transformers.PreTrainedModel)
    read = sequences(open_model(str(folder)), length=24, count=3, text=text)
    tokens = torch.from_numpy(read.tokens)
    labels = torch.from_numpy(read.targets)
    asked = {"labels": labels} if name not in CAUSAL else {"labels": tokens, "shift_labels": labels}
    with torch.no_grad():
        loss = float(theirs(input_ids=tokens, **asked).loss)
    assert loss == pytest.approx(loss_by_position(open_model("run:tuned"), read).mean, rel=1e-5)
    card = (tmp_path / "home" / "README.md").read_text()
    assert "fine-tuned as run:tuned@4" in card
    assert "trained for a while at its new length" in card


def test_a_fine_tuned_table_is_stretched_further_on_its_way_home(
    folder_of_layout: Make, own_text: str, runs: Path, tmp_path: Path
) -> None:
    from posviz.export.checkpoint import extend_checkpoint

    folder, _ = folder_of_layout("roberta")
    tune(runs / "tuned", config(folder, own_text))
    extend_checkpoint("run:tuned@2", tmp_path / "home", 40, method="linear")
    expected = extend(posviz.load("run:tuned@2"), 40).table.weights
    home = posviz.load(str(tmp_path / "home"))
    assert (home.row_offset, home.n_positions) == (2, 40)
    np.testing.assert_allclose(home.weights, expected, rtol=1e-6)


def test_the_inside_page_sees_the_runs_table_in_its_model(
    folder_of_layout: Make, own_text: str, runs: Path
) -> None:
    from posviz.model.opening import open_weights

    folder, _ = folder_of_layout("opt")
    tune(runs / "tuned", config(folder, own_text))
    weights = open_weights("run:tuned")
    assert weights.table.weights.tobytes() == posviz.load("run:tuned").weights.tobytes()
    assert weights.n_heads == 2


@pytest.mark.parametrize(
    ("kind", "width", "layers", "inner", "symbols", "length", "measured"),
    [  # megabytes beyond the process and the weights, at the peak of two steps of random models
        ("gpt2", 256, 4, 1024, 30_000, 1024, 638),
        ("gpt2", 512, 4, 2048, 1000, 1024, 341),
        ("gpt2", 256, 4, 1024, 1000, 4096, 685),
        ("bert", 256, 8, 1024, 1000, 1024, 169),
        ("bert", 256, 4, 1024, 30_000, 1024, 552),
        ("opt", 256, 8, 1024, 1000, 1024, 177),
        ("gpt_neo", 256, 8, 1024, 1000, 1024, 557),
    ],
)
def test_the_memory_that_is_told_is_what_was_measured_or_somewhat_more(
    kind: str, width: int, layers: int, inner: int, symbols: int, length: int, measured: int
) -> None:
    act = {"bert": "gelu", "opt": "relu"}.get(kind, "gelu_new")
    said = {"model_type": kind, "hidden_size": width, "num_hidden_layers": layers,
            "intermediate_size": inner, "vocab_size": symbols, "num_attention_heads": width // 64,
            "activation_function": act}  # fmt: skip
    base = tuning_memory({}, [], length=length)
    read = min(max(TOKENS // length, 1), sequences_at_once(length, symbols))
    told = (tuning_memory(said, [], length=length) - base) / 2**20 / read  # measured for one
    assert 0.95 * measured < told < 1.8 * measured


def test_memory_grows_with_what_is_read_at_once_and_with_the_weights() -> None:
    from posviz.sources import open as open_checkpoint

    with open_checkpoint("demo:gpt-mini") as found:
        config, entries = found.config or {}, found.entries
    one = tuning_memory(config, entries, length=256)
    numbers = sum(int(np.prod(entry.shape)) for entry in entries)
    assert one - tuning_memory(config, [], length=256) == 4 * numbers

    def read(symbols: int, length: int) -> int:
        small = config | {"vocab_size": symbols}
        return tuning_memory(small, [], length=length) - tuning_memory({}, [], length=length)

    # Of a small vocabulary a step reads as many tokens at any length, of a large one a sequence.
    assert read(50, 24) == pytest.approx(read(50, 4096), rel=0.01)
    assert read(50_257, 2048) == 2 * read(50_257, 1024)


def test_a_worker_process_is_stopped_and_goes_on(
    folder_of_layout: Make, own_text: str, runs: Path
) -> None:
    folder, _ = folder_of_layout("gpt2")
    known = Jobs(worker=WORKER)
    long = config(folder, own_text, steps=100_000, method="tile")
    job = known.start("me", long, runs / "tuned")
    deadline = time.monotonic() + 200
    while not job.progress and job.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    known.stop(job)
    assert (job.state, job.message) == ("stopped", None)
    steps = open_run("tuned").steps
    assert steps
    more = config_of(open_run("tuned").settings | {"steps": steps[-1] + 2})
    job = known.start("me", more, runs / "tuned", resume=True)
    while job.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (job.state, job.message) == ("done", None)
    assert open_run("tuned").steps[-1] == steps[-1] + 2
    old, new = posviz.load(str(folder)).raw, posviz.load("run:tuned").raw
    assert new[:16].tobytes() == old.tobytes()
    known.close()


def test_a_worker_says_why_it_cannot(folder_of_layout: Make, own_text: str, runs: Path) -> None:
    folder, _ = folder_of_layout("gpt2")
    known = Jobs(worker=WORKER)
    job = known.start("me", config(folder, own_text, length=4000), runs / "tuned")
    deadline = time.monotonic() + 200
    while job.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "failed"
    assert "sequences of 4,000 positions need at least 8,002" in (job.message or "")
    known.close()


def test_asking_for_a_fine_tuning_loads_no_torch() -> None:
    program = (
        "import sys; from posviz.model.tuning import tuning_config; "
        "tuning_config('Demo:gpt-mini', 160); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
