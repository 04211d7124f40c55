"""Appending: the learned rows stay as they are and new ones follow; a shorter table is cut.

Every function takes ``rows`` of shape (n_rows, m), a larger ``length`` and a random generator,
and gives the rows n_rows to length - 1, shape (length - n_rows, m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import decompose
from posviz.errors import SettingError

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

HIERARCHY = 0.4  # the weight a of the slow copy in Su's construction
SINES = 8
SINE_COMPONENTS = 16  # leading components in which frequencies are looked for
FINE = 16  # zero padding: places per frequency bin


def tile(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """The table again and again: row i is old row i mod L."""
    del rng
    return rows[np.arange(len(rows), length) % len(rows)]


def mirror(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """The table backwards, then forwards, and so on: rows i and 2 L - 1 - i are equal."""
    del rng
    place = np.arange(len(rows), length) % (2 * len(rows))
    return rows[np.minimum(place, 2 * len(rows) - 1 - place)]


def clamp(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """The last row for every position past it."""
    del rng
    return np.repeat(rows[-1:], length - len(rows), axis=0)


def zeros(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """Rows of zeros: no position at all past the table."""
    del rng
    return np.zeros((length - len(rows), rows.shape[1]))


def gaussian(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """Fresh rows, each dimension drawn with the mean and deviation it has in the table."""
    mean, std = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
    return rng.normal(mean, std, (length - len(rows), rows.shape[1]))


def hierarchical(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """Su's two-level positions: row i L + j is a u_i + (1 - a) u_j.

    With u_i = (p_i - a p_0) / (1 - a) the first L rows are the old ones exactly, and L² rows
    can be told apart.

    Raises
    ------
    SettingError
        More than L² rows are asked for.

    References
    ----------
    Su (2020), "Hierarchical decomposition of position encoding", kexue.fm/archives/7947.
    """
    del rng
    n_rows = len(rows)
    if length > n_rows**2:
        raise SettingError(
            f"Hierarchical positions reach {n_rows}² = {n_rows**2} rows from {n_rows}; {length} "
            f"were asked for. Choose a shorter length or another method."
        )
    wide = rows.astype(np.float64)
    units = (wide - HIERARCHY * wide[0]) / (1 - HIERARCHY)
    slow, fast = np.divmod(np.arange(n_rows, length), n_rows)
    new: Float64 = HIERARCHY * units[slow] + (1 - HIERARCHY) * units[fast]
    return new


def sinusoid_fit(rows: Array, length: int, rng: np.random.Generator) -> Array:
    """A mean and a few sines fitted to every dimension, read on past the table.

    The frequencies are shared by all dimensions and taken one by one, each the strongest in
    what the others leave; amplitudes and phases are refitted by least squares each time. Good
    for tables of a few slow waves, wild for others.
    """
    del rng
    n_rows = len(rows)
    wide = rows.astype(np.float64)
    frequencies = _strongest_frequencies(wide)
    amplitudes = np.linalg.lstsq(_waves(frequencies, np.arange(n_rows)), wide)[0]
    return _waves(frequencies, np.arange(n_rows, length)) @ amplitudes


def _strongest_frequencies(rows: Float64) -> Float64:
    n_rows = len(rows)
    decomposition = decompose(rows)
    scores = decomposition.scores(min(SINE_COMPONENTS, decomposition.rank))
    positions = np.arange(n_rows)
    left = scores
    found: list[float] = []
    # Each sine costs two of the n_rows equations, the mean one.
    for _ in range(min(SINES, (n_rows - 1) // 4)):
        power = np.square(np.abs(np.fft.rfft(left, FINE * n_rows, axis=0))).sum(axis=1)
        power[: FINE // 2] = 0.0  # less than half a wave in the table is not a wave
        if power.max(initial=0.0) <= 1e-20 * np.square(scores).sum():
            break
        found.append(int(power.argmax()) / (FINE * n_rows))
        basis = _waves(np.array(found), positions)
        left = scores - basis @ np.linalg.lstsq(basis, scores)[0]
    return np.array(found)


def _waves(frequencies: Float64, positions: NDArray[np.int64]) -> Float64:
    angle = 2 * np.pi * np.outer(positions, frequencies)
    return np.hstack([np.ones((len(positions), 1)), np.cos(angle), np.sin(angle)])
