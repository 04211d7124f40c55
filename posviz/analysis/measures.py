"""The numbers that a table and its nulls share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import (
    EffectiveRank,
    components_for,
    effective_rank,
    spectrum,
    variance_ratio,
)
from posviz.analysis.pairs import PairSums, row_norms
from posviz.analysis.similarity import EVERY_PAIR, cosine_sums
from posviz.analysis.smoothness import roughness, turning_cosine
from posviz.analysis.waves import PowerLine, power_lines

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]
Scalars = dict[str, float | int | None]

SHARES = {"90": 0.90, "95": 0.95, "99": 0.99}


@dataclass(frozen=True)
class Norms:
    """Lengths of the rows used, in the units of the weights, not centred."""

    first: float
    last: float
    median: float
    min: float
    max: float


@dataclass(frozen=True, eq=False)
class Cosine:
    """The cosine matrix in few numbers, over pairs of different rows.

    ``adjacent_mean`` is over neighbours, ``mean`` and ``min`` over all pairs, ``by_offset``
    (n_rows,) the mean at each offset. None where there is no pair; ``min`` is also None for
    tables too long to look at every pair.
    """

    adjacent_mean: float | None
    mean: float | None
    min: float | None
    by_offset: Float64


@dataclass(frozen=True, eq=False)
class Along:
    """The numbers that change when the same rows come in another order."""

    cosine: Cosine
    cosine_centred: Cosine
    toeplitz_r2: float | None
    toeplitz_r2_centred: float | None
    roughness: float | None
    turning_cosine: float | None
    power: tuple[PowerLine, ...]


@dataclass(frozen=True, eq=False)
class Measures(Along):
    """The numbers that a table and its nulls share. Definitions: docs/methods.md."""

    singular_values: Float64
    explained_variance_ratio: Float64 | None
    components: dict[str, int | None]
    effective_rank: EffectiveRank
    norms: Norms

    def scalars(self) -> Scalars:
        """Every single number by its dotted name, such as ``cosine.adjacent_mean``."""
        grouped = {
            "components": self.components,
            "effective_rank": vars(self.effective_rank),
            "norms": vars(self.norms),
            "cosine": vars(self.cosine),
            "cosine_centred": vars(self.cosine_centred),
        }
        named: Scalars = {
            f"{group}.{name}": value
            for group, values in grouped.items()
            for name, value in values.items()
            if name != "by_offset"
        }
        return named | {
            "toeplitz_r2": self.toeplitz_r2,
            "toeplitz_r2_centred": self.toeplitz_r2_centred,
            "roughness": self.roughness,
            "turning_cosine": self.turning_cosine,
        }


def nested(scalars: Scalars) -> dict[str, Any]:
    """Dotted names as a dict of dicts, the shape they have in JSON."""
    groups: dict[str, Any] = {}
    for name, value in scalars.items():
        group, _, part = name.partition(".")
        if part:
            groups.setdefault(group, {})[part] = value
        else:
            groups[group] = value
    return groups


def measure(
    weights: Array, *, singular_values: Float64 | None = None, every_pair: int = EVERY_PAIR
) -> Measures:
    """The numbers of one array of rows, without nulls.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    singular_values : array of shape (min(n_rows, d_model),), or None
        Of the centred rows, where they are known already.
    every_pair : int
        Longer tables get their offsets by Fourier, and no smallest cosine.
    """
    values = spectrum(weights) if singular_values is None else singular_values
    raw = cosine_sums(weights, every_pair=every_pair)
    centred = cosine_sums(weights, centred=True, every_pair=every_pair)
    return measures(values, norms(weights), along(weights, raw, centred))


def measures(singular_values: Float64, norms: Norms, along: Along) -> Measures:
    """The same from parts that were computed apart."""
    ratio = variance_ratio(singular_values)
    return Measures(
        singular_values=singular_values,
        explained_variance_ratio=ratio,
        components={name: components_for(ratio, share) for name, share in SHARES.items()},
        effective_rank=effective_rank(singular_values),
        norms=norms,
        **vars(along),
    )


def along(weights: Array, raw: PairSums, centred: PairSums) -> Along:
    """The numbers along position.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    raw, centred : PairSums
        Of their cosines.
    """
    return Along(
        cosine=_cosine(raw),
        cosine_centred=_cosine(centred),
        toeplitz_r2=raw.toeplitz_share(),
        toeplitz_r2_centred=centred.toeplitz_share(),
        roughness=roughness(weights),
        turning_cosine=turning_cosine(weights),
        power=power_lines(weights),
    )


def norms(weights: Array) -> Norms:
    """Lengths of the rows, in few numbers."""
    lengths = row_norms(weights)
    return Norms(
        first=float(lengths[0]),
        last=float(lengths[-1]),
        median=float(np.median(lengths)),
        min=float(lengths.min()),
        max=float(lengths.max()),
    )


def _cosine(sums: PairSums) -> Cosine:
    by_offset = np.clip(sums.totals / sums.counts, -1.0, 1.0)
    if len(by_offset) < 2:
        return Cosine(None, None, None, by_offset)
    mean = sums.totals[1:].sum() / sums.counts[1:].sum()
    return Cosine(float(by_offset[1]), float(mean), sums.low, by_offset)
