"""What models are measured on: reproducible, of the right length, in the model's own symbols."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from posviz.errors import ModelError
from posviz.model.loading import open_model
from posviz.model.texts import Sequences, sequences
from posviz.sources.demos import DEMOS
from posviz.training.tasks import IGNORED

if TYPE_CHECKING:
    from posviz.model.runner import Model

Make = Callable[[str], tuple[Path, Any]]


@pytest.fixture(scope="module", params=["gpt-mini", "bert-mini"])
def model(request: pytest.FixtureRequest) -> Model:
    return open_model(f"demo:{request.param}")


def same(a: Sequences, b: Sequences) -> bool:
    parts = ("tokens", "segments", "targets")
    return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in parts)


def test_the_same_seed_gives_the_same_sequences_and_another_others(model: Model) -> None:
    first, again, other = (sequences(model, length=30, count=3, seed=s) for s in (5, 5, 6))
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize("length", [9, 64, 128, 300])
def test_sequences_have_the_length_asked_for_in_known_symbols(model: Model, length: int) -> None:
    read = sequences(model, length=length, count=2)
    assert read.tokens.shape == read.segments.shape == read.targets.shape == (2, length)
    assert read.length == length
    assert read.tokens.min() >= 0
    assert read.tokens.max() < model.vocabulary_size
    scored = read.targets[read.targets != IGNORED]
    assert read.scored == len(scored) > 0
    assert scored.min() >= 0


def test_what_was_read_is_said() -> None:
    causal, masked = open_model("demo:gpt-mini"), open_model("demo:bert-mini")
    assert sequences(causal, length=128, count=4, seed=2).said == (
        "the held-out end of the help topics of Python, 4 × 128 tokens, seed 2"
    )
    assert sequences(masked, length=128, count=4).said == (
        "sequences drawn as in training (sticky chains, masked), 4 × 128 tokens, seed 0"
    )


def test_a_causal_target_is_the_next_symbol() -> None:
    read = sequences(open_model("demo:gpt-mini"), length=50, count=2)
    assert np.array_equal(read.tokens[:, 1:], read.targets[:, :-1])


def test_a_text_of_ones_own_is_read_letter_by_letter() -> None:
    model = open_model("demo:gpt-mini")
    read = sequences(model, length=10, count=1, text="the cat sat")
    assert model.vocabulary is not None
    assert read.tokens[0].tolist() == model.vocabulary.encode("the cat sa")
    assert read.targets[0].tolist() == model.vocabulary.encode("he cat sat")


def test_a_text_too_short_is_explained() -> None:
    with pytest.raises(ModelError) as caught:
        sequences(open_model("demo:gpt-mini"), length=20, count=1, text="the cat")
    assert str(caught.value) == (
        "The text gives 7 tokens; sequences of 20 positions need at least 21. Give a longer text "
        "or a shorter length."
    )


def test_a_model_of_drawn_letters_takes_no_text() -> None:
    with pytest.raises(ModelError, match="reads symbols of its own task"):
        sequences(open_model("demo:bert-mini"), length=20, count=1, text="the cat")


def test_symbols_are_the_models_own_even_where_the_text_has_others() -> None:
    """Another Python's help topics may hold a character that the demo never saw."""
    model = open_model("demo:gpt-mini")
    assert model.vocabulary is not None
    order = (model.vocabulary.symbols[0], *reversed(model.vocabulary.symbols[1:]))
    turned = replace(model, vocabulary=type(model.vocabulary)(order))
    straight, mirrored = (sequences(m, length=20, count=2) for m in (model, turned))
    size = len(order)
    assert np.array_equal(mirrored.tokens, size - straight.tokens)


def test_a_settings_file_names_no_text_to_read(tmp_path: Path) -> None:
    """A copied folder may name any path of this machine as its text; it is not opened."""
    folder = tmp_path / "copied"
    shutil.copytree(DEMOS / "gpt-mini", folder)
    config = json.loads((folder / "config.json").read_text())
    config["posviz"]["training"]["text"] = str(folder / "vocab.json")
    (folder / "config.json").write_text(json.dumps(config))
    model = open_model(str(folder))
    assert same(
        sequences(model, length=20, count=2),
        sequences(open_model("demo:gpt-mini"), length=20, count=2),
    )


# Tokenizers of other people -------------------------------------------------------------------


def test_a_masked_text_stands_between_its_special_symbols(
    folder_of_layout: Make, text: str
) -> None:
    model = open_model(str(folder_of_layout("bert")[0]))
    read = sequences(model, length=40, count=30, text=text)
    assert set(read.tokens[:, 0]) == {2}  # [CLS]
    assert set(read.tokens[:, -1]) == {3}  # [SEP]
    hidden = read.targets != IGNORED
    assert np.array_equal(hidden, read.tokens == 4)  # [MASK]
    assert hidden.any(axis=1).all()
    assert 0.1 < hidden[:, 1:-1].mean() < 0.2
    whole = np.where(hidden, read.targets, read.tokens)[:, 1:-1]
    assert whole.min() >= 5, "what is hidden is a word"


def test_a_tokenizer_does_not_cut_a_text_at_its_own_limit(
    folder_of_layout: Make, text: str
) -> None:
    model = open_model(str(folder_of_layout("gpt2")[0]))
    assert sequences(model, length=200, count=1, text=text).length == 200


def test_a_model_without_a_tokenizer_is_explained(folder_of_layout: Make, tmp_path: Path) -> None:
    folder = tmp_path / "mute"
    shutil.copytree(folder_of_layout("gpt2")[0], folder)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer: none of tokenizer\.json"):
        sequences(open_model(str(folder)), length=8, count=1)
