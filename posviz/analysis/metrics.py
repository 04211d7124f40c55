"""The ways to compare two positions: the entries of a registry that menus and tests walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import Compare, unit_rows
from posviz.errors import SettingError

Array = NDArray[np.floating]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Metric:
    """One way to compare two positions.

    Parameters
    ----------
    key, label, formula : str
        Name in code, name on screen, and the formula in plain text.
    centred : bool
        Whether the mean row is taken away first.
    limits : (float or None, float or None)
        Smallest and largest possible value; None where the weights set it.
    diverging : bool
        Whether 0 is the middle of the scale.
    linear : bool
        Whether it is a dot product of prepared rows: then means of pairs come from means of
        rows, and offsets from a Fourier transform.
    rows : function
        Weights to prepared rows.
    compare : function
        Two sets of prepared rows to the similarity of every pair.
    """

    key: str
    label: str
    formula: str
    centred: bool
    limits: tuple[float | None, float | None]
    diverging: bool
    linear: bool
    rows: Callable[[Array], Array]
    compare: Compare


def cosines(left: Array, right: Array) -> Array:
    """Dot products of unit rows, which rounding does not push past 1."""
    block: Array = left @ right.T
    return np.clip(block, -1.0, 1.0, out=block)


def _dot(left: Array, right: Array) -> Array:
    block: Float32 = np.clip(left @ right.T, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)
    return block


def _euclidean(left: Array, right: Array) -> Array:
    squares = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
    squares -= 2 * (left @ right.T)
    distances: Float32 = np.sqrt(np.maximum(squares, 0.0)).clip(max=FLOAT32_MAX).astype(np.float32)
    return distances


def _centred(weights: Array) -> Float64:
    rows = weights.astype(np.float64)
    rows -= rows.mean(axis=0)
    return rows


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric(
            key="cosine",
            label="Cosine",
            formula="p_i · p_j / (|p_i| |p_j|)",
            centred=False,
            limits=(-1.0, 1.0),
            diverging=True,
            linear=True,
            rows=unit_rows,
            compare=cosines,
        ),
        Metric(
            key="cosine-centred",
            label="Centred cosine",
            formula="cosine of p_i - m and p_j - m, with m the mean row",
            centred=True,
            limits=(-1.0, 1.0),
            diverging=True,
            linear=True,
            rows=lambda weights: unit_rows(weights, centred=True),
            compare=cosines,
        ),
        Metric(
            key="dot",
            label="Dot product",
            formula="p_i · p_j",
            centred=False,
            limits=(None, None),
            diverging=True,
            linear=True,
            rows=lambda weights: weights.astype(np.float64),
            compare=_dot,
        ),
        Metric(
            key="euclidean",
            label="Distance",
            formula="|p_i - p_j|",
            centred=False,
            limits=(0.0, None),
            diverging=False,
            linear=False,
            rows=_centred,  # distances do not see the mean; without it less is lost to rounding
            compare=_euclidean,
        ),
    )
}


def metric_named(key: str) -> Metric:
    """The entry of METRICS.

    Raises
    ------
    SettingError
        There is none.
    """
    if key not in METRICS:
        raise SettingError(
            f"There is no similarity named “{key}”. Choose one of {', '.join(METRICS)}."
        )
    return METRICS[key]
