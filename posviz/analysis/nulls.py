"""Null tables: what a number would be if the claim beside it were false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import row_norms
from posviz.analysis.references import sinusoidal

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Null:
    """A table to compare with, made from the table that is looked at.

    Parameters
    ----------
    key, label : str
    keeps : str
        What it shares with the table, and so what it tests.
    fixed : bool
        Whether the shape alone makes it: then one draw says all, and is remembered.
    keeps_spectrum : bool
        Whether its singular values are those of the table, exactly.
    make : function of (weights, generator)
        Gives an array of the same shape.
    """

    key: str
    label: str
    keeps: str
    fixed: bool
    keeps_spectrum: bool
    make: Callable[[Array, np.random.Generator], Array]


def _gaussian(weights: Array, rng: np.random.Generator) -> Array:
    rows = rng.standard_normal(weights.shape, dtype=np.float32)
    # float64: a single value may be as large as the norm, and so too large for float32.
    scaled: Array = rows * (row_norms(weights) / row_norms(rows))[:, None]
    return scaled


def _shuffled(weights: Array, rng: np.random.Generator) -> Array:
    shuffled: Array = weights[rng.permutation(len(weights))]
    return shuffled


def _sinusoidal(weights: Array, rng: np.random.Generator) -> Array:
    del rng  # always the same table
    return sinusoidal(*weights.shape)


NULLS: dict[str, Null] = {
    null.key: null
    for null in (
        Null(
            key="gaussian",
            label="Gaussian rows",
            keeps="The norm of every row; directions are random. Tests low rank.",
            fixed=False,
            keeps_spectrum=False,
            make=_gaussian,
        ),
        Null(
            key="shuffled",
            label="Shuffled rows",
            keeps="Every row, and so the whole spectrum; only the order is random. Tests order.",
            fixed=False,
            keeps_spectrum=True,
            make=_shuffled,
        ),
        Null(
            key="sinusoidal",
            label="Sinusoidal",
            keeps="The shape. The fixed table of the first transformer, to compare with.",
            fixed=True,
            keeps_spectrum=False,
            make=_sinusoidal,
        ),
    )
}
