"""Somebody else's model at another length, of which only the table moves, or only its new rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from posviz.errors import ModelError
from posviz.model.loss import loss_by_position
from posviz.model.places import folder_of, is_ours, read_json
from posviz.model.runner import Model, open_model
from posviz.model.texts import Sequences, Tokens, tokenized, too_short
from posviz.runfolder import CONFIG
from posviz.sources import PRESETS, Access, load
from posviz.sources.runs import lender_of
from posviz.training import finetuner
from posviz.training.finetune import FineTuneConfig, fine_tune_config
from posviz.training.finetuner import TableTrainer, stretched
from posviz.training.loop import Trainer, batch_loss
from posviz.training.pretrained import PretrainedConfig
from posviz.training.tasks import IGNORED, Batch, Data
from posviz.training.text import library_text, read_text
from posviz.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.training.config import TrainConfig

_HELD_OUT = 0.1  # share of the text, its end, that the loss is measured on
_HELD_OUT_TOKENS = 2048  # of that; a measurement should cost less than the steps before it
_MOST_LOGITS = 1 << 22  # numbers in the output of what is read at once: with gradients, 64 MB
_PACE, _SLOWEST = 0.05, 1e-4  # of a row's size in a step, and the least learning rate
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
        for part, scored in self._parts(batch):
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
                for part, scored in self._parts(_batch(self._held_out))
            ]
        losses, scored = zip(*found, strict=True)
        return float(np.average(losses, weights=scored))

    def _parts(self, batch: Batch) -> Iterator[tuple[Batch, int]]:
        """A batch cut so that memory holds it, and how many symbols each part asks for."""
        for at in range(0, len(batch.targets), self._at_once):
            some = slice(at, at + self._at_once)
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


def sequences_at_once(length: int, vocabulary_size: int) -> int:
    """How many sequences are read together: the output of a large model allows one."""
    return max(_MOST_LOGITS // (length * vocabulary_size), 1)


def trainer_of(config: TrainConfig | PretrainedConfig, access: Access | None = None) -> Trainer:
    """What trains as a configuration says."""
    if isinstance(config, PretrainedConfig):
        return Tuner(config, access)
    return finetuner.trainer_of(config)


def tuning_config(
    source: str, length: int, *, access: Access | None = None, **settings: Any
) -> FineTuneConfig | PretrainedConfig:
    """The run that fine-tunes a model's table at another length, whosever model it is.

    Parameters
    ----------
    source : str
        A demo, a run, a folder of a model, or a Hub model that lies on this machine.
    length : int
        Positions of the new table.
    access : Access or None
    settings
        Of :class:`FineTuneConfig` or :class:`PretrainedConfig`; None counts as not given.

    Raises
    ------
    TrainingError
        A setting is out of range, or a model of posviz cannot be fine-tuned.
    ModelError, SourceError
        There is no whole model.
    """
    lender = lender_of(source)
    if lender is None and _of_posviz(source, access):
        return fine_tune_config(source, length, **settings)
    given = {name: value for name, value in settings.items() if value is not None}
    if "text" in given:
        given["text"] = str(Path(given["text"]).absolute())
    if lender is None:
        source = lender = _anywhere(source, access)
    folder_of(lender, access)  # refuses what is no model, before anything is made
    table = load(source, access=access)
    given.setdefault("learning_rate", usual_rate(table.weights))
    return PretrainedConfig(
        source=source, lender=lender, fingerprint=table.fingerprint, n_positions=length, **given
    )


def usual_rate(rows: NDArray[np.float32]) -> float:
    """A learning rate at which a number of a usual row may move by 5 % of its size in a step.

    AdamW steps by about the rate, whatever the gradient, and tables differ tenfold in size.

    Parameters
    ----------
    rows : array of shape (n_positions, d_model)
    """
    size = float(np.median(np.sqrt(np.square(rows, dtype=np.float64).mean(axis=1))))
    return float(f"{_PACE * size:.1g}") if _PACE * size > _SLOWEST else _SLOWEST


def _of_posviz(source: str, access: Access | None) -> bool:
    if source.partition(":")[0] in ("demo", "run"):
        return True
    folder = folder_of(source, access)
    return is_ours(folder, read_json(folder / CONFIG))


def _anywhere(source: str, access: Access | None) -> str:
    """A reference that means the same wherever posviz is started."""
    if source.startswith("hub:") or source in PRESETS:
        return source
    return str((access or Access()).absolute(source))


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
