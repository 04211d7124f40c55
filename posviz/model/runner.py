"""A model that reads with any position table: its own, a stretched one, a spoilt one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from posviz.errors import ModelError
from posviz.training.tasks import IGNORED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.texts import Sequences
    from posviz.table import PositionTable
    from posviz.training.config import TrainConfig
    from posviz.training.vocabulary import Vocabulary

Objective = Literal["causal", "masked", "encoder"]

_MOST_LOGITS = 1 << 26  # numbers in the output of one batch: a quarter of a gigabyte
_SCORED_AT_ONCE = 256  # positions; the loss needs a second copy of their logits


@dataclass(frozen=True, eq=False)
class Model:
    """A model on this machine, ready to read.

    Parameters
    ----------
    ref, name : str
        The reference that opened it, and a short name for titles.
    folder : Path
        Where its files lie; the tokenizer is looked for there.
    objective : {"causal", "masked", "encoder"}
        Guesses the next symbol, guesses hidden ones, or has no output head.
    table : PositionTable
        Its own.
    vocabulary_size : int
    network : nn.Module
        In float32 and without dropout. Shared by all who run the model: see :meth:`reading`.
    positions : nn.Embedding
        The module of ``network`` that holds ``table.raw``.
    read : function (tokens, segments) -> tensor
        From symbol numbers and segments, both int64 (B, T), to logits (B, T, V); of an encoder,
        to its last hidden states (B, T, d_model).
    refit : function (stored rows) -> None
        Fits whatever else in ``network`` counts positions.
    training : TrainConfig or None
        How it was trained, for models of this project.
    vocabulary : Vocabulary or None
        Its symbols, for models of this project.
    lent : PositionTable or None
        The table as ``ref`` opens it, for a run that trained the table of this model; ``table``
        has the model's offset rows before it.
    """

    ref: str
    name: str
    folder: Path
    objective: Objective
    table: PositionTable
    vocabulary_size: int
    network: nn.Module
    positions: nn.Embedding
    read: Callable[[Tensor, Tensor], Tensor]
    refit: Callable[[int], None]
    training: TrainConfig | None = None
    vocabulary: Vocabulary | None = None
    lent: PositionTable | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def losses(
        self, sequences: Sequences, *, rows: NDArray[np.float32] | None = None
    ) -> NDArray[np.float64]:
        """Loss of every scored symbol.

        Parameters
        ----------
        sequences : Sequences
            Of T positions.
        rows : float32 array of shape (n_positions', d_model), optional
            Read in place of the model's own rows; its offset rows stay as they are.

        Returns
        -------
        float64 array of shape (B, T)
            Cross entropy in nats of the target at each place, NaN where none is scored.

        Raises
        ------
        ModelError
            The model has no output, or T is more than there are rows.
        """
        if self.objective == "encoder":
            raise ModelError(
                f"{self.name} has no output head, so it predicts nothing and has no loss. Look at "
                f"how its vectors drift instead."
            )
        found = np.full(sequences.tokens.shape, np.nan)
        targets = torch.from_numpy(sequences.targets)
        with self.reading(sequences.length, rows):
            for part, logits in self._batches(sequences):
                for at in range(0, sequences.length, _SCORED_AT_ONCE):
                    places = slice(at, at + _SCORED_AT_ONCE)
                    scored = cross_entropy(
                        logits[:, places].transpose(1, 2),
                        targets[part, places],
                        ignore_index=IGNORED,
                        reduction="none",
                    )
                    found[part, places] = scored.double().numpy()
        found[sequences.targets == IGNORED] = np.nan
        return found

    def vectors(
        self, sequences: Sequences, *, rows: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """The last hidden states of an encoder, shape (B, T, d_model); ``rows`` as in `losses`.

        Raises
        ------
        ModelError
            The model is no encoder, or there are more positions than rows.
        """
        if self.objective != "encoder":
            raise ModelError(
                f"{self.name} has an output head: its loss says what another table costs. "
                f"Measure that instead."
            )
        with self.reading(sequences.length, rows):
            return np.concatenate([out.numpy() for _, out in self._batches(sequences)])

    @contextmanager
    def reading(self, length: int, rows: NDArray[np.float32] | None = None) -> Iterator[nn.Module]:
        """The network with ``rows`` in place of its own, for as long as the block lasts.

        One reader at a time: others wait, since all share the weights.

        Raises
        ------
        ModelError
            ``length`` positions are to be read and there are fewer rows, or rows of another width.
        """
        self._check(length, rows)
        with self._lock, torch.inference_mode():
            if rows is None:
                yield self.network
                return
            offset = self.table.raw[: self.table.row_offset]
            new = torch.from_numpy(np.concatenate([offset, np.asarray(rows, np.float32)]))
            own = cast("nn.Parameter", self.positions.weight)
            try:
                self.put(nn.Parameter(new, requires_grad=False))
                yield self.network
            finally:
                self.put(own)

    def put(self, weight: nn.Parameter) -> None:
        """Look positions up in other stored rows from now on, offset rows included."""
        self.positions.weight = weight
        self.positions.num_embeddings = len(weight)
        self.refit(len(weight))

    def _check(self, length: int, rows: NDArray[np.float32] | None) -> None:
        n_positions = self.table.n_positions if rows is None else len(rows)
        width = self.table.d_model
        if rows is not None and (rows.ndim != 2 or rows.shape[1] != width):
            raise ModelError(
                f"{self.name} reads rows of {width} numbers; these have the shape "
                f"{' × '.join(map(str, rows.shape))}. Give rows of its own width."
            )
        if length > n_positions:
            raise ModelError(
                f"{self.name} has rows for positions 0 to {n_positions - 1}, and this text also "
                f"needs position {length - 1}: “index out of range”. Stretch the table or shorten "
                f"the text."
            )

    def _batches(self, sequences: Sequences) -> Iterator[tuple[slice, Tensor]]:
        width = self.table.d_model if self.objective == "encoder" else self.vocabulary_size
        size = max(_MOST_LOGITS // (sequences.length * width), 1)
        tokens, segments = map(torch.from_numpy, (sequences.tokens, sequences.segments))
        for at in range(0, len(tokens), size):
            part = slice(at, at + size)
            yield part, self.read(tokens[part], segments[part]).float()


def wall(model: Model, sequences: Sequences) -> str:
    """What PyTorch says when a model reads on past its last row, word for word.

    Nothing is guarded here: the text is handed over as it is. Empty where there is no wall.
    """
    with model._lock, torch.inference_mode():
        try:
            if model.training is None:
                model.read(
                    torch.from_numpy(sequences.tokens[:1]),
                    torch.from_numpy(sequences.segments[:1]),
                )
            else:  # our own models refuse with a sentence of their own; the look-up does not
                model.positions(torch.arange(sequences.length))
        except (IndexError, RuntimeError, ValueError) as err:
            return f"{type(err).__name__}: {err}".splitlines()[0]
    return ""
