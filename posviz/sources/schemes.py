"""How a model without a position table knows positions, and the sentence that says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.sources import configs, layouts
from posviz.sources.formats.tensors import Entry, shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.sources.configs import Config

_SENTENCES = {
    "rotary": "it turns queries and keys by their position (rotary embeddings, RoPE)",
    "alibi": "it adds a fixed penalty by distance to the attention scores (ALiBi)",
    "relative": "it adds a learned bias by distance to the attention scores",
    "sinusoidal": "it computes fixed sines and cosines instead of storing them",
    "convolutional": "a convolution over the sequence carries the positions",
    "none": "it uses no position signal that could be drawn as a table",
}

_NAMES = (  # what other tensors in the file give away
    ("rotary", re.compile(r"rotary_emb|inv_freq|rope[._]|(?:^|[./])freqs_cis")),
    ("relative", re.compile(
        r"relative_attention_bias|relative_position_bias|rel_pos_[hw]|rel_embeddings|"
        r"distance_embedding|relative_position_index|attn_rel_b|linear_pos|pos_bias_[uv]|rel_attn")),
    ("alibi", re.compile(r"(?:^|[./])alibi|word_embeddings_layernorm")),  # BLOOM's own layer norm
    ("convolutional", re.compile(r"pos_conv")),
)  # fmt: skip

_CONFIG = (
    ("alibi", ("alibi",)),
    ("rotary", ("rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct",
                "rotary_emb_base", "partial_rotary_factor")),
    ("relative", ("relative_attention_num_buckets", "max_relative_positions")),
)  # fmt: skip


def explain(entries: Sequence[Entry], config: Config | None) -> tuple[str, str]:
    """Why nothing here is a position table: the scheme, and a sentence.

    The catalogue decides where it knows the model type; then the config; then tensors that
    give the scheme away. Otherwise the scheme is ``unknown``, and the sentence says only that
    no table was found.
    """
    model_type = configs.model_type(config)
    found = layouts.scheme(model_type) if model_type else None
    evidence = _evidence(entries)
    if found is not None and found.scheme != "unknown":
        detail = "" if found.detail == found.scheme else f" ({found.detail})"
        return found.scheme, _sentence(found.scheme, f"{model_type} models keep none", detail)
    scheme = _from_config(config)
    if scheme is not None:
        who = f"the config of this {model_type} model" if model_type else "the config"
        return scheme, _sentence(scheme, f"{who} says there is none", "")
    if evidence is not None:
        scheme, entry = evidence
        shape = f" ({shape_text(entry.shape)})" if entry.shape else ""
        return scheme, _sentence(scheme, f"{entry.name}{shape} shows that there is none", "")
    return (
        "unknown",
        "No position table was found: no tensor has a name that position tables carry.",
    )


def side_scheme(config: Config | None) -> str | None:
    """The scheme of the language model whose vision tower holds the only tables, if known."""
    text = configs.chain(config, "language_model.x")
    types = [found for part in text if (found := configs.model_type(part))]
    for model_type in types:
        known = layouts.scheme(model_type)
        if known is not None and known.scheme in ("rotary", "alibi", "relative"):
            return known.scheme
    return _from_config(text[0]) if text else None


def phrase(scheme: str) -> str:
    """What a scheme does, as a clause about "it"."""
    return _SENTENCES.get(scheme, "how it knows positions is not known")


def _sentence(scheme: str, why: str, detail: str) -> str:
    return f"No position table: {why}{detail}; {phrase(scheme)}."


def _from_config(config: Config | None) -> str | None:
    if not config:
        return None
    kind = config.get("position_embedding_type")
    if isinstance(kind, str):
        named = {"rotary": "rotary", "rope": "rotary", "alibi": "alibi", "relative": "relative"}
        for word, scheme in named.items():
            if kind.startswith(word):
                return scheme
    for scheme, keys in _CONFIG:
        if any(config.get(key) for key in keys):
            return scheme
    return None


def _evidence(entries: Sequence[Entry]) -> tuple[str, Entry] | None:
    for scheme, pattern in _NAMES:
        for entry in entries:
            if pattern.search(entry.name):
                return scheme, entry
    return None
