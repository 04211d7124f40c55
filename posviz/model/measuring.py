"""Every method on one model: what each costs at the old length and at the new one.

:func:`measure` is a generator: to stop is to stop asking. The page runs it for the small models
of this project; for others the same generator runs in a process of its own
(:mod:`posviz.model.worker`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import ModelError
from posviz.interpolation import extend
from posviz.model.drift import Drift, drift, read_in_parts, text_only
from posviz.model.loss import LossByPosition, loss_by_position
from posviz.model.runner import Model, wall
from posviz.model.texts import Sequences, sequences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Curve = LossByPosition | Drift
ORIGINAL = ""


@dataclass(frozen=True)
class Order:
    """What is to be measured.

    Parameters
    ----------
    ref : str
        Of the model.
    fingerprint : str
        Of the table that the person sees; another one in the model is refused.
    length : int
        The new one.
    methods : tuple of keys of METHODS
        In the order of measuring.
    grid, keep : str
        As for :func:`posviz.interpolation.extend`.
    count, seed : int
        How many sequences, and the seed of their choice.
    text : str or None
        A person's own.
    """

    ref: str
    fingerprint: str
    length: int
    methods: tuple[str, ...]
    grid: str = "align-corners"
    keep: str = ""
    count: int = 64
    seed: int = 0
    text: str | None = None


@dataclass(frozen=True)
class Begun:
    """What is known before the first method: the model, the two texts, and the wall.

    Parameters
    ----------
    name : str
    objective : {"causal", "masked", "encoder"}
    vocabulary_size, n_positions : int
        Of the model; knowing nothing costs ln(vocabulary_size).
    short, long : str
        What was read at each length.
    wall : str
        The library's own words when the model reads on past its last row; empty when it need not.
    """

    name: str
    objective: str
    vocabulary_size: int
    n_positions: int
    short: str
    long: str
    wall: str


@dataclass(frozen=True, eq=False)
class Measured:
    """One method's curves.

    Parameters
    ----------
    method : str
        Key of METHODS, or ORIGINAL for the model's own table.
    short : LossByPosition or Drift
        Over the positions that both tables have.
    long : LossByPosition, Drift or None
        Over all positions of the longer table; None for the original, which has no more rows.
    """

    method: str
    short: Curve
    long: Curve | None


def measure(model: Model, order: Order) -> Iterator[Begun | Measured]:
    """Measure the original, then each method.

    A causal model reads the same text at both lengths, so that its first half can be compared;
    the others read each length's own, since they see all of a text at once.

    Raises
    ------
    ModelError
        The model cannot read at these lengths, or its table is not the one on show.
    SettingError
        A method cannot make that length.
    """
    if (model.lent or model.table).fingerprint != order.fingerprint:
        raise ModelError(
            f"{model.name} looks positions up in {model.table.provenance.parameter}, which is not "
            f"the table on show. Open that one."
        )
    old, new = model.table.n_positions, order.length
    draw = {"count": order.count, "seed": order.seed, "text": order.text}
    long = sequences(model, length=new, **draw)  # type: ignore[arg-type]
    shorter = min(old, new)
    if model.objective == "causal" or new <= old:
        short = long.cut(shorter)
    else:
        short = sequences(model, length=shorter, **draw)  # type: ignore[arg-type]
    longer = long if new > old else None
    yield Begun(
        model.name, model.objective, model.vocabulary_size, old, short.said, long.said,
        wall(model, long) if longer else "",
    )  # fmt: skip
    compare = _drifts if model.objective == "encoder" else _losses
    yield from compare(model, order, short, longer)


def _losses(
    model: Model, order: Order, short: Sequences, long: Sequences | None
) -> Iterator[Measured]:
    yield Measured(ORIGINAL, loss_by_position(model, short), None)
    for method in order.methods:
        rows = _rows(model, order, method)
        beyond = loss_by_position(model, long, rows) if long else None
        yield Measured(method, loss_by_position(model, short, rows), beyond)


def _drifts(
    model: Model, order: Order, short: Sequences, long: Sequences | None
) -> Iterator[Measured]:
    before = text_only(model.vectors(short), short)
    parts = read_in_parts(model, long) if long else None
    yield Measured(ORIGINAL, drift(before, before, short.said), None)
    for method in order.methods:
        rows = _rows(model, order, method)

        def read(given: Sequences, rows: NDArray[np.float32] = rows) -> NDArray[np.float32]:
            return text_only(model.vectors(given, rows=rows), given)

        near = drift(before, read(short), short.said)
        far = drift(parts, read(long), long.said) if long and parts is not None else None
        yield Measured(method, near, far)


def _rows(model: Model, order: Order, method: str) -> NDArray[np.float32]:
    done = extend(model.table, order.length, method=method, grid=order.grid, keep=order.keep)
    return done.table.weights
