"""What a model is measured on: sequences of its own task, or of a text through its own tokenizer.

The same model, length, count and seed give the same sequences, and what they are is said in one
line for under the figure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from posviz.errors import ModelError
from posviz.runfolder import runs_folder
from posviz.training.pretrained import HIDDEN
from posviz.training.tasks import IGNORED, TASKS
from posviz.training.text import library_text
from posviz.training.vocabulary import MASK, UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.runner import Model, Objective
    from posviz.training.config import TrainConfig

_FIRST_SEED = 2**31 - 1  # training draws its batches from small seeds; seed 0 is its held-out set
_MOST_TEXT = 2_000_000  # characters that are tokenized; more says no more and takes long


@dataclass(frozen=True, eq=False)
class Sequences:
    """Symbols to read and symbols to guess.

    Parameters
    ----------
    tokens, segments : int64 arrays of shape (B, T)
        Symbol numbers, and segments (0 or 1) for a model that has them.
    targets : int64 array of shape (B, T)
        The right symbol at each place, or IGNORED where none is scored.
    said : str
        What text, how many tokens, which seed.
    opening, closing : int
        Special symbols that stand before and after the text of each sequence.
    """

    tokens: NDArray[np.int64]
    segments: NDArray[np.int64]
    targets: NDArray[np.int64]
    said: str
    opening: int = 0
    closing: int = 0

    @property
    def length(self) -> int:
        """T, the positions each sequence fills."""
        return int(self.tokens.shape[1])

    @property
    def scored(self) -> int:
        """How many symbols have a loss."""
        return int((self.targets != IGNORED).sum())

    def cut(self, length: int) -> Sequences:
        """The first ``length`` positions of each: what a causal model reads on its way."""
        first = slice(None), slice(length)
        return replace(
            self, tokens=self.tokens[first], segments=self.segments[first],
            targets=self.targets[first],
        )  # fmt: skip


def sequences(
    model: Model, *, length: int, count: int, seed: int = 0, text: str | None = None
) -> Sequences:
    """Sequences that a model is measured on.

    Parameters
    ----------
    model : Model
    length, count : int
        Positions a sequence fills, and how many.
    seed : int
        Of every choice: which windows, which symbols are hidden.
    text : str, optional
        A person's own; else the model's own task, or the help topics of Python.

    Raises
    ------
    ModelError
        The text is too short, the model has no tokenizer, or its task takes no text.
    TrainingError
        The task's own text is gone, or the task does not make sequences of that length.
    """
    if model.training is not None and (text is None or not TASKS[model.training.task].reads_text):
        if text is not None:
            raise ModelError(
                f"{model.name} reads symbols of its own task ({model.training.task}) and no other "
                f"text. Leave the text out."
            )
        made = _of_the_task(model, model.training, length, count, seed)
    else:
        made = _of_a_text(model, text, length, count, seed)
    return replace(made, said=f"{made.said}, {count} × {length:,} tokens, seed {seed}")


def _of_the_task(
    model: Model, training: TrainConfig, length: int, count: int, seed: int
) -> Sequences:
    """What training is measured on, longer or shorter, in the model's own numbers."""
    task, own_text = TASKS[training.task], training.text
    # A settings file may come from anywhere; only a run of this machine names a text of its own.
    if own_text is not None and model.folder.resolve().parent != runs_folder().resolve():
        own_text = None
    config = replace(
        training, n_positions=max(length, training.n_positions), sequence_length=length,
        text=own_text,
    )  # fmt: skip
    data = task.prepare(config)
    batch = data.sample(count, torch.Generator().manual_seed(_FIRST_SEED + seed), True)
    assert model.vocabulary is not None, "a model of this project knows its symbols"
    # The text of another Python may hold other characters, so numbers go by way of symbols.
    known = model.vocabulary.numbers
    into = np.array([known.get(symbol, known[UNKNOWN]) for symbol in data.vocabulary.symbols])
    targets = batch.targets.numpy()
    tokens = into[batch.inputs[0].numpy()]
    segments = batch.inputs[1].numpy() if len(batch.inputs) > 1 else np.zeros_like(tokens)
    return Sequences(
        tokens=tokens,
        segments=segments,
        targets=np.where(targets == IGNORED, IGNORED, into[np.maximum(targets, 0)]),
        said=_task_said(training, own_text),
    )


def _task_said(training: TrainConfig, own_text: str | None) -> str:
    if not TASKS[training.task].reads_text:
        return f"sequences drawn as in training ({TASKS[training.task].label.lower()})"
    return f"the held-out end of {'its own text' if own_text else 'the help topics of Python'}"


def _of_a_text(model: Model, text: str | None, length: int, count: int, seed: int) -> Sequences:
    return tokenized(model, text).draw(length, count, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Tokens:
    """A text in a model's own numbers, from which sequences are cut.

    Parameters
    ----------
    objective : {"causal", "masked", "encoder"}
    symbols : _Symbols
        Round every sequence.
    numbers : int64 array of shape (n_tokens,)
    said : str
        Which text.
    """

    objective: Objective
    symbols: _Symbols
    numbers: NDArray[np.int64]
    said: str

    def window(self, length: int) -> int:
        """Tokens of the text in a sequence of so many positions, and one to guess after it."""
        outside = len(self.symbols.before) + len(self.symbols.after)
        return length - outside + (self.objective == "causal")

    def draw(
        self, length: int, count: int, rng: np.random.Generator, *, hidden: float = HIDDEN
    ) -> Sequences:
        """Windows at random places.

        Parameters
        ----------
        length, count : int
            Positions a sequence fills, and how many.
        rng : numpy Generator
        hidden : float
            Share of the tokens that a masked model has to guess, at least one of each sequence.

        Raises
        ------
        ModelError
            The text is too short.
        """
        numbers, symbols, inside, said = self.numbers, self.symbols, self.window(length), self.said
        if inside < 1 or len(numbers) < inside:
            raise too_short(len(numbers), length, inside)
        starts = rng.integers(0, len(numbers) - inside + 1, count)
        windows = numbers[starts[:, None] + np.arange(inside)]  # (count, inside)
        if self.objective == "causal":
            tokens, targets = windows[:, :-1], windows[:, 1:]
            return Sequences(tokens, np.zeros_like(tokens), np.ascontiguousarray(targets), said)
        frame = [
            np.tile(np.array(part, dtype=np.int64), (count, 1))
            for part in (symbols.before, symbols.after)
        ]
        tokens = np.concatenate([frame[0], windows, frame[1]], axis=1)
        targets = np.full_like(tokens, IGNORED)
        if self.objective == "masked":
            draws = rng.random(windows.shape)
            chosen = draws <= np.maximum(draws.min(axis=1, keepdims=True), hidden)
            within = slice(len(symbols.before), len(symbols.before) + inside)
            targets[:, within][chosen] = windows[chosen]
            tokens[:, within][chosen] = symbols.mask
            said = f"{said}, {hidden:.0%} of the tokens hidden".replace("%", " %")
        ends = len(symbols.before), len(symbols.after)
        return Sequences(tokens, np.zeros_like(tokens), targets, said, *ends)


def too_short(tokens: int, length: int, needed: int) -> ModelError:
    """What is said of a text that does not fill its sequences, or has no room in them."""
    if needed < 1:
        return ModelError(
            f"Sequences of {length:,} positions have no room for text beside the model's special "
            f"symbols. Choose a longer length."
        )
    return ModelError(
        f"The text gives {tokens:,} tokens; sequences of {length:,} positions need at least "
        f"{needed:,}. Give a longer text or a shorter length."
    )


def tokenized(model: Model, text: str | None = None) -> Tokens:
    """A text in a model's own numbers.

    Parameters
    ----------
    model : Model
    text : str or None
        None for the help topics of Python.

    Raises
    ------
    ModelError
        The model has no tokenizer, or a masked one no mask.
    """
    said = "a text of your own" if text is not None else "the help topics of Python"
    text = (library_text() if text is None else text)[:_MOST_TEXT]
    if model.vocabulary is not None:
        symbols = _Symbols(mask=model.vocabulary.numbers.get(MASK))  # trained on bare windows
        numbers = np.array(model.vocabulary.encode(text), dtype=np.int64)
    else:
        symbols, numbers = _tokenized(model, text)
    return Tokens(model.objective, symbols, numbers, said)


@dataclass(frozen=True)
class _Symbols:
    """The special symbols round a text: those before it, those after it, the mask."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    mask: int | None = None


def _tokenized(model: Model, text: str) -> tuple[_Symbols, NDArray[np.int64]]:
    from posviz.model.pretrained import open_tokenizer

    tokenizer: Any = open_tokenizer(model.folder, model.name)
    numbers = np.array(
        tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"],
        dtype=np.int64,
    )
    if model.objective == "causal":
        return _Symbols(), numbers
    ids = {name: getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "mask")}
    if model.objective == "masked" and ids["mask"] is None:
        raise ModelError(
            f"The tokenizer of {model.name} has no mask symbol, so there is nothing to hide tokens "
            f"with. Open a model with its own tokenizer."
        )
    before, after = (tuple(i for i in (ids[name],) if i is not None) for name in ("cls", "sep"))
    return _Symbols(before, after, ids["mask"]), numbers
