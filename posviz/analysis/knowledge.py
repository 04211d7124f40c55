"""Does the table know its own order? Every test that needs no model, beside chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.order import SLOW_BINS, low_dct_share, nearest_neighbour_order, seriation
from posviz.analysis.probes import position_probe, relative_order_error
from posviz.analysis.waves import helix_fit

if TYPE_CHECKING:
    from posviz.analysis.decomposition import Decomposition

STRONGEST = 64  # dimensions whose share of the energy is told


@dataclass(frozen=True)
class Against:
    """One number, and what chance gives on average; None for what does not exist."""

    value: float | None
    chance: float | None


@dataclass(frozen=True)
class Order:
    """The numbers of Wang and Chen and their like, each under its name in DEFINITIONS."""

    nearest_neighbour_order: Against
    seriation: Against
    low_dct_share: Against
    position_probe: Against
    relative_order_error: Against
    coordinate_energy: Against
    helix_fit: Against


def measure_order(decomposition: Decomposition) -> Order:
    """Ask the rows of a centred decomposition for their order in every way; takes seconds.

    Chance is exact for independent rows of many dimensions: 2 / (L - 1) for the nearest
    neighbour, 8 / (L - 1) for the slow share, 64 / d for the energy; of Kendall's tau without sign
    it is the mean of a normal with its variance, 2 (2 L + 5) / (9 L (L - 1)). Of the probes it is
    guessing: always the middle position, and one half. (Pairs share rows, so the order probe errs
    less often than that even on independent rows: 0.35 to 0.42 of 512 × 768.)
    """
    weights = decomposition.weights
    n_rows, d_model = weights.shape
    others = max(n_rows - 1, 1)
    order = seriation(weights)
    sorted_rows = len(order.order) if order else 2
    tau = np.sqrt(
        2 / np.pi * 2 * (2 * sorted_rows + 5) / (9 * sorted_rows * max(sorted_rows - 1, 1))
    )
    probe, fit = position_probe(weights), helix_fit(decomposition)
    return Order(
        nearest_neighbour_order=Against(nearest_neighbour_order(weights), min(2 / others, 1.0)),
        seriation=Against(order.tau if order else None, float(tau) if order else None),
        low_dct_share=Against(low_dct_share(weights), min(SLOW_BINS / others, 1.0)),
        position_probe=Against(
            probe.ridge_mae if probe else None, probe.chance_mae if probe else None
        ),
        relative_order_error=Against(relative_order_error(weights), 0.5),
        coordinate_energy=Against(
            coordinate_energy(weights).share_of(STRONGEST), min(STRONGEST / d_model, 1.0)
        ),
        helix_fit=Against(fit.r2 if fit else None, None),
    )
