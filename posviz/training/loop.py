"""Training as a generator of snapshots: to stop is to stop asking.

Everything random comes from the configuration's seed, the learning rate and the moments of the
snapshots depend on the step alone, and the loss of a snapshot is measured on the same held-out
sequences each time. So equal configurations and thread counts give equal bits, and a run broken
off and taken up again gives the same bits as one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from posviz.errors import TrainingError
from posviz.training.bert import BERT, BERTConfig
from posviz.training.config import TrainConfig
from posviz.training.gpt import GPT, GPTConfig
from posviz.training.huggingface import to_config
from posviz.training.schedule import scheduled_steps
from posviz.training.tasks import IGNORED, TASKS, Batch, Data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.training.config import Schedule

HELD_OUT_SEQUENCES = 32
_HELD_OUT_SEED = 2**31 - 1  # fixed, so that losses of different runs are measured alike
_LARGEST_GRADIENT = 1.0  # longer gradients are shortened to this norm, as nanoGPT does


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The table at one moment of training.

    Parameters
    ----------
    step : int
        Optimiser steps taken.
    loss : float
        Mean cross entropy of the predicted symbols in held-out sequences, in nats. A model that
        knows nothing has ln(vocabulary).
    table : float32 array of shape (n_positions, d_model)
        Rows as they were, not centred; a copy.
    seen : bool array of shape (n_positions,)
        Which rows ever received a gradient.
    """

    step: int
    loss: float
    table: NDArray[np.float32]
    seen: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a run stands after a step.

    Parameters
    ----------
    step : int
        Optimiser steps taken.
    batch_loss : float or None
        Loss in nats of the step's own batch, from before the step; None before the first step.
    snapshot : Snapshot or None
        The table, where one was due.
    """

    step: int
    batch_loss: float | None
    snapshot: Snapshot | None = None


def build_model(config: TrainConfig, vocabulary_size: int) -> GPT | BERT:
    """A model with the configuration's initial weights; torch's own random state is left alone."""
    sizes = {
        name: getattr(config, name)
        for name in (
            *("n_positions", "d_model", "n_layers", "n_heads", "table"),
            *("token_scale", "table_scale", "weight_scale"),
        )
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if TASKS[config.task].architecture == "gpt":
            return GPT(GPTConfig(vocabulary_size, **sizes))
        return BERT(BERTConfig(vocabulary_size, **sizes))


def batch_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross entropy in nats over the symbols a batch asks for, a tensor with no axes."""
    device = next(model.parameters()).device
    logits: Tensor = model(*(part.to(device) for part in batch.inputs))  # (B, T, V)
    targets = batch.targets.to(device)
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def held_out_loss(model: nn.Module, data: Data, *, sequences: int = HELD_OUT_SEQUENCES) -> float:
    """Loss in nats on held-out sequences, the same ones at every call."""
    batch = data.sample(sequences, torch.Generator().manual_seed(_HELD_OUT_SEED), True)
    with torch.no_grad():
        return batch_loss(model, batch).item()


class Learner(Protocol):
    """A module with a position table that reads symbols and gives logits."""

    positions: nn.Embedding


class Trainer:
    """A model on its way: what changes from step to step, and how to take one.

    Parameters
    ----------
    config : Schedule
        Says how to step; the seed is that of every batch.
    data : Data or None
        None makes the sequences of the configuration's task.
    model : nn.Module or None
        With a position table called ``positions``. The parameters it lists are those a resume
        needs; of them those that take a gradient are trained. None builds a new one.

    Attributes
    ----------
    keeps_model : bool
        Whether the run folder holds the whole model, or its table alone.
    rows : slice
        The rows of the stored table that are positions.
    reading : function (step, measures, first, last, of)
        Called by these names before each part of a batch, by a trainer that reads batches in
        parts: for which step, whether to measure the loss or to learn, and which of the
        sequences, counted from 1. It does nothing until somebody puts another in its place.

    Raises
    ------
    TrainingError
        The task cannot be made ready, for example from too short a text.
    """

    keeps_model: ClassVar[bool] = True
    rows: slice = slice(None)

    def __init__(
        self, config: Schedule, *, data: Data | None = None, model: nn.Module | None = None
    ) -> None:
        self.config = config
        if data is None:
            assert isinstance(config, TrainConfig), "only a task makes its own sequences"
            data = TASKS[config.task].prepare(config)
        if model is None:
            assert isinstance(config, TrainConfig), "only a task has a model of its own"
            model = build_model(config, len(data.vocabulary))
        self.data, self.model = data, model
        self.positions = cast("Learner", model).positions
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self.device)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.step = 0
        self.reading: Callable[..., None] = _unheard
        self.seen = torch.zeros(config.n_positions, dtype=torch.bool, device=self.device)
        weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [  # as in GPT-2: matrices decay, the position table among them; gains and biases do not
                {
                    "params": [p for p in weights if p.dim() > 1],
                    "weight_decay": config.weight_decay,
                },
                {"params": [p for p in weights if p.dim() < 2], "weight_decay": 0.0},
            ],
            fused=True,
        )

    def advance(self) -> float:
        """Take one optimiser step and return the loss of its batch, from before the step.

        Raises
        ------
        TrainingError
            The loss is not a finite number; the weights are as the step before left them.
        """
        batch = self.data.sample(self.config.batch_size, self.generator, False)
        self.optimizer.zero_grad(set_to_none=True)
        value = self.backward(batch)
        if (gradient := self.positions.weight.grad) is not None:
            self.seen |= gradient[self.rows].any(dim=1)
        nn.utils.clip_grad_norm_(self.model.parameters(), _LARGEST_GRADIENT)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.config)
        self.optimizer.step()
        self.step += 1
        return value

    def backward(self, batch: Batch) -> float:
        """Gradients of a batch's loss, which is returned.

        Raises
        ------
        TrainingError
            The loss is not a finite number.
        """
        loss = batch_loss(self.model, batch)
        value = loss.item()
        if not math.isfinite(value):
            raise self.diverged(value)
        torch.autograd.backward(loss)
        return value

    def held_out(self) -> float:
        """Loss in nats on the held-out sequences, the same ones each time."""
        return held_out_loss(self.model, self.data)

    def schedule(self) -> Iterator[int]:
        """Steps at which a snapshot is due, from 0, without end."""
        return scheduled_steps()

    def description(self) -> dict[str, Any]:
        """What the run's ``config.json`` says beside its settings."""
        assert isinstance(self.model, GPT | BERT)
        return to_config(self.model, self.data.vocabulary)

    def snapshot(self) -> Snapshot:
        """The table now, with the held-out loss.

        Raises
        ------
        TrainingError
            The loss or the table is not finite.
        """
        rows = self.positions.weight.detach()[self.rows].cpu().numpy().copy()
        loss = self.held_out()
        if not (math.isfinite(loss) and np.isfinite(rows).all()):
            raise self.diverged(loss)
        return Snapshot(self.step, loss, rows, self.seen.cpu().numpy())

    def diverged(self, loss: float) -> TrainingError:
        """What is said where the loss is no longer a number."""
        return TrainingError(
            f"The loss became {loss} after step {self.step}, so the run stops there; the "
            f"snapshots before it are kept. Choose a learning-rate below "
            f"{self.config.learning_rate:g}."
        )

    def progress(self) -> Iterator[Progress]:
        """Train to the configuration's last step, saying after each step where things stand.

        The first item has the snapshot of the state before any step; the last step has one too.
        A trainer that was restored goes on from there.
        """
        last, loss = self.config.steps, None
        for due in self.schedule():
            if due < self.step:  # a restored trainer is past it
                continue
            while self.step < min(due, last):
                loss = self.advance()
                if self.step < min(due, last):
                    yield Progress(self.step, loss)
            yield Progress(self.step, loss, self.snapshot())
            if self.step >= last:
                return


def _unheard(**told: object) -> None:
    """Nobody asks how far a step is."""


def snapshots(config: TrainConfig) -> Iterator[Snapshot]:
    """Train from the start, giving the table at each scheduled step and at the last.

    Raises
    ------
    TrainingError
        The task cannot be made ready, or the loss stops being a finite number.
    """
    return (now.snapshot for now in Trainer(config).progress() if now.snapshot is not None)


def learning_rate(step: int, config: Schedule) -> float:
    """Rate of the step after ``step`` ones: a straight climb over the warm-up, then level.

    It does not depend on the number of steps asked for, so that going on equals not stopping.
    """
    return config.learning_rate * min(1.0, (step + 1) / max(config.warm_up, 1))
