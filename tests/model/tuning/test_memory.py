"""The memory that a fine-tuning is told to need, before anything is loaded."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.model.memory import sequences_at_once, tuning_memory
from posviz.training.pretrained import TOKENS


def test_the_output_of_a_large_model_allows_one_sequence() -> None:
    assert sequences_at_once(2048, 50_257) == 1
    assert sequences_at_once(24, 23) > 1000


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
