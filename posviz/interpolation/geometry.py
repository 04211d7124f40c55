"""What a change of length did to a table, in seven numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import row_norms
from posviz.analysis.similarity import toeplitz_share
from posviz.analysis.smoothness import roughness, step_norms, turning_cosine

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Geometry:
    """The shape of a table, to hold beside the same of another length.

    Parameters
    ----------
    step_median, step_max : float or None
        Distance from row to row, in the units of the weights.
    turning_cosine, roughness : float or None
        Mean cosine of one step with the next; the von Neumann ratio.
    toeplitz_r2, toeplitz_r2_centred : float or None
        How far cosine and centred cosine depend on the offset alone.
    min_norm : float
        Length of the shortest row.
    """

    step_median: float | None
    step_max: float | None
    turning_cosine: float | None
    roughness: float | None
    toeplitz_r2: float | None
    toeplitz_r2_centred: float | None
    min_norm: float


def geometry(weights: Array) -> Geometry:
    """Measure a table of shape (n_rows, d_model); what a short table lacks is None."""
    steps = step_norms(weights)
    return Geometry(
        step_median=float(np.median(steps)) if len(steps) else None,
        step_max=float(steps.max()) if len(steps) else None,
        turning_cosine=turning_cosine(weights),
        roughness=roughness(weights),
        toeplitz_r2=toeplitz_share(weights),
        toeplitz_r2_centred=toeplitz_share(weights, centred=True),
        min_norm=float(row_norms(weights).min()),
    )
