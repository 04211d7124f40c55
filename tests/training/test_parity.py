"""Our models against transformers' own, on random weights and through files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from posviz.training.bert import BERT, BERTConfig
from posviz.training.gpt import GPT, GPTConfig
from posviz.training.huggingface import fill, from_config, to_config, to_tensors
from posviz.training.positions import TABLE_KINDS
from posviz.training.vocabulary import Vocabulary

CAUSAL, MASKED = Vocabulary.causal("abcdefgh"), Vocabulary.masked("abcdefgh")


def random_model(architecture: str, table: str = "learned") -> GPT | BERT:
    """A model whose every parameter, gains and biases too, is random: a swap would show."""
    torch.manual_seed(3)
    sizes = {"n_positions": 12, "d_model": 16, "n_layers": 3, "n_heads": 2, "table": table}
    model = (
        GPT(GPTConfig(len(CAUSAL), **sizes))
        if architecture == "gpt"
        else BERT(BERTConfig(len(MASKED), **sizes))
    )
    for name, weight in model.named_parameters():
        if name != "positions.weight" or table == "learned":
            torch.nn.init.normal_(weight, std=0.3)
    return model


def vocabulary_of(model: GPT | BERT) -> Vocabulary:
    return CAUSAL if isinstance(model, GPT) else MASKED


def inputs_of(model: GPT | BERT) -> tuple[torch.Tensor, ...]:
    rng = torch.Generator().manual_seed(5)
    tokens = torch.randint(len(vocabulary_of(model)), (2, 12), generator=rng)
    if isinstance(model, GPT):
        return (tokens,)
    return (tokens, torch.randint(2, (2, 12), generator=rng))


def theirs(folder: Path, model: GPT | BERT) -> torch.nn.Module:
    from transformers import BertForMaskedLM, GPT2LMHeadModel

    kind = GPT2LMHeadModel if isinstance(model, GPT) else BertForMaskedLM
    opened, report = kind.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    return opened.eval()


@pytest.mark.parametrize("table", TABLE_KINDS)
@pytest.mark.parametrize("architecture", ["gpt", "bert"])
def test_transformers_opens_the_files_and_agrees(
    architecture: str, table: str, tmp_path: Path
) -> None:
    model = random_model(architecture, table)
    config = to_config(model, vocabulary_of(model))
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file(to_tensors(model), tmp_path / "model.safetensors", metadata={"format": "pt"})
    inputs = inputs_of(model)
    with torch.no_grad():
        ours = model(*inputs)
        names = ("input_ids", "token_type_ids")
        other = theirs(tmp_path, model)(**dict(zip(names, inputs, strict=False))).logits
    # Logits reach several units here; float32 sums in another order differ in the sixth digit.
    torch.testing.assert_close(ours, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["gpt", "bert"])
def test_a_model_comes_back_from_its_own_tensors(architecture: str) -> None:
    model = random_model(architecture)
    again = from_config(to_config(model, vocabulary_of(model)))
    fill(again, to_tensors(model))
    inputs = inputs_of(model)
    assert torch.equal(model(*inputs), again(*inputs))


def test_a_model_of_another_family_is_refused() -> None:
    with pytest.raises(KeyError, match="model_type"):
        from_config({"model_type": "llama"})
