"""The loss of a model at every position, and what another table does to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.runner import Model
    from posviz.model.texts import Sequences


@dataclass(frozen=True, eq=False)
class LossByPosition:
    """Cross entropy of a model along its positions.

    Parameters
    ----------
    mean : float
        Over all scored symbols, in nats.
    by_position : float64 array of shape (T,)
        Mean over the sequences at each position; NaN where none was scored.
    squares : float64 array of shape (T,)
        Mean of the squared losses at each position, for the spread.
    count : int64 array of shape (T,)
        Symbols scored at each position.
    said : str
        What was read: text, tokens, seed.
    """

    mean: float
    by_position: NDArray[np.float64]
    squares: NDArray[np.float64]
    count: NDArray[np.int64]
    said: str

    @property
    def perplexity(self) -> float:
        """How many equally likely symbols the model hesitates among: e to the mean loss."""
        return math.exp(min(self.mean, 700.0))  # what is larger is no float64

    def half(self, which: int) -> float:
        """Mean over the scored symbols of the first (0) or second (1) half of the positions."""
        middle = len(self.count) // 2
        part = slice(middle) if which == 0 else slice(middle, None)
        total = self.count[part].sum()
        losses = np.nan_to_num(self.by_position[part]) * self.count[part]
        return float(losses.sum() / total) if total else math.nan


def loss_by_position(
    model: Model, sequences: Sequences, rows: NDArray[np.float32] | None = None
) -> LossByPosition:
    """The loss of a model with other rows in place of its own.

    Parameters
    ----------
    model : Model
    sequences : Sequences
        Of T positions.
    rows : float32 array of shape (n_positions', d_model), optional
        With at least T rows; the model's own if absent.

    Raises
    ------
    ModelError
        As :meth:`Model.losses`.
    """
    losses = model.losses(sequences, rows=rows)
    scored = np.isfinite(losses) | np.isinf(losses)
    count = scored.sum(axis=0)
    held = np.where(scored, losses, 0.0)
    least = np.maximum(count, 1)
    nothing = np.where(count > 0, 0.0, np.nan)
    total = int(count.sum())
    return LossByPosition(
        mean=float(held.sum() / total) if total else math.nan,
        by_position=held.sum(axis=0) / least + nothing,
        squares=np.square(held).sum(axis=0) / least + nothing,
        count=count.astype(np.int64),
        said=sequences.said,
    )


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A loss by position with its neighbours averaged in; arrays of shape (T,).

    ``low`` and ``high`` are the mean less and plus one standard error of the window's symbols.
    """

    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    window: int


def smoothed(loss: LossByPosition, window: int) -> Smoothed:
    """Average the loss over ``window`` positions, fewer at the ends and never across nothing.

    Every scored symbol of the window counts the same.
    """
    return moving(loss.by_position, loss.squares, loss.count, window)


def moving(
    means: NDArray[np.float64],
    squares: NDArray[np.float64],
    count: NDArray[np.int64],
    window: int,
) -> Smoothed:
    """Means in a moving window, from the mean, the mean square and the count at each position."""
    before = window // 2
    weights = count.astype(np.float64)

    def around(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values) * weights)])
        at = np.arange(len(weights))
        first = np.maximum(at - before, 0)
        last = np.minimum(at - before + window, len(weights))
        summed: NDArray[np.float64] = total[last] - total[first]
        return summed

    held = around(np.ones_like(weights))
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(held > 0, around(means) / held, np.nan)
        variance = np.maximum(around(squares) / held - np.square(middle), 0.0)
        error = np.sqrt(variance / held)
    return Smoothed(middle, middle - error, middle + error, window)
