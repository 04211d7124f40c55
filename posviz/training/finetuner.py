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

    from torch import Tensor

    from posviz.training.config import TrainConfig


class FineTuner(Trainer):
    """A :class:`Trainer` that begins with a trained model and a stretched table.

    Parameters
    ----------
    config : FineTuneConfig

    Attributes
    ----------
    frozen : bool tensor of shape (n_positions,)
        Rows that no step changes.

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
            tensors[name], frozen = _stretched(tensors[name], config)
            fill(model, tensors)
        except (OSError, SafetensorError, KeyError, RuntimeError) as err:
            raise TrainingError(
                f"{config.source} does not hold the model that its settings describe. Train it "
                f"again, or choose another."
            ) from err
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        table = model.positions.weight
        table.requires_grad_(True)
        self.frozen = torch.from_numpy(frozen)
        super().__init__(config, data=data, model=model)
        if self.frozen.any():
            moves = (~self.frozen).to(table.device)[:, None]
            # Without a gradient there is no moment either, so Adam's step for the row is zero.
            table.register_hook(lambda gradient: gradient * moves)  # type: ignore[no-untyped-call]


def _stretched(rows: Tensor, config: FineTuneConfig) -> tuple[Tensor, np.ndarray]:
    """The table at its new length, and which of its rows stay as they are."""
    provenance = Provenance(source="derived", ref=config.source)
    table = PositionTable(rows.float().numpy(), config.source, provenance)
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
    return torch.from_numpy(done.table.raw.copy()), frozen


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
