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


def sinusoidal_halves(
    n_positions: int, d_model: int, *, base: float = 10000.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The centred sinusoidal table as an even and an odd half about its middle position.

    Seen from the middle, each pair of columns is rotated into a cosine, the same forwards and
    backwards, and a sine, its negative; rotations keep the spectrum. So the singular values of the
    centred table are those of both halves together, at a quarter of the work.

    Parameters
    ----------
    n_positions, d_model : int
        ``d_model`` even: the last column of an odd table has no partner.
    base : float

    Returns
    -------
    two arrays of shape (ceil(n_positions / 2), d_model / 2)
        Even, odd; a row stands for the two positions at one distance from the middle.
    """
    assert d_model % 2 == 0, "the last column of an odd table has no partner"
    frequency = base ** (-np.arange(0, d_model, 2) / d_model)
    place = np.arange(n_positions // 2, n_positions) - (n_positions - 1) / 2
    twice = np.where(place == 0, 1.0, 2.0)[:, None]  # how many positions a row stands for
    even, odd = np.cos(place[:, None] * frequency), np.sin(place[:, None] * frequency)
    even -= (twice * even).sum(axis=0) / n_positions
    return np.sqrt(twice) * even, np.sqrt(twice) * odd
