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
class Measures:
    """The numbers that a table and its nulls share. Definitions: docs/methods.md."""

    singular_values: Float64
    explained_variance_ratio: Float64 | None
    components: dict[str, int | None]
    effective_rank: EffectiveRank
    norms: Norms
    cosine: Cosine
    cosine_centred: Cosine
    toeplitz_r2: float | None
    toeplitz_r2_centred: float | None
    roughness: float | None
    turning_cosine: float | None
    power: tuple[PowerLine, ...]

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
    weights: Array,
    *,
    singular_values: Float64 | None = None,
    every_pair: int = EVERY_PAIR,
    order_rows: int | None = None,
) -> Measures:
    """The numbers of one array of rows, without nulls.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    singular_values : array of shape (min(n_rows, d_model),), or None
        Of the centred rows, where they are known already.
    every_pair : int
        Longer tables get their offsets by Fourier, and no smallest cosine.
    order_rows : int or None
        For rows in random order: cosines and the numbers along position come from at most so many
        evenly spaced rows. Any of them say the same, and all of a long table take seconds.
    """
    values = spectrum(weights) if singular_values is None else singular_values
    ratio = variance_ratio(values)
    along = weights if order_rows is None else weights[:: -(-len(weights) // order_rows)]
    raw = cosine_sums(along, every_pair=every_pair)
    centred = cosine_sums(along, centred=True, every_pair=every_pair)
    norms = row_norms(weights)
    return Measures(
        singular_values=values,
        explained_variance_ratio=ratio,
        components={name: components_for(ratio, share) for name, share in SHARES.items()},
        effective_rank=effective_rank(values),
        norms=Norms(
            first=float(norms[0]),
            last=float(norms[-1]),
            median=float(np.median(norms)),
            min=float(norms.min()),
            max=float(norms.max()),
        ),
        cosine=_cosine(raw),
        cosine_centred=_cosine(centred),
        toeplitz_r2=raw.toeplitz_share(),
        toeplitz_r2_centred=centred.toeplitz_share(),
        roughness=roughness(along),
        turning_cosine=turning_cosine(along),
        power=power_lines(along),
    )


def _cosine(sums: PairSums) -> Cosine:
    by_offset = np.clip(sums.totals / sums.counts, -1.0, 1.0)
    if len(by_offset) < 2:
        return Cosine(None, None, None, by_offset)
    mean = sums.totals[1:].sum() / sums.counts[1:].sum()
    return Cosine(float(by_offset[1]), float(mean), sums.low, by_offset)
