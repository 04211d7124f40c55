"""Index maps: where on the old table each row of the new one lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """One way to lay new positions over old ones.

    Parameters
    ----------
    key, label, explanation : str
    coordinates : function of (old, new)
        The place of each of ``new`` rows on the old index, float64 of shape (new,). Places may
        lie outside [0, old - 1]; what happens there is the method's to say.
    """

    key: str
    label: str
    explanation: str
    coordinates: Callable[[int, int], Float64]


def _align_corners(old: int, new: int) -> Float64:
    # Multiplied before divided: whole numbers come out whole, so knots are met exactly.
    return np.arange(new) * (old - 1) / max(new - 1, 1)


def _half_pixel(old: int, new: int) -> Float64:
    return (np.arange(new) + 0.5) * old / new - 0.5


def _anchored(old: int, new: int) -> Float64:
    return np.arange(new) * old / new


GRIDS: dict[str, Grid] = {
    grid.key: grid
    for grid in (
        Grid(
            key="align-corners",
            label="Align corners",
            explanation=(
                "First row on first row, last on last: x = i (L - 1) / (L' - 1). Rows between "
                "fall on old ones only where (L' - 1) / (L - 1) is whole."
            ),
            coordinates=_align_corners,
        ),
        Grid(
            key="half-pixel",
            label="Half-pixel",
            explanation=(
                "Rows are cells, centre on centre: x = (i + 1/2) L / L' - 1/2, as image tools "
                "resize. The first and last places fall outside and repeat the border."
            ),
            coordinates=_half_pixel,
        ),
        Grid(
            key="anchored",
            label="Anchored",
            explanation=(
                "Position 0 stays and every one is divided by the factor: x = i L / L', as "
                "position interpolation does. The last places lie past the last row."
            ),
            coordinates=_anchored,
        ),
    )
}
