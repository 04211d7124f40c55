"""Names and shapes under which transformers keeps these models; they stop at this file.

A folder with ``config.json`` and ``model.safetensors`` as made here opens with
``GPT2LMHeadModel.from_pretrained`` or ``BertForMaskedLM.from_pretrained``, with equal outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from posviz.training.bert import BERT, EPSILON, BERTConfig
from posviz.training.gpt import GPT, GPTConfig
from posviz.training.vocabulary import CLASS, MASK, PADDING, SEPARATOR, UNKNOWN, Vocabulary

# Ours to theirs; {n} is the number of a block. A name in _CONV1D is stored the other way round,
# (in, out), because GPT-2 was written with 1-wide convolutions.
_GPT_NAMES = {
    "tokens.weight": "transformer.wte.weight",
    "positions.weight": "transformer.wpe.weight",
    "norm": "transformer.ln_f",
    "blocks.{n}.norm_1": "transformer.h.{n}.ln_1",
    "blocks.{n}.attention.qkv": "transformer.h.{n}.attn.c_attn",
    "blocks.{n}.attention.out": "transformer.h.{n}.attn.c_proj",
    "blocks.{n}.norm_2": "transformer.h.{n}.ln_2",
    "blocks.{n}.widen": "transformer.h.{n}.mlp.c_fc",
    "blocks.{n}.narrow": "transformer.h.{n}.mlp.c_proj",
}
_CONV1D = ("qkv.weight", "out.weight", "widen.weight", "narrow.weight")
_BERT_NAMES = {
    "tokens.weight": "bert.embeddings.word_embeddings.weight",
    "positions.weight": "bert.embeddings.position_embeddings.weight",
    "segments.weight": "bert.embeddings.token_type_embeddings.weight",
    "norm": "bert.embeddings.LayerNorm",
    "blocks.{n}.attention.query": "bert.encoder.layer.{n}.attention.self.query",
    "blocks.{n}.attention.key": "bert.encoder.layer.{n}.attention.self.key",
    "blocks.{n}.attention.value": "bert.encoder.layer.{n}.attention.self.value",
    "blocks.{n}.attention.out": "bert.encoder.layer.{n}.attention.output.dense",
    "blocks.{n}.norm_1": "bert.encoder.layer.{n}.attention.output.LayerNorm",
    "blocks.{n}.widen": "bert.encoder.layer.{n}.intermediate.dense",
    "blocks.{n}.narrow": "bert.encoder.layer.{n}.output.dense",
    "blocks.{n}.norm_2": "bert.encoder.layer.{n}.output.LayerNorm",
    "output": "cls.predictions.transform.dense",
    "output_norm": "cls.predictions.transform.LayerNorm",
    "output_bias": "cls.predictions.bias",
}


def stored_name(model: GPT | BERT, name: str) -> str:
    """The name in the file of one of our parameters, given by its full dotted name."""
    names = _GPT_NAMES if isinstance(model, GPT) else _BERT_NAMES
    block = next((part for part in name.split(".") if part.isdigit()), None)
    general = name if block is None else name.replace(f".{block}.", ".{n}.", 1)
    if general in names:
        return names[general]
    stem, _, leaf = general.rpartition(".")
    return f"{names[stem]}.{leaf}".replace("{n}", str(block))


def to_tensors(model: GPT | BERT) -> dict[str, Tensor]:
    """Every weight under its stored name; a tied output table is stored once, as theirs is."""
    causal = isinstance(model, GPT)
    return {
        stored_name(model, name): (
            weight.detach().t() if causal and name.endswith(_CONV1D) else weight.detach()
        ).contiguous()
        for name, weight in model.named_parameters()
    }


def fill(model: GPT | BERT, tensors: Mapping[str, Tensor]) -> None:
    """Put stored weights into a model of the same sizes, the inverse of :func:`to_tensors`.

    Raises
    ------
    KeyError
        A weight of the model is not among the tensors.
    """
    causal = isinstance(model, GPT)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            stored = tensors[stored_name(model, name)]
            weight.copy_(stored.t() if causal and name.endswith(_CONV1D) else stored)


def to_config(model: GPT | BERT, vocabulary: Vocabulary) -> dict[str, Any]:
    """What transformers needs to build the same model: the content of ``config.json``."""
    config = model.config
    common = {
        "vocab_size": config.vocabulary_size,
        "initializer_range": config.weight_scale,
        "unk_token_id": vocabulary[UNKNOWN],
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    if isinstance(model, GPT):
        return {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_positions": config.n_positions,
            "n_embd": config.d_model,
            "n_layer": config.n_layers,
            "n_head": config.n_heads,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5,
            # These models were trained without dropout and without begin or end symbols.
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "bos_token_id": None,
            "eos_token_id": None,
            **common,
        }
    return {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "max_position_embeddings": config.n_positions,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": 4 * config.d_model,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": EPSILON,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": vocabulary[PADDING],
        "cls_token_id": vocabulary[CLASS],
        "sep_token_id": vocabulary[SEPARATOR],
        "mask_token_id": vocabulary[MASK],
        **common,
    }


def from_config(config: Mapping[str, Any]) -> GPT | BERT:
    """A model of the sizes in a ``config.json`` made by :func:`to_config`, weights not yet filled.

    Raises
    ------
    KeyError
        An entry is missing, or ``model_type`` is neither ``gpt2`` nor ``bert``.
    """
    if config["model_type"] == "gpt2":
        return GPT(
            GPTConfig(
                vocabulary_size=config["vocab_size"],
                n_positions=config["n_positions"],
                d_model=config["n_embd"],
                n_layers=config["n_layer"],
                n_heads=config["n_head"],
            )
        )
    if config["model_type"] == "bert":
        return BERT(
            BERTConfig(
                vocabulary_size=config["vocab_size"],
                n_positions=config["max_position_embeddings"],
                d_model=config["hidden_size"],
                n_layers=config["num_hidden_layers"],
                n_heads=config["num_attention_heads"],
            )
        )
    raise KeyError("model_type")
