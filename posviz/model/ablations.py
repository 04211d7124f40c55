"""What a model loses when its position table is spoilt in a stated way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import decompose
from posviz.errors import SettingError
from posviz.model.drift import Drift, drift, text_only
from posviz.model.loss import LossByPosition, loss_by_position
from posviz.model.texts import Sequences, sequences

if TYPE_CHECKING:
    from posviz.model.runner import Model

Float32 = NDArray[np.float32]

LONGEST = 256  # positions read; longer sequences take long and say little more here
RANKS = (1, 2, 3, 5, 8, 16, 32)


@dataclass(frozen=True)
class Ablation:
    """One way to spoil a table.

    Parameters
    ----------
    label : str
        For menus; ``{n}`` is the amount.
    explanation : str
        What is taken away and what stays, as a sentence.
    amount : str
        What its number counts; empty where there is none to choose.
    rows : function (weights, amount, generator)
        The rows to read instead, from those of shape (n_positions, d_model): as many, or fewer.
    """

    label: str
    explanation: str
    amount: str
    rows: Callable[[Float32, int, np.random.Generator], NDArray[np.floating]]


def _rank(weights: Float32, amount: int, rng: np.random.Generator) -> NDArray[np.floating]:
    return decompose(weights).reconstruct(amount)


def _shuffled(weights: Float32, amount: int, rng: np.random.Generator) -> NDArray[np.floating]:
    return weights[rng.permutation(len(weights))]


def _mean(weights: Float32, amount: int, rng: np.random.Generator) -> NDArray[np.floating]:
    return np.broadcast_to(weights.mean(axis=0, dtype=np.float64), weights.shape)


def _zero(weights: Float32, amount: int, rng: np.random.Generator) -> NDArray[np.floating]:
    return np.zeros_like(weights)


def _shifted(weights: Float32, amount: int, rng: np.random.Generator) -> NDArray[np.floating]:
    return weights[amount:]


ABLATIONS: dict[str, Ablation] = {
    "rank": Ablation(
        "Rank {n}",
        "The mean row and the first principal components; what lies in the others is gone.",
        "components kept",
        _rank,
    ),
    "shuffled": Ablation(
        "Rows shuffled",
        "Every row is there, at a random position: the spectrum stays, the order is gone.",
        "",
        _shuffled,
    ),
    "mean": Ablation(
        "Mean row everywhere",
        "What all positions share stays; the model cannot tell them apart.",
        "",
        _mean,
    ),
    "zero": Ablation("All zero", "Nothing is added for the position.", "", _zero),
    "shifted": Ablation(
        "Shifted by {n}",
        "Position 0 reads the row of a later one, and so on: distances stay, places move.",
        "positions",
        _shifted,
    ),
}


@dataclass(frozen=True, eq=False)
class Ablated:
    """A model's loss with a spoilt table.

    Parameters
    ----------
    key : key of ABLATIONS, or ``whole`` for the table as it is
    amount : int
        0 where there is none.
    label : str
    loss : LossByPosition
    """

    key: str
    amount: int
    label: str
    loss: LossByPosition


def spoilt(weights: Float32, key: str, amount: int = 0, *, seed: int = 0) -> Float32:
    """The rows that an ablation makes of a table.

    Parameters
    ----------
    weights : array of shape (n_positions, d_model)
        The rows in use, without offset rows.
    key : key of ABLATIONS
    amount : int
        Components kept, or positions shifted.
    seed : int
        Of the shuffle.

    Returns
    -------
    array of shape (n_positions, d_model)
        As many rows, but for a shift, which leaves ``n_positions - amount``.

    Raises
    ------
    SettingError
        No such ablation, or an amount outside what is possible.
    """
    if key not in ABLATIONS:
        raise SettingError(f"There is no ablation “{key}”. Choose one of {', '.join(ABLATIONS)}.")
    last = {"rank": min(weights.shape), "shifted": len(weights) - 1}.get(key, 0)
    if not 0 <= amount <= last:
        what = ABLATIONS[key].amount or "amount"
        raise SettingError(
            f"{ABLATIONS[key].label.format(n=amount)}: the number of {what} lies between 0 and "
            f"{last} for a table of {len(weights)} × {weights.shape[1]}."
        )
    rows = ABLATIONS[key].rows(weights, amount, np.random.default_rng(seed))
    return np.ascontiguousarray(rows, dtype=np.float32)


def usual(model: Model) -> list[tuple[str, int]]:
    """Every ablation with the amounts that are worth a look at this model's size."""
    table = model.table
    ranks = [k for k in RANKS if k < min(table.n_positions, table.d_model)]
    amounts = {"rank": ranks, "shifted": [_shift(table.n_positions)]}
    return [(key, amount) for key in ABLATIONS for amount in amounts.get(key, [0])]


def usual_sequences(model: Model, *, count: int = 32, seed: int = 0) -> Sequences:
    """Sequences to measure on, short enough that a shifted table reaches over them too.

    Raises
    ------
    ModelError
        As :func:`posviz.model.texts.sequences`.
    """
    n_positions = model.table.n_positions
    length = min(n_positions - _shift(n_positions), LONGEST)
    return sequences(model, length=length, count=count, seed=seed)


def ablate(
    model: Model, read: Sequences, wanted: Iterable[tuple[str, int]], *, seed: int = 0
) -> Iterator[Ablated]:
    """The loss of the table as it is, then with each ablation, one after the other.

    Stop by not asking for the next.

    Parameters
    ----------
    model : Model
    read : Sequences
    wanted : iterable of (key of ABLATIONS, amount)
    seed : int
        Of the shuffle.

    Raises
    ------
    ModelError
        The model has no loss, or the sequences reach beyond a shifted table.
    SettingError
        As :func:`spoilt`.
    """
    yield Ablated("whole", 0, "As it is", loss_by_position(model, read))
    for key, amount in wanted:
        rows = spoilt(model.table.weights, key, amount, seed=seed)
        label = ABLATIONS[key].label.format(n=amount)
        yield Ablated(key, amount, label, loss_by_position(model, read, rows))


@dataclass(frozen=True, eq=False)
class Drifted:
    """What a spoilt table does to the vectors of a model without a loss.

    Parameters
    ----------
    key : key of ABLATIONS
    amount : int
        0 where there is none.
    label : str
    drift : Drift
        From the vectors with the table as it is.
    """

    key: str
    amount: int
    label: str
    drift: Drift


def ablate_vectors(
    model: Model, read: Sequences, wanted: Iterable[tuple[str, int]], *, seed: int = 0
) -> Iterator[Drifted]:
    """The drift of an encoder's vectors with each ablation, one after the other.

    Parameters
    ----------
    model, read, wanted, seed
        As for :func:`ablate`.

    Raises
    ------
    ModelError
        The model is no encoder.
    SettingError
        As :func:`spoilt`.
    """
    before = text_only(model.vectors(read), read)
    for key, amount in wanted:
        rows = spoilt(model.table.weights, key, amount, seed=seed)
        after = text_only(model.vectors(read, rows=rows), read)
        label = ABLATIONS[key].label.format(n=amount)
        yield Drifted(key, amount, label, drift(before, after, read.said))


def _shift(n_positions: int) -> int:
    return n_positions // 8
