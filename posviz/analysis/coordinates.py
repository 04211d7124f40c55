"""Where in a row the position is written: energy by coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CoordinateEnergy:
    """How the variance along position is spread over the model's dimensions.

    Parameters
    ----------
    deviation : array of shape (d_model,)
        Standard deviation of each dimension over positions, in the units of the weights.
    order : array of shape (d_model,)
        Dimensions by deviation, largest first.
    cumulative : array of shape (d_model,), or None
        Share of the variance in the first 1, 2, … of ``order``; None without variance.
    """

    deviation: Float64
    order: NDArray[np.int64]
    cumulative: Float64 | None

    def share_of(self, count: int) -> float | None:
        """Share of the variance in the ``count`` largest dimensions."""
        if self.cumulative is None or count < 1:
            return None
        return float(self.cumulative[min(count, len(self.cumulative)) - 1])

    def dimensions_for(self, share: float) -> int | None:
        """The fewest dimensions that hold at least ``share`` of the variance; None without any."""
        if self.cumulative is None:
            return None
        return min(int(np.searchsorted(self.cumulative, share)) + 1, len(self.cumulative))


def coordinate_energy(weights: Array) -> CoordinateEnergy:
    """Energy of each dimension along position, each about its own mean (centred).

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    """
    deviation: Float64 = weights.std(axis=0, dtype=np.float64)
    order = np.argsort(-deviation, kind="stable")
    energy = np.square(deviation[order])
    total = energy.sum()
    cumulative: Float64 | None = np.cumsum(energy) / total if total > 0 else None
    return CoordinateEnergy(deviation, order, cumulative)
