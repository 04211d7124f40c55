"""How a model without a position table knows positions, and the sentence that says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.sources import configs, layouts
from posviz.sources.formats.tensors import Entry, shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.sources.configs import Config

_INSTEAD = {
    "rotary": "Queries and keys are turned by their position instead (rotary embeddings, RoPE).",
    "alibi": "Attention scores carry a fixed penalty by distance instead (ALiBi).",
    "relative": "Attention scores carry a bias by distance instead (relative positions).",
    "sinusoidal": "Fixed sines and cosines are computed instead of being stored.",
    "convolutional": "A convolution over the sequence carries the positions instead.",
    "none": "Nothing in it stands for a position on its own.",
}

_NAMES = (  # what other tensors in the file give away
    ("rotary", re.compile(r"rotary_emb|inv_freq|rope[._]|(?:^|[./])freqs_cis")),
    ("relative", re.compile(
        r"relative_attention_bias|relative_position_bias|rel_pos_[hw]|rel_embeddings|"
        r"distance_embedding|relative_position_index|attn_rel_b|linear_pos|pos_bias_[uv]|rel_attn")),
    ("alibi", re.compile(r"(?:^|[./])alibi|word_embeddings_layernorm")),  # BLOOM's own layer norm
    ("convolutional", re.compile(r"pos_conv")),
)  # fmt: skip

_ADAPTER = re.compile(r"(?:^|[._])lora_(?:A|B|down|up|embedding_[AB])(?:[._]|$)")

_KEYS = (  # config keys that only such models have
    ("rotary", ("rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct",
                "rotary_emb_base", "partial_rotary_factor")),
    ("relative", ("relative_attention_num_buckets", "max_relative_positions")),
)  # fmt: skip


def explain(entries: Sequence[Entry], config: Config | None) -> tuple[str, str]:
    """Why nothing here is a position table: the scheme, and a sentence or two.

    A switch in the config decides; then the catalogue, where it knows the model type or that
    of the language model inside; then other keys of the config; then tensors that give the
    scheme away. Otherwise the scheme is ``unknown``, and the sentence says only that no table
    was found.
    """
    switched = _switched(config)
    if switched is not None:
        return switched, _sentence(switched, "this model has none, its config says")
    for part in reversed(configs.chain(config, "language_model.embed")):
        model_type = configs.model_type(part)
        known = layouts.scheme(model_type) if model_type else None
        if known is not None and known.scheme != "unknown":
            more = "" if known.detail == known.scheme else f" In the catalogue: {known.detail}."
            return known.scheme, _sentence(known.scheme, f"{model_type} models have none") + more
    scheme = _from_config(config)
    if scheme is not None:
        return scheme, _sentence(scheme, "this model has none, its config says")
    found = _evidence(entries)
    if found is not None:
        scheme, entry = found
        shape = f" ({shape_text(entry.shape)})" if entry.shape else ""
        return scheme, _sentence(scheme, f"{entry.name}{shape} shows that this model has none")
    if any(_ADAPTER.search(entry.name) for entry in entries):
        return "unknown", (
            "The file holds an adapter (LoRA or the like), which changes no position table. Open "
            "the model that it was trained for."
        )
    if any("flat_param" in entry.name for entry in entries):
        return "unknown", (
            "The file holds FSDP flat parameters, in which no tensor keeps its shape. Export a "
            "full state dict and open that."
        )
    return "unknown", "No position table was found: no tensor has a name that such tables carry."


def beside(config: Config | None) -> str | None:
    """The scheme of the language model whose vision tower holds the only tables, if known."""
    inner, *_ = (*configs.chain(config, "language_model.embed"), None)
    if inner is None or inner is config:
        return None
    model_type = configs.model_type(inner)
    known = layouts.scheme(model_type) if model_type else None
    if known is not None:
        return known.scheme if known.scheme in ("rotary", "alibi", "relative") else None
    return _from_config(inner)


def instead(scheme: str) -> str:
    """What a scheme does in place of a table, as a sentence."""
    return _INSTEAD[scheme]


def _sentence(scheme: str, why: str) -> str:
    return f"No position table: {why}. {_INSTEAD[scheme]}"


def _switched(config: Config | None) -> str | None:
    """ALiBi or rotary positions that a config switches on for a family that has several."""
    if not config:
        return None
    attention = config.get("attn_config")
    if config.get("alibi") is True or (isinstance(attention, dict) and attention.get("alibi")):
        return "alibi"
    kind = config.get("position_embedding_type")
    for word in ("rotary", "rope", "alibi"):
        if isinstance(kind, str) and kind.startswith(word):
            return "rotary" if word == "rope" else word
    return None


def _from_config(config: Config | None) -> str | None:
    for scheme, keys in _KEYS:
        if any((config or {}).get(key) for key in keys):
            return scheme
    return None


def _evidence(entries: Sequence[Entry]) -> tuple[str, Entry] | None:
    # One search instead of one a tensor.
    names = "\n".join(entry.name.replace("\n", " ") for entry in entries)
    for scheme, pattern in _NAMES:
        found = pattern.search(names)
        if found is not None:
            return scheme, entries[names.count("\n", 0, found.start())]
    return None
