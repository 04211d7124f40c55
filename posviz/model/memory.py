"""How much memory a fine-tuning will need, told before it begins."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from posviz.sources import configs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from posviz.sources import Entry

_PROCESS = 450 << 20  # Python, torch and transformers, before any model
_FLOAT = 4
# Numbers that are kept on the way to the gradient, measured on GPT-2, BERT, OPT and GPT-Neo: for
# each position and layer, times the width and times the inner width of its linear layers; for
# each logit; for each pair of positions and head where attention is not fused.
_WIDTHS, _INNER, _COMPOSED, _LOGITS, _PAIRS = 10, 3, 9, 4, 2
_NOT_FUSED = ("gpt_neo", "openai-gpt")


def tuning_memory(
    config: Mapping[str, object], entries: Iterable[Entry], *, length: int, at_once: int = 1
) -> int:
    """Bytes that fine-tuning a table takes: roughly, and rather more than too few.

    Parameters
    ----------
    config : mapping
        The model's config.json.
    entries : iterable of Entry
        Its tensors; each is held in float32.
    length : int
        Positions of a sequence.
    at_once : int
        Sequences that are read together.
    """
    weights = sum(prod(entry.shape) for entry in entries if entry.shape is not None)
    chain = configs.chain(config, "")
    layers = configs.count(chain, "num_hidden_layers", "n_layer", "n_layers", "num_layers") or 0
    width = configs.count(chain, "hidden_size", "n_embd", "dim", "d_model") or 0
    heads = configs.count(chain, "num_attention_heads", "n_head", "n_heads", "num_heads") or 0
    inner = configs.count(chain, "intermediate_size", "n_inner", "ffn_dim", "hidden_dim")
    symbols = configs.count(chain, "vocab_size") or 0
    act = configs.value(chain, "activation_function") or configs.value(chain, "hidden_act")
    steps = _COMPOSED if act == "gelu_new" or act is None else _INNER
    position = layers * (_WIDTHS * width + steps * (inner or 4 * width)) + _LOGITS * symbols
    pairs = _PAIRS * layers * heads * length if config.get("model_type") in _NOT_FUSED else 0
    return _PROCESS + _FLOAT * (weights + at_once * length * (position + pairs))
