"""The numbers of null tables: several draws where they are cheap, as median and band."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import joined, spectrum
from posviz.analysis.measures import (
    Along,
    Measures,
    Norms,
    Scalars,
    along,
    measures,
    nested,
    norms,
)
from posviz.analysis.nulls import NULLS
from posviz.analysis.pairs import sums_of_shuffles, unit_rows
from posviz.analysis.references import sinusoidal_halves
from posviz.analysis.similarity import cosine_sums

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

EVERY_PAIR = 2048  # longer null tables go by Fourier: quicker, and no minimum
SAMPLE = 2048  # evenly spaced rows of a longer random null that stand for all of them
MOST_REPEATS = 20
WORK = {"gaussian": 1_000_000, "shuffled": 4_000_000}  # values in all draws of a random null


@dataclass(frozen=True, eq=False)
class NullSummary:
    """The same numbers on a null table: medians of its draws, and a band where there are several.

    Parameters
    ----------
    key : key of NULLS
    label : str
    repeats, seed : int
        How many draws, and the seed of their generator.
    order_rows : int
        Rows that cosines, roughness, turning cosine and power are of; norms and the spectrum are
        of all rows. Fewer than all only for long tables in random order.
    scalars : dict
        Median over the draws, by dotted name.
    low, high : dict
        5th and 95th percentile; equal to the median for a single draw.
    draws : tuple of Measures
    """

    key: str
    label: str
    repeats: int
    seed: int
    order_rows: int
    scalars: Scalars
    low: Scalars
    high: Scalars
    draws: tuple[Measures, ...]

    def as_dict(self) -> dict[str, Any]:
        """Its part of the strict-JSON object of ``posviz analyze``."""
        summary = {"repeats": self.repeats, "seed": self.seed, "order_rows": self.order_rows}
        power = [vars(line) for line in self.draws[0].power]
        return {
            **summary,
            **nested(self.scalars),
            "power": power,
            "low": nested(self.low),
            "high": nested(self.high),
        }


def summarised(key: str, draws: tuple[Measures, ...], *, seed: int) -> NullSummary:
    """Medians and percentiles of the draws of one null."""
    low, median, high = (_percentile(draws, percent) for percent in (5, 50, 95))
    order_rows = len(draws[0].cosine.by_offset)
    return NullSummary(
        key, NULLS[key].label, len(draws), seed, order_rows, median, low, high, draws
    )


def repeats_for(key: str, weights: Array) -> int:
    """How many draws of a random null stay cheap beside this table."""
    rows = min(len(weights), SAMPLE) if NULLS[key].keeps_spectrum else len(weights)
    return int(np.clip(WORK[key] // max(rows * weights.shape[1], 1), 1, MOST_REPEATS))


def gaussian_draws(weights: Array, *, repeats: int, seed: int) -> tuple[Measures, ...]:
    """Random directions with the norms of the rows of ``weights`` (n_rows, d_model)."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(repeats):
        rows = NULLS["gaussian"].make(weights, rng)
        some = _sample(rows)
        every_pair = EVERY_PAIR if len(some) == len(rows) else 0
        sums = (cosine_sums(some, centred=c, every_pair=every_pair) for c in (False, True))
        drawn.append(measures(spectrum(rows), norms(rows), along(some, *sums)))
    return tuple(drawn)


def shuffles(weights: Array, *, repeats: int, seed: int) -> Iterator[tuple[Norms, Along]]:
    """The rows of ``weights`` in random order: all that a shuffle changes, draw by draw.

    The spectrum, the mean and the smallest cosine of a shuffle are those of the table.
    """
    rng = np.random.default_rng(seed)
    some, own = _sample(weights), norms(weights)
    orders = [rng.permutation(len(some)) for _ in range(repeats)]
    units = [unit_rows(some, centred=centred) for centred in (False, True)]
    drawn = sums_of_shuffles(units, orders, low=len(some) == len(weights))
    for order, (raw, centred) in zip(orders, drawn, strict=True):
        rows = some[order]
        ends = norms(rows[[0, -1]])
        yield replace(own, first=ends.first, last=ends.last), along(rows, raw, centred)


@lru_cache(maxsize=16)
def sinusoidal_draw(n_rows: int, d_model: int) -> Measures:
    """The fixed table of this shape; its shape alone makes it, so it is remembered."""
    shape_only = np.broadcast_to(np.float32(0), (n_rows, d_model))
    weights = NULLS["sinusoidal"].make(shape_only, np.random.default_rng(0))
    if d_model % 2:
        values = spectrum(weights)
    else:
        halves = [spectrum(half, centred=False) for half in sinusoidal_halves(n_rows, d_model)]
        values = joined(halves, n_rows, d_model)
    sums = (cosine_sums(weights, centred=c, every_pair=EVERY_PAIR) for c in (False, True))
    return measures(values, norms(weights), along(weights, *sums))


def _sample(rows: Array) -> Array:
    """Evenly spaced rows: in random order, any of them say the same as all, only with more noise.

    All rows of a long table would take seconds.
    """
    return rows[:: -(-len(rows) // SAMPLE)]


def _percentile(draws: tuple[Measures, ...], percent: float) -> Scalars:
    columns = [draw.scalars() for draw in draws]
    if len(columns) == 1:
        return columns[0]
    result: Scalars = {}
    for name in columns[0]:
        known = sorted(value for column in columns if (value := column[name]) is not None)
        if not known:
            result[name] = None
        elif all(isinstance(value, int) for value in known):
            # Counts stay counts: the nearest draw, not a value between two.
            result[name] = known[round(percent / 100 * (len(known) - 1))]
        else:
            result[name] = float(
                np.interp(percent / 100 * (len(known) - 1), range(len(known)), known)
            )
    return result
