"""From a text to the numbers that a model reads, by the tokenizer that lies beside its weights.

Tokenizers are data here: their files are read, and no code of a model ever runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posviz.errors import ModelError
from posviz.runfolder import VOCABULARY
from posviz.training.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from posviz.model.weights import Weights
    from posviz.sources import Checkpoint

MOST_TEXT = 4000  # characters; the longest table has fewer rows than their tokens

_LETTERS = ("aaabbcc", "ddfff")
_SENTENCES = ("The cat chased the dog.", "The dog ran away.")
_SHOWN = str.maketrans({"Ġ": "␣", "▁": "␣", "Ċ": "⏎", " ": "␣", "\n": "⏎"})


@dataclass(frozen=True)
class Reading:
    """A text as a model reads it.

    Parameters
    ----------
    tokens : tuple of int
    words : tuple of str
        The same for people: a space that belongs to a token shows as ␣.
    segments : tuple of int
        0 for the first text, 1 for the second.
    """

    tokens: tuple[int, ...]
    words: tuple[str, ...]
    segments: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """How a model's text becomes numbers.

    Parameters
    ----------
    said : str
        Which tokenizer it is, or why numbers must be typed, as a sentence.
    example : (str, str)
        A first and a second text that it reads well.
    split : function
        From two texts, the second empty where there is none, to numbers, words and segments.
    pairs : bool
        Whether the model tells a second text apart.
    """

    said: str
    example: tuple[str, str]
    split: Callable[[str, str], tuple[list[int], list[str], list[int]]]
    pairs: bool

    def read(self, first: str, second: str = "") -> Reading:
        """The tokens of a text, or of two.

        Raises
        ------
        ModelError
            The text is too long, or is not of the kind that is read here.
        """
        if len(first) + len(second) > MOST_TEXT:
            raise ModelError(
                f"At most {MOST_TEXT:,} characters are read here; the text has "
                f"{len(first) + len(second):,}. Type less."
            )
        tokens, words, segments = self.split(first, second if self.pairs else "")
        shown = tuple(word.translate(_SHOWN) for word in words)
        return Reading(tuple(tokens), shown, tuple(segments))


def open_tokenizer(weights: Weights) -> Tokenizer:
    """The tokenizer beside a model's weights; token numbers are typed where there is none."""
    checkpoint, pairs = weights.checkpoint, weights.n_segments > 1
    try:
        own = _symbols(checkpoint, pairs)
        if own is not None:
            return own
        made = _whole(checkpoint) or _word_pieces(checkpoint) or _byte_pairs(checkpoint)
    except Exception as err:  # the library of tokenizers has no error of its own
        return _numbers(weights, f"The tokenizer beside the weights cannot be read ({_line(err)}).")
    if made is None:
        return _numbers(weights, "There is no tokenizer beside the weights.")
    backend, name = made
    backend.no_padding()
    backend.no_truncation()

    def split(first: str, second: str) -> tuple[list[int], list[str], list[int]]:
        found = backend.encode(first, second) if second else backend.encode(first)
        return found.ids, found.tokens, found.type_ids

    return Tokenizer(f"Read by the model's own {name}.", _SENTENCES, split, pairs)


def _symbols(checkpoint: Checkpoint, pairs: bool) -> Tokenizer | None:
    """The symbols of a model that this project trained."""
    if "posviz" not in (checkpoint.config or {}):
        return None
    numbers = _json(checkpoint, VOCABULARY)
    if not isinstance(numbers, dict) or UNKNOWN not in numbers:
        return None
    vocabulary = Vocabulary(tuple(sorted(numbers, key=numbers.__getitem__)))
    letters = set(vocabulary.characters) <= set("abcdefghijklmnop")

    def split(first: str, second: str) -> tuple[list[int], list[str], list[int]]:
        if pairs:
            tokens, segments = vocabulary.pair(first, second)
        else:
            tokens = vocabulary.encode(first)
            segments = [0] * len(tokens)
        return tokens, [vocabulary.symbols[number] for number in tokens], segments

    said = f"Read letter by letter, a to {vocabulary.characters[-1]}." if letters else (
        f"Read character by character; {len(vocabulary.characters)} are known."
    )  # fmt: skip
    return Tokenizer(said, _LETTERS if letters else _SENTENCES, split, pairs)


def _whole(checkpoint: Checkpoint) -> tuple[Any, str] | None:
    """What ``tokenizer.json`` describes."""
    content = checkpoint.beside("tokenizer.json")
    if content is None:
        return None
    from tokenizers import Tokenizer as Backend

    return Backend.from_buffer(content), "tokenizer.json"


def _word_pieces(checkpoint: Checkpoint) -> tuple[Any, str] | None:
    """BERT's word pieces from their list, ``vocab.txt``."""
    content = checkpoint.beside("vocab.txt")
    if content is None:
        return None
    from tokenizers import BertWordPieceTokenizer

    pieces = content.decode("utf-8").splitlines()
    settings = _json(checkpoint, "tokenizer_config.json")
    lower = settings.get("do_lower_case", True) if isinstance(settings, dict) else True
    numbers = {piece: number for number, piece in enumerate(pieces)}
    return BertWordPieceTokenizer(numbers, lowercase=bool(lower)), "vocab.txt"


def _byte_pairs(checkpoint: Checkpoint) -> tuple[Any, str] | None:
    """The byte pairs of GPT-2 and RoBERTa, from ``vocab.json`` and ``merges.txt``."""
    merges, numbers = checkpoint.beside("merges.txt"), _json(checkpoint, "vocab.json")
    if merges is None or not isinstance(numbers, dict):
        return None
    if checkpoint.model_type not in (None, "gpt2", "gpt_neo", "roberta"):
        return None  # others put their own marks round the text
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, processors

    lines = merges.decode("utf-8").splitlines()
    halves = [line.partition(" ") for line in lines if line and not line.startswith("#version")]
    pairs = [(left, right) for left, _, right in halves]
    backend = Backend(models.BPE(vocab=numbers, merges=pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if checkpoint.model_type == "roberta":
        last, first = (("</s>", numbers["</s>"]), ("<s>", numbers["<s>"]))
        backend.post_processor = processors.RobertaProcessing(last, first, add_prefix_space=False)
    return backend, "vocab.json and merges.txt"


def _numbers(weights: Weights, why: str) -> Tokenizer:
    """Token numbers, typed."""

    def split(first: str, second: str) -> tuple[list[int], list[str], list[int]]:
        words = [text.replace(",", " ").split() for text in (first, second)]
        typed = [*words[0], *words[1]]
        for word in typed:
            if not word.isdecimal() or len(word) > 9:
                raise ModelError(
                    f"{why} Type token numbers from 0 to {weights.n_tokens - 1:,}, with spaces "
                    f"between them; “{word[:20]}” is none."
                )
        return [int(word) for word in typed], typed, [0] * len(words[0]) + [1] * len(words[1])

    last = weights.n_tokens - 1
    some = [min(number, last) for number in (5, 13, 8, 13, 5, 21)]
    example = (" ".join(map(str, some)), " ".join(map(str, some[::-2])))
    return Tokenizer(
        f"{why} Token numbers are read, from 0 to {last:,}; put tokenizer.json there for words.",
        example,
        split,
        weights.n_segments > 1,
    )


def _json(checkpoint: Checkpoint, name: str) -> object:
    content = checkpoint.beside(name)
    return None if content is None else json.loads(content)


def _line(err: Exception) -> str:
    return (str(err).splitlines() or [type(err).__name__])[0][:120]
