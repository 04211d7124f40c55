"""What a model is trained to do: each task makes batches and names the model that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from posviz.errors import TrainingError
from posviz.training.text import checked_text, library_text, read_text
from posviz.training.vocabulary import CLASS, MASK, SEPARATOR, Vocabulary

if TYPE_CHECKING:  # torch takes seconds to load, and a page needs only the names and labels below
    import torch
    from torch import Tensor

    from posviz.training.config import TrainConfig

IGNORED = -100  # a target that counts for nothing, as torch's cross entropy has it
LETTERS = "abcdefghijklmnop"
STAY = 0.85  # chance that a sticky chain repeats its letter
_HELD_OUT = 0.1  # share of a text, its end, that is kept for measuring the loss


@dataclass(frozen=True)
class Batch:
    """Sequences to read and symbols to predict.

    Parameters
    ----------
    inputs : tuple of int64 tensors of shape (B, T)
        Symbol numbers, and segments (0 or 1) for a BERT; the arguments of the model, in order.
    targets : int64 tensor of shape (B, T)
        The right symbol at each place, or IGNORED.
    """

    inputs: tuple[Tensor, ...]
    targets: Tensor


# (sequences, random numbers, held out?) -> a batch
Sampler = Callable[[int, "torch.Generator", bool], Batch]


@dataclass(frozen=True)
class Data:
    """A task made ready for one run.

    Parameters
    ----------
    vocabulary : Vocabulary
    sample : callable (count, generator, held_out) -> Batch
        Draws that many sequences with the generator's random numbers.
    text_sha256 : str or None
        Of the text they are cut from, in UTF-8, if the task reads one.
    """

    vocabulary: Vocabulary
    sample: Sampler
    text_sha256: str | None = None


@dataclass(frozen=True)
class Task:
    """One thing to learn.

    Parameters
    ----------
    label, explanation : str
        For menus: a name, and what it teaches about tables.
    architecture : {"gpt", "bert"}
        Causal, or seeing both sides.
    prepare : callable (TrainConfig) -> Data
        Checks what it needs; raises TrainingError with the numbers.
    defaults : mapping
        The default run: settings of TrainConfig that differ from its own defaults.
    reads_text : bool
        Whether ``text`` matters.
    """

    label: str
    explanation: str
    architecture: Literal["gpt", "bert"]
    prepare: Callable[[TrainConfig], Data]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    reads_text: bool = False


def sticky_chains(
    count: int, length: int, generator: torch.Generator, *, stay: float = STAY, letters: int = 16
) -> Tensor:
    """Chains that repeat their letter with chance ``stay`` and else draw any letter anew.

    Returns
    -------
    int64 tensor of shape (count, length)
        Letters numbered from 0. What a hidden letter is can be told from its neighbours, the
        nearer the better: knowledge decays with distance, which makes a table smooth.
    """
    import torch

    renewed = torch.rand(count, length, generator=generator) >= stay
    renewed[:, 0] = True
    drawn = torch.randint(letters, (count, length), generator=generator)
    latest = torch.where(renewed, torch.arange(length), 0).cummax(dim=1).values  # (count, length)
    return drawn.gather(1, latest)


def hide(
    tokens: Tensor,
    segments: Tensor,
    maskable: Tensor,
    share: float,
    mask: int,
    rng: torch.Generator,
) -> Batch:
    """Replace a share of the maskable symbols by the mask, and ask for them; all (B, T).

    Each sequence hides at least one, so that a small share of a short sequence still asks.
    """
    import torch

    draws = torch.rand(tokens.shape, generator=rng).masked_fill(~maskable, 2.0)
    hidden = draws <= draws.amin(dim=1, keepdim=True).clamp(min=share)
    hidden &= maskable
    inputs = (tokens.masked_fill(hidden, mask), segments)
    return Batch(inputs, tokens.masked_fill(~hidden, IGNORED))


def _sticky_mlm(config: TrainConfig) -> Data:
    import torch

    _at_least("sticky-mlm", config.sequence_length, 8)
    vocabulary = Vocabulary.masked(LETTERS)
    first_letter = vocabulary[LETTERS[0]]

    def sample(count: int, rng: torch.Generator, held_out: bool) -> Batch:
        length = config.sequence_length
        place = torch.arange(length)
        a = sticky_chains(count, length, rng) + first_letter
        b = sticky_chains(count, length, rng) + first_letter
        # Two chains in two segments, parted by [SEP] anywhere but at the ends. Half of the
        # sequences carry [CLS] and a last [SEP] as typed text does; the other half are cut from
        # the middle, so that row 0 learns a place among the others and not only a sign for [CLS].
        parted = torch.randint(2, length - 2, (count, 1), generator=rng)
        whole = torch.rand(count, 1, generator=rng) < 0.5
        tokens = torch.where(place > parted, b, a)  # (count, length)
        tokens[(place == parted) | (whole & (place == length - 1))] = vocabulary[SEPARATOR]
        tokens[whole & (place == 0)] = vocabulary[CLASS]
        segments = (place > parted).long()
        letters = tokens >= first_letter
        return hide(tokens, segments, letters, config.mask, vocabulary[MASK], rng)

    return Data(vocabulary, sample)


def _copy(config: TrainConfig) -> Data:
    import torch

    vocabulary = Vocabulary.causal(LETTERS)
    first_letter, lag, length = vocabulary[LETTERS[0]], config.lag, config.sequence_length
    if not 0 <= lag < length:
        raise TrainingError(
            f"lag lies between 0 and {length - 1} in sequences of {length}; {lag} was given."
        )

    def sample(count: int, rng: torch.Generator, held_out: bool) -> Batch:
        tokens = torch.randint(len(LETTERS), (count, length), generator=rng) + first_letter
        targets = torch.full_like(tokens, IGNORED)
        targets[:, lag:] = tokens[:, : length - lag]
        return Batch((tokens,), targets)

    return Data(vocabulary, sample)


def _char_lm(config: TrainConfig) -> Data:
    text = _text(config)
    vocabulary = Vocabulary.causal(text)
    windows = _windows(vocabulary.encode(text), config.sequence_length + 1)

    def sample(count: int, rng: torch.Generator, held_out: bool) -> Batch:
        window = windows(count, rng, held_out)  # (count, length + 1)
        return Batch((window[:, :-1],), window[:, 1:])

    return Data(vocabulary, sample, sha256(text.encode()).hexdigest())


def _char_mlm(config: TrainConfig) -> Data:
    import torch

    text = _text(config)
    vocabulary = Vocabulary.masked(text)
    windows = _windows(vocabulary.encode(text), config.sequence_length)

    def sample(count: int, rng: torch.Generator, held_out: bool) -> Batch:
        window = windows(count, rng, held_out)
        everything = torch.ones_like(window, dtype=torch.bool)
        one_segment = torch.zeros_like(window)
        return hide(window, one_segment, everything, config.mask, vocabulary[MASK], rng)

    return Data(vocabulary, sample, sha256(text.encode()).hexdigest())


def _windows(numbers: list[int], length: int) -> Callable[[int, torch.Generator, bool], Tensor]:
    """Draw windows of a text, shape (count, length): from its end when held out, else before."""
    import torch

    stream = torch.tensor(numbers)
    kept = max(length, int(len(stream) * _HELD_OUT))
    parts = {False: stream[:-kept], True: stream[-kept:]}

    def draw(count: int, rng: torch.Generator, held_out: bool) -> Tensor:
        part = parts[held_out]
        start = torch.randint(len(part) - length + 1, (count, 1), generator=rng)
        return part[start + torch.arange(length)]

    return draw


def _text(config: TrainConfig) -> str:
    """The run's text, long and varied enough to be learned from."""
    if config.text is None:
        name, text = "The standard library's text", library_text()
    else:
        name, text = f"The text {config.text}", read_text(config.text)
    return checked_text(text, name=name, sequence_length=config.sequence_length)


def _at_least(task: str, length: int, least: int) -> None:
    if length < least:
        raise TrainingError(
            f"{task} needs sequences of at least {least} positions; sequence-length is {length}."
        )


TASKS: dict[str, Task] = {
    "sticky-mlm": Task(
        "Sticky chains, masked",
        "Guess hidden letters from their neighbours: nearer ones tell more, so the table "
        "becomes a smooth curve.",
        "bert",
        _sticky_mlm,
        {"steps": 600, "token_scale": 0.3},
    ),
    "char-lm": Task(
        "Next character of a text",
        "Guess each next character: a GPT in miniature, with the large first row GPT-2 has.",
        "gpt",
        _char_lm,
        {"steps": 600, "n_positions": 128},
        reads_text=True,
    ),
    "char-mlm": Task(
        "Hidden characters of a text",
        "Guess hidden characters from both sides: slower to learn than the others.",
        "bert",
        _char_mlm,
        {"steps": 2000, "mask": 0.15},
        reads_text=True,
    ),
    "copy": Task(
        "Copy from k back",
        "Repeat the letter k places back: solved perfectly by a table that never becomes smooth.",
        "gpt",
        _copy,
        {"steps": 400, "learning_rate": 2e-3},
    ),
}
