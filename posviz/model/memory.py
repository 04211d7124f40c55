"""How much memory a fine-tuning will need, told before it begins."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from posviz.sources import configs
from posviz.training.pretrained import TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from posviz.sources import Entry

_PROCESS = 450 << 20  # Python, torch and transformers, before any model
_FLOAT = 4
# Numbers that are kept on the way to the gradient, measured on GPT-2, BERT, OPT and GPT-Neo: for
# each position and layer, times the width and times the inner width of its linear layers; for
# each logit; for each pair of positions and head where attention is not fused.
_WIDTHS, _INNER, _COMPOSED, _LOGITS, _PAIRS = 10, 3, 9, 4, 2
_MOST_LOGITS = 1 << 22  # numbers in the output of what is read at once: with gradients, 64 MB
_NOT_FUSED = ("gpt_neo", "openai-gpt")


def sequences_at_once(length: int, vocabulary_size: int) -> int:
    """How many sequences are read together: the output of a large model allows one."""
    return max(_MOST_LOGITS // (length * vocabulary_size), 1)


def tuning_memory(config: Mapping[str, object], entries: Iterable[Entry], *, length: int) -> int:
    """Bytes that fine-tuning a table takes: roughly, and rather more than too few.

    Parameters
    ----------
    config : mapping
        The model's config.json.
    entries : iterable of Entry
        Its tensors; each is held in float32.
    length : int
        Positions of a sequence.
    """
    weights = sum(prod(entry.shape) for entry in entries if entry.shape is not None)
    chain = configs.chain(config, "")
    layers = configs.count(chain, "num_hidden_layers", "n_layer", "n_layers", "num_layers") or 0
    width = configs.count(chain, "hidden_size", "n_embd", "dim", "d_model") or 0
    heads = configs.count(chain, "num_attention_heads", "n_head", "n_heads", "num_heads") or 0
    inner = configs.count(chain, "intermediate_size", "n_inner", "ffn_dim", "hidden_dim")
    symbols = configs.count(chain, "vocab_size") or 0
    at_once = min(max(TOKENS // length, 1), sequences_at_once(length, max(symbols, 1)))
    act = configs.value(chain, "activation_function") or configs.value(chain, "hidden_act")
    steps = _COMPOSED if act == "gelu_new" or act is None else _INNER
    position = layers * (_WIDTHS * width + steps * (inner or 4 * width)) + _LOGITS * symbols
    pairs = _PAIRS * layers * heads * length if config.get("model_type") in _NOT_FUSED else 0
    return _PROCESS + _FLOAT * (weights + at_once * length * (position + pairs))
