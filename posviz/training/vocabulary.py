"""Symbols and their numbers, with one for everything the model has never seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

PADDING, CLASS, SEPARATOR, MASK, UNKNOWN = SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")


@dataclass(frozen=True)
class Vocabulary:
    """The symbols a model knows; a symbol's number is its place.

    Parameters
    ----------
    symbols : tuple of str
        Single characters, and the specials in brackets. ``[UNK]`` is always among them.
    """

    symbols: tuple[str, ...]

    @classmethod
    def causal(cls, characters: Iterable[str]) -> Vocabulary:
        """Vocabulary of a causal model: the unknown symbol, then the characters in order."""
        return cls((UNKNOWN, *sorted(set(characters))))

    @classmethod
    def masked(cls, characters: Iterable[str]) -> Vocabulary:
        """Vocabulary of a masked model: BERT's five specials, then the characters in order."""
        return cls((*SPECIALS, *sorted(set(characters))))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each symbol, as written to ``vocab.json``."""
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @property
    def characters(self) -> tuple[str, ...]:
        """The symbols that are not specials."""
        return tuple(symbol for symbol in self.symbols if symbol not in SPECIALS)

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, symbol: str) -> int:
        return self.numbers[symbol]

    def encode(self, text: str) -> list[int]:
        """Numbers of a text, character by character; unseen ones become ``[UNK]``."""
        unknown = self.numbers[UNKNOWN]
        return [self.numbers.get(character, unknown) for character in text]

    def unseen(self, text: str) -> tuple[str, ...]:
        """The characters of a text that the model never saw, each once, in order of appearance."""
        return tuple(dict.fromkeys(c for c in text if c not in self.numbers))

    def pair(self, first: str, second: str = "") -> tuple[list[int], list[int]]:
        """One or two texts as BERT reads them: ``[CLS] first [SEP]`` and ``second [SEP]``.

        Returns
        -------
        (list of int, list of int)
            Symbol numbers, and segments: 0 up to the first ``[SEP]``, then 1.
        """
        tokens = [self[CLASS], *self.encode(first), self[SEPARATOR]]
        segments = [0] * len(tokens)
        if second:
            tokens += [*self.encode(second), self[SEPARATOR]]
            segments += [1] * (len(tokens) - len(segments))
        return tokens, segments
