"""The shipped demo models are what their cards and the issue say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.torch import load_file as load_torch

from posviz.training.config import TrainConfig
from posviz.training.demos import DEMOS, FOLDER, HISTORY, card, train_demo
from posviz.training.huggingface import fill, from_config
from posviz.training.loop import Trainer, held_out_loss
from posviz.training.metrics import table_metrics

TABLES = {
    "gpt-mini": "transformer.wpe.weight",
    "bert-mini": "bert.embeddings.position_embeddings.weight",
}
MEGABYTE = 1_000_000
demo = pytest.mark.parametrize("name", DEMOS)


def config_of(name: str) -> dict[str, object]:
    return json.loads((FOLDER / name / "config.json").read_text())


def lines_of(name: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in (FOLDER / name / "metrics.jsonl").read_text().splitlines()]


def table_of(name: str) -> np.ndarray:
    return load_file(FOLDER / name / "model.safetensors")[TABLES[name]]


def model_of(name: str) -> torch.nn.Module:
    model = from_config(config_of(name))
    fill(model, load_torch(FOLDER / name / "model.safetensors"))
    return model


def test_gpt_mini_is_structured() -> None:
    metrics = table_metrics(table_of("gpt-mini"))
    assert table_of("gpt-mini").shape == (128, 64)
    assert metrics["top3_share"] >= 0.85
    assert metrics["adjacent_cosine"] >= 0.85


def test_bert_mini_is_structured() -> None:
    metrics = table_metrics(table_of("bert-mini"))
    assert table_of("bert-mini").shape == (64, 64)
    assert metrics["toeplitz_r2"] >= 0.95
    assert metrics["top2_share"] >= 0.85


@demo
def test_model_and_history_stay_small(name: str) -> None:
    for file in ("model.safetensors", HISTORY):
        assert (FOLDER / name / file).stat().st_size <= MEGABYTE


@demo
def test_the_history_has_a_snapshot_for_each_line(name: str) -> None:
    history = load_file(FOLDER / name / HISTORY)
    assert set(history) == {f"step-{line['step']:06d}" for line in lines_of(name)}
    shape = table_of(name).shape
    assert all(rows.shape == shape and rows.dtype == np.float16 for rows in history.values())


@demo
def test_the_history_ends_in_the_model(name: str) -> None:
    history = load_file(FOLDER / name / HISTORY)
    assert np.array_equal(history[max(history)], table_of(name).astype(np.float16))


@demo
def test_the_history_runs_from_random_to_ordered(name: str) -> None:
    first, last = lines_of(name)[0], lines_of(name)[-1]
    assert first["step"] == 0
    assert first["roughness"] == pytest.approx(2, abs=0.1)  # independent rows
    assert last["roughness"] < 0.2


@demo
def test_the_first_loss_is_that_of_knowing_nothing(name: str) -> None:
    vocabulary = json.loads((FOLDER / name / "vocab.json").read_text())
    assert lines_of(name)[0]["loss"] == pytest.approx(math.log(len(vocabulary)), abs=0.1)


@demo
def test_the_shipped_model_has_the_loss_of_its_last_line(name: str) -> None:
    config = config_of(name)
    data = Trainer(TrainConfig.from_dict(config["posviz"]["training"])).data
    if data.text_sha256 != config["posviz"]["text_sha256"]:
        # Another Python, another text: the vocabulary may differ too, so nothing can be compared.
        pytest.skip("this Python's help topics are not those the demo learned from")
    # Sums in another order, on another processor, change the sixth digit.
    assert held_out_loss(model_of(name), data) == pytest.approx(
        lines_of(name)[-1]["loss"], rel=1e-4
    )


@demo
def test_the_metrics_of_the_last_line_are_those_of_the_table(name: str) -> None:
    last = lines_of(name)[-1]
    for key, value in table_metrics(table_of(name)).items():
        assert last[key] == pytest.approx(value, rel=1e-6), key


@demo
def test_transformers_opens_the_folder_and_agrees(name: str) -> None:
    from transformers import BertForMaskedLM, GPT2LMHeadModel

    kind = GPT2LMHeadModel if name == "gpt-mini" else BertForMaskedLM
    theirs = kind.from_pretrained(FOLDER / name).eval()
    ours = model_of(name)
    rng = torch.Generator().manual_seed(0)
    size = (3, len(table_of(name)))
    tokens = torch.randint(ours.config.vocabulary_size, size, generator=rng)
    segments = torch.randint(2, size, generator=rng)
    inputs = (tokens,) if name == "gpt-mini" else (tokens, segments)
    with torch.no_grad():
        logits = theirs(**dict(zip(("input_ids", "token_type_ids"), inputs, strict=False))).logits
        torch.testing.assert_close(ours(*inputs), logits, atol=1e-4, rtol=0)


def test_bert_mini_fills_in_typed_text() -> None:
    from posviz.training.vocabulary import Vocabulary

    vocabulary = Vocabulary(tuple(json.loads((FOLDER / "bert-mini" / "vocab.json").read_text())))
    tokens, segments = vocabulary.pair("aaaa?aaaa", "kkkk?kkkk")
    tokens = [vocabulary["[MASK]"] if n == vocabulary["[UNK]"] else n for n in tokens]
    with torch.no_grad():
        best = model_of("bert-mini")(torch.tensor([tokens]), torch.tensor([segments])).argmax(-1)[0]
    assert [vocabulary.symbols[best[place]] for place in (5, 15)] == ["a", "k"]


@demo
def test_the_card_tells_the_measured_numbers(name: str) -> None:
    vocabulary = json.loads((FOLDER / name / "vocab.json").read_text())
    written = (FOLDER / name / "README.md").read_text()
    assert f"{lines_of(name)[-1]['top3_share']:.3f}" in written
    made = card(name, lines_of(name), len(vocabulary)).splitlines()
    apart = [line for line in made if line not in written.splitlines()]
    assert all("with Python" in line for line in apart)  # versions of the machine that trained


@demo
def test_the_committed_settings_are_those_of_the_script(name: str) -> None:
    assert config_of(name)["posviz"]["training"] == DEMOS[name].config.as_dict()


@demo
def test_no_symbol_of_the_training_text_is_missing_an_unknown(name: str) -> None:
    vocabulary = json.loads((FOLDER / name / "vocab.json").read_text())
    assert "[UNK]" in vocabulary
    assert sorted(vocabulary.values()) == list(range(config_of(name)["vocab_size"]))


def test_training_a_demo_writes_the_same_folder_twice(
    one_thread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    short = replace(DEMOS["bert-mini"], config=replace(DEMOS["bert-mini"].config, steps=12))
    monkeypatch.setitem(DEMOS, "bert-mini", short)
    for folder in ("once", "again"):
        train_demo("bert-mini", tmp_path / folder)
    once, again = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ("once", "again")
    )
    assert once == again
    assert set(once) == {path.name for path in (FOLDER / "bert-mini").iterdir()}
