"""Fine-tuning the table of other people's models: what moves, what stays, what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz.errors import ModelError, PosvizError
from posviz.interpolation import extend
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.measuring import Measured, Order, measure
from posviz.model.texts import sequences
from posviz.model.tuner import Tuner, trainer_of
from posviz.training.engine import train
from posviz.training.pretrained import PretrainedConfig, config_of
from posviz.training.runs import open_run

CAUSAL = ("gpt2", "openai-gpt", "gpt-neo", "opt")
MASKED = ("bert", "roberta", "distilbert", "electra")
OFFSET = {"opt": 2, "roberta": 2}
Make = Callable[[str], tuple[Path, Any]]
Asked = Callable[..., PretrainedConfig]
Tune = Callable[..., list[float]]
Weights = Callable[[Path], dict[str, bytes]]


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_only_new_rows_move(
    folder_of_layout: Make, asked_of: Asked, tune: Tune, weights_of: Weights, name: str, runs: Path
) -> None:
    folder, _ = folder_of_layout(name)
    before = weights_of(folder)
    asked = asked_of(folder, method="tile", moving="new")
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
    folder_of_layout: Make, asked_of: Asked, tune: Tune, name: str, runs: Path
) -> None:
    folder, _ = folder_of_layout(name)
    tune(runs / "tuned", asked_of(folder, moving="table"))
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
    folder_of_layout: Make, asked_of: Asked, tune: Tune, runs: Path
) -> None:
    folder, _ = folder_of_layout("gpt2")
    tune(runs / "tuned", asked_of(folder, method="zeros", weight_decay=0.5))
    old, new = posviz.load(str(folder)).raw, posviz.load("run:tuned").raw
    assert new[:16].tobytes() == old.tobytes()


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_the_gradient_is_that_of_transformers_own_loss(
    folder_of_layout: Make, asked_of: Asked, name: str
) -> None:
    """One step on one batch, against the library's model, its own loss and torch's AdamW."""
    folder, network = folder_of_layout(name)
    tuner = Tuner(asked_of(folder, length=16, method="linear", moving="table"))
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
    folder_of_layout: Make, asked_of: Asked
) -> None:
    folder, _ = folder_of_layout("bert")  # each sequence hides another number of tokens
    gradients = []
    for at_once in (1, 3, 8):
        tuner = Tuner(asked_of(folder, batch_size=8, moving="table"))
        tuner._at_once = at_once
        batch = tuner.data.sample(8, torch.Generator().manual_seed(1), False)
        loss = tuner.backward(batch)
        gradients.append((loss, tuner.positions.weight.grad))
    for loss, gradient in gradients[1:]:
        assert loss == pytest.approx(gradients[0][0], rel=1e-5)
        torch.testing.assert_close(gradient, gradients[0][1], rtol=1e-4, atol=1e-7)


def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(
    folder_of_layout: Make, asked_of: Asked, tune: Tune, runs: Path
) -> None:
    folder, _ = folder_of_layout("roberta")
    asked = asked_of(folder, method="cubic", steps=8)
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
    folder_of_layout: Make, asked_of: Asked, tune: Tune, name: str, runs: Path, text: str
) -> None:
    folder, _ = folder_of_layout(name)
    losses = tune(runs / "tuned", asked_of(folder, steps=6))
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


def test_a_run_is_fine_tuned_further(
    folder_of_layout: Make, asked_of: Asked, tune: Tune, runs: Path
) -> None:
    folder, _ = folder_of_layout("opt")
    tune(runs / "first", asked_of(folder))
    further = asked_of("run:first", length=32, method="clamp")
    assert (further.source, further.lender) == ("run:first", str(folder))
    tune(runs / "second", further)
    second = posviz.load("run:second").weights
    assert second[:24].tobytes() == posviz.load("run:first").weights.tobytes()
    assert open_model("run:second").table.n_positions == 32


def test_the_loss_before_is_that_of_the_model_as_it_was(
    folder_of_layout: Make, asked_of: Asked
) -> None:
    folder, network = folder_of_layout("gpt2")
    tuner = Tuner(asked_of(folder))
    before = tuner.description()["posviz"]["before"]
    read = tuner._held_out
    tokens, targets = (
        torch.from_numpy(part[:, :16].copy()) for part in (read.tokens, read.targets)
    )
    with torch.no_grad():
        theirs = network(input_ids=tokens, labels=tokens, shift_labels=targets).loss
    assert before == {"n_positions": 16, "loss": pytest.approx(float(theirs), rel=1e-5)}


def test_a_table_that_changed_since_is_refused(folder_of_layout: Make, asked_of: Asked) -> None:
    folder, _ = folder_of_layout("gpt2")
    asked = asked_of(folder)
    other = PretrainedConfig.from_dict(asked.as_dict() | {"fingerprint": "another"})
    with pytest.raises(ModelError, match="has another position table by now"):
        Tuner(other)


def test_a_model_without_a_head_is_refused(
    folder_of_layout: Make, asked_of: Asked, tmp_path: Path
) -> None:
    from transformers import AutoModel

    folder, _ = folder_of_layout("bert")
    network = AutoModel.from_pretrained(folder)
    network.save_pretrained(tmp_path / "encoder")
    with pytest.raises(ModelError, match="no output head"):
        Tuner(asked_of(tmp_path / "encoder"))


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
    folder_of_layout: Make, asked_of: Asked, settings: dict[str, Any], said: str
) -> None:
    folder, _ = folder_of_layout(settings.pop("source", "gpt2"))
    with pytest.raises(PosvizError, match=said):
        Tuner(asked_of(folder, **settings))


def test_the_inside_page_sees_the_runs_table_in_its_model(
    folder_of_layout: Make, asked_of: Asked, tune: Tune, runs: Path
) -> None:
    from posviz.model.opening import open_weights

    folder, _ = folder_of_layout("opt")
    tune(runs / "tuned", asked_of(folder))
    weights = open_weights("run:tuned")
    assert weights.table.weights.tobytes() == posviz.load("run:tuned").weights.tobytes()
    assert weights.n_heads == 2


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_a_step_says_which_sequences_it_reads(
    at_once: int, folder_of_layout: Make, asked_of: Asked
) -> None:
    trainer = Tuner(asked_of(folder_of_layout("gpt2")[0]))
    trainer._at_once = at_once
    heard: list[dict[str, Any]] = []
    trainer.reading = lambda **told: heard.append(told)
    trainer.advance()
    read = [number for told in heard for number in range(told["first"], told["last"] + 1)]
    assert read == [1, 2, 3, 4]
    assert {(told["step"], told["measures"], told["of"]) for told in heard} == {(1, False, 4)}
    assert max(told["last"] - told["first"] + 1 for told in heard) == min(at_once, 4)
    heard.clear()
    trainer.held_out()
    assert {(told["step"], told["measures"]) for told in heard} == {(1, True)}
    assert heard[-1]["last"] == heard[-1]["of"]
