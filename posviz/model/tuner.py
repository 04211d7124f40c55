"""Somebody else's model at another length, of which only the table moves, or only its new rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from posviz.errors import ModelError
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.memory import sequences_at_once
from posviz.model.places import read_json
from posviz.model.texts import Sequences, Tokens, tokenized, too_short
from posviz.runfolder import CONFIG
from posviz.training import finetuner
from posviz.training.finetuner import TableTrainer, stretched
from posviz.training.loop import Trainer, batch_loss
from posviz.training.pretrained import PretrainedConfig
from posviz.training.tasks import IGNORED, Batch, Data
from posviz.training.text import library_text, read_text
from posviz.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posviz.model.runner import Model
    from posviz.sources import Access
    from posviz.training.config import TrainConfig

_HELD_OUT = 0.1  # share of the text, its end, that the loss is measured on
_HELD_OUT_TOKENS = 2048  # of that; a measurement should cost less than the steps before it
_OFTEN = 20  # steps during which every second one is kept: each may take a minute


class Tuner(TableTrainer):
    """A :class:`Trainer` of the stretched table of a model that transformers opens.

    The run folder keeps the table; the model's own weights stay where they are.

    Parameters
    ----------
    config : PretrainedConfig
    access : Access or None
        What may be opened.

    Raises
    ------
    ModelError
        The model is not there or cannot be run, has no loss, or has another table by now; the
        text is too short.
    TrainingError
        The table cannot be stretched as asked.
    """

    keeps_model: ClassVar[bool] = False

    def __init__(self, config: PretrainedConfig, access: Access | None = None) -> None:
        model = open_model(config.source, access=access, lean=True)
        _check(model, config)
        text = library_text() if config.text is None else read_text(config.text)
        parts = _parted(tokenized(model, text), config.n_positions)
        table, frozen = stretched(model.table, config)

        def sample(count: int, generator: torch.Generator, held_out: bool) -> Batch:
            seed = int(torch.randint(2**62, (1,), generator=generator))
            return _batch(_drawn(parts[held_out], config, config.n_positions, count, seed))

        count = max(_HELD_OUT_TOKENS // config.n_positions, 2)
        self._held_out = _drawn(parts[True], config, config.n_positions, count, seed=0)
        self._before = _loss_before(model, parts[True], config, self._held_out)
        self._at_once = sequences_at_once(config.n_positions, model.vocabulary_size)
        self._config = read_json(model.folder / CONFIG)
        self.rows = slice(table.row_offset, None)
        model.put(nn.Parameter(torch.from_numpy(table.raw.copy())))
        super().__init__(
            config,
            data=Data(Vocabulary(()), sample, sha256(text.encode()).hexdigest()),
            model=_Reader(model),
            frozen=frozen,
        )
        model.network.to(self.device)

    def backward(self, batch: Batch) -> float:
        """As :meth:`Trainer.backward`, few sequences at a time where a model's output is large."""
        total = (batch.targets != IGNORED).sum().item()
        value = 0.0
        for part, scored in self._parts(batch, measures=False):
            loss = batch_loss(self.model, part) * (scored / total)
            value += loss.item()
            if not math.isfinite(value):
                raise self.diverged(value)
            torch.autograd.backward(loss)
        return value

    def held_out(self) -> float:
        """As :meth:`Trainer.held_out`, few sequences at a time."""
        with torch.no_grad():
            found = [
                (batch_loss(self.model, part).item(), scored)
                for part, scored in self._parts(_batch(self._held_out), measures=True)
            ]
        losses, scored = zip(*found, strict=True)
        return float(np.average(losses, weights=scored))

    def _parts(self, batch: Batch, *, measures: bool) -> Iterator[tuple[Batch, int]]:
        """A batch cut so that memory holds it, and how many symbols each part asks for."""
        of = len(batch.targets)
        step = self.step if measures else self.step + 1
        for at in range(0, of, self._at_once):
            some = slice(at, at + self._at_once)
            last = min(at + self._at_once, of)
            self.reading(step=step, measures=measures, first=at + 1, last=last, of=of)
            part = Batch(tuple(one[some] for one in batch.inputs), batch.targets[some])
            yield part, int((part.targets != IGNORED).sum())

    def schedule(self) -> Iterator[int]:
        """Every second step at first, then ever more rarely."""
        step = 0
        while True:
            yield step
            step += 2 if step < _OFTEN else max(step // 10, 2)

    def description(self) -> dict[str, Any]:
        """Whose table the run holds, and the loss of the model before it was stretched."""
        kept = ("model_type", "architectures")
        told = {name: self._config[name] for name in kept if name in self._config}
        return told | {"posviz": {"before": self._before}}


class _Reader(nn.Module):
    """A model of which nothing but the position table is a parameter, or is kept."""

    positions: nn.Embedding

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.positions = model.positions
        self._read = model.read

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        return self._read(tokens, segments).float()


def trainer_of(config: TrainConfig | PretrainedConfig, access: Access | None = None) -> Trainer:
    """What trains as a configuration says."""
    if isinstance(config, PretrainedConfig):
        return Tuner(config, access)
    return finetuner.trainer_of(config)


def _check(model: Model, config: PretrainedConfig) -> None:
    if model.objective == "encoder":
        raise ModelError(
            f"{model.name} has no output head, so it predicts nothing and there is no loss to "
            f"learn by. Open the causal or masked model that it was cut from."
        )
    if (model.lent or model.table).fingerprint != config.fingerprint:
        raise ModelError(
            f"{model.name} has another position table by now than when the run began, or looks "
            f"positions up in another one than that on show. Begin a new run."
        )


def _parted(tokens: Tokens, length: int) -> dict[bool, Tokens]:
    """The text to learn from (False), and its end to measure on (True)."""
    numbers, window = tokens.numbers, tokens.window(length)
    kept = max(window, int(len(numbers) * _HELD_OUT))
    if window < 1 or len(numbers) < kept + window:
        raise too_short(len(numbers), length, 2 * window)
    return {
        held_out: Tokens(tokens.objective, tokens.symbols, part, tokens.said)
        for held_out, part in ((False, numbers[:-kept]), (True, numbers[-kept:]))
    }


def _drawn(
    tokens: Tokens, config: PretrainedConfig, length: int, count: int, seed: int
) -> Sequences:
    return tokens.draw(length, count, np.random.default_rng(seed), hidden=config.mask)


def _loss_before(
    model: Model, tokens: Tokens, config: PretrainedConfig, read: Sequences
) -> dict[str, float]:
    """Length and loss of the model with the table it has, on the end of the text."""
    length = min(model.table.n_positions, config.n_positions)
    count = len(read.tokens)
    if model.objective != "causal":
        read = _drawn(tokens, config, length, count, seed=0)
    loss = loss_by_position(model, read.cut(length)).mean
    return {"n_positions": length, "loss": loss}


def _batch(read: Sequences) -> Batch:
    inputs = tuple(torch.from_numpy(np.array(part)) for part in (read.tokens, read.segments))
    return Batch(inputs, torch.from_numpy(np.array(read.targets)))
