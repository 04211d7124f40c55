"""Texts become the numbers that the model's own tokenizer makes of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from posviz.errors import ModelError
from posviz.model.embedding import parts
from posviz.model.opening import open_weights
from posviz.model.tokens import MOST_TEXT, open_tokenizer

SENTENCES = [("The cat chased the dog.", ""), ("Ünïcode — naïve 汉字!", ""), ("One.", "And two.")]


@pytest.fixture
def folder(tmp_path: Path, make) -> Path:
    """A copy of a small BERT, to put tokenizers beside."""
    copy = tmp_path / "copy"
    shutil.copytree(make("bert").ref, copy)
    return copy


@pytest.mark.parametrize(("first", "second"), SENTENCES)
def test_the_real_minilm_reads_as_transformers_does(make, first, second):
    from transformers import AutoTokenizer

    ref = make("minilm").ref
    found = open_tokenizer(open_weights(ref)).read(first, second)
    own = AutoTokenizer.from_pretrained(ref)(first, second or None)
    assert list(found.tokens) == own["input_ids"]
    assert list(found.segments) == own["token_type_ids"]
    assert found.words[0] == "[CLS]"
    assert len(found.words) == len(found.tokens)


def test_word_pieces_are_read_from_their_list(folder):
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n##s\nthe\n")
    tokenizer = open_tokenizer(open_weights(str(folder)))
    assert tokenizer.said == "Read by the model's own vocab.txt."
    found = tokenizer.read("The cats", "the dog")
    assert found.words == ("[CLS]", "the", "cat", "##s", "[SEP]", "the", "[UNK]", "[SEP]")
    assert found.segments == (0, 0, 0, 0, 0, 1, 1, 1)


def test_byte_pairs_are_read_from_vocabulary_and_merges(tmp_path, make):
    folder = tmp_path / "copy"
    shutil.copytree(make("gpt2").ref, folder)
    (folder / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\nĠ ab\n")
    found = open_tokenizer(open_weights(str(folder))).read("ab ab")
    assert (found.tokens, found.words) == ((3, 4), ("ab", "␣ab"))


def test_gpt2s_byte_pairs_agree_with_transformers(tmp_path, make):
    from transformers import GPT2TokenizerFast

    folder = tmp_path / "copy"
    shutil.copytree(make("gpt2").ref, folder)
    letters = ["Ġ", *"abcdefghijklmnopqrstuvwxyz", "th", "the", "Ġthe"]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(letters)}))
    (folder / "merges.txt").write_text("#version: 0.2\nt h\nth e\nĠ the\n")
    own = GPT2TokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"))
    found = open_tokenizer(open_weights(str(folder))).read("the cat and the other")
    assert list(found.tokens) == own("the cat and the other")["input_ids"]


def test_demos_read_symbols_and_their_pairs():
    bert = open_tokenizer(open_weights("demo:bert-mini"))
    found = bert.read("ab", "p")
    assert found.words == ("[CLS]", "a", "b", "[SEP]", "p", "[SEP]")
    assert found.tokens == (1, 5, 6, 2, 20, 2)
    assert found.segments == (0, 0, 0, 0, 1, 1)
    assert bert.said == "Read letter by letter, a to p."
    gpt = open_tokenizer(open_weights("demo:gpt-mini"))
    assert not gpt.pairs
    assert gpt.read("a b", "ignored").words == ("a", "␣", "b")


@pytest.mark.parametrize("ref", ["demo:gpt-mini", "demo:bert-mini"])
def test_an_example_is_known_to_its_model(ref):
    weights = open_weights(ref)
    tokenizer = open_tokenizer(weights)
    found = tokenizer.read(*tokenizer.example)
    assert "[UNK]" not in found.words
    assert parts(weights, found.tokens, found.segments).total.shape[1] == 64


def test_without_a_tokenizer_numbers_are_read_and_it_says_so(make):
    weights = open_weights(make("bert").ref)
    tokenizer = open_tokenizer(weights)
    assert tokenizer.said == (
        "There is no tokenizer beside the weights. Token numbers are read, from 0 to 30; put "
        "tokenizer.json there for words."
    )
    found = tokenizer.read("3, 4 5", "6")
    assert (found.tokens, found.segments) == ((3, 4, 5, 6), (0, 0, 0, 1))
    example = tokenizer.read(*tokenizer.example)
    assert parts(weights, example.tokens, example.segments).total.shape[0] == len(example.tokens)
    with pytest.raises(ModelError) as refusal:
        tokenizer.read("3 cat")
    assert str(refusal.value) == (
        "There is no tokenizer beside the weights. Type token numbers from 0 to 30, with spaces "
        "between them; “cat” is none."
    )
    with pytest.raises(ModelError, match="none"):
        tokenizer.read("9" * 40)


@pytest.mark.parametrize("content", [b"{", b"{}", b"\xff", b"[]", b'{"model": {"type": "evil"}}'])
def test_a_tokenizer_that_cannot_be_read_is_no_obstacle(folder, content):
    (folder / "tokenizer.json").write_bytes(content)
    tokenizer = open_tokenizer(open_weights(str(folder)))
    assert tokenizer.said.startswith("The tokenizer beside the weights cannot be read (")
    assert tokenizer.read("3 4").tokens == (3, 4)


def test_no_code_of_a_model_folder_runs(folder):
    """A folder may name a tokenizer class of its own; it is never imported."""
    mark = folder / "ran"
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nclass Evil: pass\n")
    settings = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n")
    assert open_tokenizer(open_weights(str(folder))).read("cat").tokens == (2, 5, 3)
    assert not mark.exists()


def test_a_text_beyond_all_bounds_is_refused():
    with pytest.raises(ModelError, match="At most 4,000 characters are read here"):
        open_tokenizer(open_weights("demo:gpt-mini")).read("a" * (MOST_TEXT + 1))


def test_an_empty_text_has_no_rows():
    weights = open_weights("demo:gpt-mini")
    with pytest.raises(ModelError, match="There is no token in the text"):
        parts(weights, open_tokenizer(weights).read("").tokens)


def test_padding_and_cutting_that_a_tokenizer_asks_for_are_left_out(make):
    found = open_tokenizer(open_weights(make("minilm").ref)).read("a " * 300)
    assert len(found.tokens) == 302
    assert np.count_nonzero(np.array(found.tokens) == 0) == 0
