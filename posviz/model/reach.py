"""How far a model reads: its loss on the same task at lengths up to its table's end and beyond.

A sinusoidal table goes on by its formula. A learned one has no rows past its last: the model
refuses, and what it loses with the two usual remedies, a stretched table and new random rows, is
measured instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posviz.analysis.references import sinusoidal
from posviz.interpolation import extend
from posviz.model.loss import LossByPosition, loss_by_position
from posviz.model.runner import wall
from posviz.model.texts import sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.runner import Model

_SHARES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)  # lengths, in table lengths
_TOKENS = 8192  # read at each length
_LEAST = 8  # positions; the tasks need some

WAYS: dict[str, str] = {
    "own": "its own rows",
    "formula": "the formula goes on",
    "stretched": "stretched (linear)",
    "appended": "new random rows after its own",
}
"""Where the rows come from that a model reads with."""


@dataclass(frozen=True, eq=False)
class Reach:
    """A model's loss at one length.

    Parameters
    ----------
    length : int
        Positions read.
    way : key of WAYS
    loss : LossByPosition
    """

    length: int
    way: str
    loss: LossByPosition


def reach(model: Model, *, seed: int = 0) -> Iterator[Reach]:
    """The loss at half the table's length to three times it, one after the other.

    Stop by not asking for the next.

    Parameters
    ----------
    model : Model
        One with a table of at least 8 rows, and a loss.
    seed : int
        Of the sequences and of random rows.

    Raises
    ------
    ModelError
        The model has no loss.
    """
    for length in lengths(model.table.n_positions):
        read = sequences(model, length=length, count=max(_TOKENS // length, 4), seed=seed)
        for way, rows in _rows(model, length, seed):
            yield Reach(length, way, loss_by_position(model, read, rows))


def lengths(n_positions: int) -> list[int]:
    """At which lengths a table of so many rows is tried, rising; its own is among them."""
    wanted = {max(round(share * n_positions), _LEAST) for share in _SHARES}
    return sorted(wanted | {n_positions})


def refusal(model: Model) -> str:
    """What the model says, in its library's words, when it reads one position too many."""
    length = model.table.n_positions + 1
    return "" if _goes_on(model) else wall(model, sequences(model, length=length, count=1))


def _goes_on(model: Model) -> bool:
    return model.table.kind == "sinusoidal"


def _rows(model: Model, length: int, seed: int) -> Iterator[tuple[str, NDArray[np.float32] | None]]:
    table = model.table
    if length <= table.n_positions:
        yield "own", None
    if length < table.n_positions:
        return
    if _goes_on(model):
        if length > table.n_positions:
            yield "formula", sinusoidal(length, table.d_model).astype(np.float32)
        return
    yield "stretched", extend(table, length).table.weights
    yield "appended", extend(table, length, method="gaussian", seed=seed).table.weights
