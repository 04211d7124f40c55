"""Reference tables that no model learned: what every number is read against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

INITIAL_STD = 0.02  # what GPT-2's and BERT's successors draw a fresh table with


def sinusoidal(n_positions: int, d_model: int, *, base: float = 10000.0) -> NDArray[np.float32]:
    """The fixed table of the first transformer: sine and cosine pairs, interleaved.

    Column 2j is sin(p w_j), column 2j + 1 is cos(p w_j), with w_j = base^(-2j / d_model). An
    odd ``d_model`` ends on a sine.

    Parameters
    ----------
    n_positions, d_model : int
    base : float
        The longest wavelength is 2 pi times nearly this.

    Returns
    -------
    array of shape (n_positions, d_model)
        Values in [-1, 1]. With an even width every row has norm sqrt(d_model / 2), and the dot
        product of two rows depends on their offset alone.

    References
    ----------
    Vaswani et al. (2017), arXiv:1706.03762, section 3.5.
    """
    frequency = base ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(n_positions)[:, None] * frequency  # (n_positions, pairs)
    table = np.empty((n_positions, d_model), dtype=np.float32)
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)[:, : d_model // 2]
    return table


def random_normal(
    n_positions: int, d_model: int, *, seed: int = 0, std: float = INITIAL_STD
) -> NDArray[np.float32]:
    """A fresh, untrained table: independent draws from N(0, std²).

    Parameters
    ----------
    n_positions, d_model : int
    seed : int
        Of NumPy's ``default_rng``: the same seed and shape give the same table.
    std : float

    Returns
    -------
    array of shape (n_positions, d_model)
    """
    values = np.random.default_rng(seed).normal(0.0, std, (n_positions, d_model))
    return values.astype(np.float32)
