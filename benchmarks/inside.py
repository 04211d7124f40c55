"""What is read of a whole GPT-2 checkpoint to show a text and a head, against the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Row, milliseconds
from benchmarks.opening import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from posviz.model.weights import Weights

TOKENS = (464, 3797, 26172, 262, 3290, 13)  # The cat chased the dog.


def rows() -> Iterator[Row]:
    """Bytes, and the time they take beside loading the model."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, _ = build(Path(folder))
        yield from _measured(os.fspath(checkpoint))


def _measured(path: str) -> Iterator[Row]:
    from transformers import GPT2Model
    from transformers.utils import logging

    from posviz.model.attention import split_scores
    from posviz.model.embedding import parts
    from posviz.model.heads import head_pattern, profile_heads
    from posviz.model.opening import open_weights

    logging.disable_progress_bar()
    weights = open_weights(path)
    whole = weights.checkpoint.size / 1e3
    name = f"{whole / 1e3:.0f} MB GPT-2"
    text = parts(weights, TOKENS)

    def cost(run: Callable[[Weights], object]) -> float:
        fresh = open_weights(path)  # what was read before is not counted again
        before = fresh.checkpoint.bytes_read
        run(fresh)
        return (fresh.checkpoint.bytes_read - before) / 1e3

    for what, run in (
        ("the rows of six tokens", lambda of: parts(of, TOKENS)),
        ("the score of one head", lambda of: split_scores(text, of.head(0, 3), causal=True)),
        ("the pattern of one head", lambda of: head_pattern(of, 5, 3)),
        ("every head of a layer", lambda of: profile_heads(of, 5)),
    ):
        yield Row(f"bytes read of a {name}: {what}", cost(run), "the file", whole, unit="kB")

    def shown() -> None:
        opened = open_weights(path)
        split_scores(parts(opened, TOKENS), opened.head(0, 3), causal=True)

    ours, theirs = milliseconds([shown, lambda: GPT2Model.from_pretrained(path)], in_a_row=1)
    yield Row(f"open a {name} and split a head's score", ours, "from_pretrained", theirs)
