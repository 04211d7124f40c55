"""A trained model at another length, of which only the table moves, or only its new rows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from posviz.errors import PosvizError, TrainingError
from posviz.interpolation import METHODS, extend
from posviz.runfolder import MODEL, VOCABULARY
from posviz.table import PositionTable, Provenance
from posviz.training.finetune import FineTuneConfig, source_folder
from posviz.training.huggingface import fill, stored_name
from posviz.training.loop import Trainer, build_model
from posviz.training.tasks import IGNORED, TASKS, Batch, Data
from posviz.training.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import nn

    from posviz.training.config import Schedule, TrainConfig
    from posviz.training.pretrained import PretrainedConfig


class TableTrainer(Trainer):
    """A :class:`Trainer` of the position table alone, some of whose rows no step changes.

    Parameters
    ----------
    config : Schedule
    data : Data
    model : nn.Module
        No parameter but that of ``positions`` takes a gradient.
    frozen : bool array of shape (stored rows,)

    Attributes
    ----------
    frozen : bool tensor of shape (stored rows,)
    """

    def __init__(
        self, config: Schedule, *, data: Data, model: nn.Module, frozen: NDArray[np.bool_]
    ) -> None:
        super().__init__(config, data=data, model=model)
        table = self.positions.weight
        self.frozen = torch.from_numpy(frozen).to(table.device)
        self._held = table.detach()[self.frozen].clone()
        moves = (~self.frozen)[:, None]
        # Without a gradient there is no moment, and no share in the gradient's length.
        table.register_hook(lambda gradient: gradient * moves)  # type: ignore[no-untyped-call]

    def advance(self) -> float:
        """As :meth:`Trainer.advance`; weight decay does not reach frozen rows either."""
        loss = super().advance()
        with torch.no_grad():
            self.positions.weight[self.frozen] = self._held
        return loss


class FineTuner(TableTrainer):
    """Begins with a model of posviz and a stretched table.

    Parameters
    ----------
    config : FineTuneConfig

    Raises
    ------
    TrainingError
        The source cannot be read, or the table cannot be stretched as asked.
    """

    def __init__(self, config: FineTuneConfig) -> None:
        folder = source_folder(config.source)
        vocabulary = _vocabulary(folder)
        data = _in_the_words_of(TASKS[config.task].prepare(config), vocabulary)
        model = build_model(config, len(vocabulary))
        try:
            tensors = load_file(folder / MODEL)
            name = stored_name(model, "positions.weight")
            provenance = Provenance(source="derived", ref=config.source)
            before = PositionTable(tensors[name].float().numpy(), config.source, provenance)
            table, frozen = stretched(before, config)
            tensors[name] = torch.from_numpy(table.raw.copy())
            fill(model, tensors)
        except (OSError, SafetensorError, KeyError, RuntimeError) as err:
            raise TrainingError(
                f"{config.source} does not hold the model that its settings describe. Train it "
                f"again, or choose another."
            ) from err
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        model.positions.weight.requires_grad_(True)
        super().__init__(config, data=data, model=model, frozen=frozen)


def stretched(
    table: PositionTable, config: FineTuneConfig | PretrainedConfig
) -> tuple[PositionTable, NDArray[np.bool_]]:
    """The table at its new length, and which of its stored rows stay as they are.

    Raises
    ------
    TrainingError
        It cannot be stretched as asked, or no row would be left to train.
    """
    try:
        done = extend(
            table, config.n_positions, method=config.method, grid=config.grid, keep=config.keep,
            seed=config.seed,
        )  # fmt: skip
    except PosvizError as err:
        raise TrainingError(str(err)) from err
    frozen = np.zeros(config.n_positions, dtype=bool)
    if config.moving == "new":
        frozen[list(done.places)] = True
        if METHODS[config.method].family == "append":
            frozen[: table.n_positions] = True
    if frozen.all():
        raise TrainingError(
            f"At {config.n_positions} positions {config.method} leaves every row of the "
            f"{table.n_positions} as it is, so there is no new row to train. Choose a greater "
            f"length, or let the whole table move."
        )
    return done.table, np.concatenate([np.ones(table.row_offset, dtype=bool), frozen])


def _vocabulary(folder: Path) -> Vocabulary:
    try:
        numbers = json.loads((folder / VOCABULARY).read_bytes())
        symbols = tuple(sorted(numbers, key=numbers.__getitem__))
    except (OSError, ValueError, TypeError, AttributeError) as err:
        raise TrainingError(
            f"{folder.name} does not say which symbols its model knows ({VOCABULARY}). Train it "
            f"again, or choose another."
        ) from err
    return Vocabulary(symbols)


def _in_the_words_of(data: Data, vocabulary: Vocabulary) -> Data:
    """The task's sequences in the model's own numbers; what it never saw becomes ``[UNK]``.

    Another version of Python documents itself in other characters.
    """
    if data.vocabulary == vocabulary:
        return data
    unknown = vocabulary[UNKNOWN]
    into = torch.tensor([vocabulary.numbers.get(s, unknown) for s in data.vocabulary.symbols])

    def sample(count: int, generator: torch.Generator, held_out: bool) -> Batch:
        batch = data.sample(count, generator, held_out)
        tokens, *segments = batch.inputs
        asked = batch.targets != IGNORED
        targets = torch.where(asked, into[batch.targets.clamp(min=0)], IGNORED)
        return Batch((into[tokens], *segments), targets)

    return replace(data, vocabulary=vocabulary, sample=sample)


def trainer_of(config: TrainConfig) -> Trainer:
    """What trains as a configuration says."""
    return FineTuner(config) if isinstance(config, FineTuneConfig) else Trainer(config)
