"""Waves along position: power by period, and the turning of the first two components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import COLUMNS

if TYPE_CHECKING:
    from posviz.analysis.decomposition import Decomposition

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

END_ROWS = 2  # left out at each end: first and last rows are often unlike all others
LINE_WIDTH = 2  # bins either side of a peak that a Hann window spreads one sine over
AXIS_COMPONENTS = 10  # among how many leading components the axis of a helix is looked for


@dataclass(frozen=True, eq=False)
class PowerSpectrum:
    """Share of the variance along position at each period.

    Parameters
    ----------
    period : array of shape (bins,)
        In positions, longest first; the mean is left out.
    share : array of shape (bins,)
        Adds up to 1.
    """

    period: Float64
    share: Float64


@dataclass(frozen=True)
class PowerLine:
    """One peak of the power spectrum: the period of its largest bin and its share of the power."""

    period: float
    share: float


def power_spectrum(weights: Array) -> PowerSpectrum:
    """Power by period along position, all dimensions together.

    Two rows are dropped at each end, the rest centred, tapered with a Hann window and
    transformed along position; squared sizes are added over dimensions. Periods close to the
    number of rows are set by the window, not by the table.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)

    Returns
    -------
    PowerSpectrum
        Empty for tables of fewer than 8 rows or without variance.
    """
    rows = weights[END_ROWS:-END_ROWS]
    if len(rows) < 2 * END_ROWS:
        return PowerSpectrum(np.zeros(0), np.zeros(0))
    # Periodic over the rows, so that a sine spreads over three bins and no more.
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(rows)) / len(rows))
    power = np.zeros(len(rows) // 2)
    for start in range(0, rows.shape[1], COLUMNS):
        columns = rows[:, start : start + COLUMNS].astype(np.float64)
        columns -= columns.mean(axis=0)
        columns *= window[:, None]
        spectra = np.fft.rfft(columns, axis=0)[1:]  # without the mean
        power += np.square(spectra.real).sum(axis=1) + np.square(spectra.imag).sum(axis=1)
    total = power.sum()
    if total == 0:
        return PowerSpectrum(np.zeros(0), np.zeros(0))
    return PowerSpectrum(len(rows) / np.arange(1, len(power) + 1), power / total)


def power_lines(weights: Array, *, most: int = 10) -> tuple[PowerLine, ...]:
    """The strongest periods, largest share first.

    Bins are taken greedily: the largest that is left, with its two neighbours on each side
    that are left, makes a line.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    most : int
        Most lines listed.
    """
    spectrum = power_spectrum(weights)
    left = spectrum.share.copy()
    lines: list[PowerLine] = []
    while left.any():
        peak = int(left.argmax())
        # No line to come can hold more than its five bins at the height of this peak.
        if len(lines) >= most and (2 * LINE_WIDTH + 1) * left[peak] < lines[most - 1].share:
            break
        line = slice(max(peak - LINE_WIDTH, 0), peak + LINE_WIDTH + 1)
        lines.append(PowerLine(float(spectrum.period[peak]), float(left[line].sum())))
        left[line] = 0.0
        lines.sort(key=lambda line: -line.share)
    return tuple(lines[:most])


@dataclass(frozen=True, eq=False)
class Helix:
    """How the rows turn in the plane of the first two components, and what runs along position.

    Parameters
    ----------
    turns : float or None
        Whole turns from the first row to the last, without sign.
    radius, radius_spread : float or None
        Mean and standard deviation of the distance from the centre, in the units of the weights.
    axis_component : int or None
        Which component, counted from 1, follows position best (largest rank correlation).
    axis_correlation : float or None
        That rank correlation (Spearman), in [-1, 1].
    phase : array of shape (n_rows,), or None
        Unwrapped angle in radians; a straight line is a constant pitch.
    """

    turns: float | None
    radius: float | None
    radius_spread: float | None
    axis_component: int | None
    axis_correlation: float | None
    phase: Float64 | None


def helix(decomposition: Decomposition) -> Helix:
    """Read a centred decomposition as a helix: turning plane PC1 and PC2, axis by position.

    The axis is chosen by its relation to position, not by variance: in GPT-2 it is the third
    component. Everything is None where the table has no such component.

    References
    ----------
    Yedidia, "GPT-2's positional embedding matrix is a helix", LessWrong.
    """
    alive = min(decomposition.rank, AXIS_COMPONENTS)
    scores = decomposition.scores(alive)
    component, correlation = _axis(scores)
    if alive < 2:
        return Helix(None, None, None, component, correlation, None)
    phase: Float64 = np.unwrap(np.arctan2(scores[:, 1], scores[:, 0]))
    radius = np.hypot(scores[:, 0], scores[:, 1])
    return Helix(
        turns=float(abs(phase[-1] - phase[0]) / (2 * np.pi)),
        radius=float(radius.mean()),
        radius_spread=float(radius.std()),
        axis_component=component,
        axis_correlation=correlation,
        phase=phase,
    )


@dataclass(frozen=True)
class HelixFit:
    """The steady circle closest to the first two components.

    Parameters
    ----------
    frequency : float
        Turns per position; its sign is the sense of turning.
    phase : float
        Angle at the first row, in radians.
    amplitude : float
        Radius in the units of the weights.
    r2 : float
        Share of the two components' variance that the circle explains, in [0, 1].
    axis_slope : float
        Change of the axis component per position, from a straight line through it.
    axis_r2 : float
        Share of that component's variance that the line explains, in [0, 1].
    """

    frequency: float
    phase: float
    amplitude: float
    r2: float
    axis_slope: float
    axis_r2: float

    @property
    def period(self) -> float:
        """Positions for one turn."""
        return 1 / abs(self.frequency)


def helix_fit(decomposition: Decomposition) -> HelixFit | None:
    """Fit z(p) = A exp(i (w p + phase)) to PC1 + i PC2, and a line to the axis component.

    The frequency is the peak of the Fourier transform of z, found to a thousandth of a bin; both
    senses of turning are looked at. None where the table has fewer than two components or eight
    rows.
    """
    found = helix(decomposition)
    if found.turns is None or found.axis_component is None or decomposition.n_rows < 8:
        return None
    scores = decomposition.scores(max(2, found.axis_component))
    z = scores[:, 0] + 1j * scores[:, 1]
    n_rows = len(z)
    position = np.arange(n_rows)
    frequency = _peak(z)
    turned = (z * np.exp(-2j * np.pi * frequency * position)).mean()
    rest = np.square(np.abs(z - turned * np.exp(2j * np.pi * frequency * position))).sum()
    axis = scores[:, found.axis_component - 1]
    slope, level = np.polyfit(position, axis, 1)
    off_line = np.square(axis - slope * position - level).sum()
    return HelixFit(
        frequency=frequency,
        phase=float(np.angle(turned)),
        amplitude=float(np.abs(turned)),
        r2=float(np.clip(1 - rest / np.square(np.abs(z)).sum(), 0.0, 1.0)),
        axis_slope=float(slope),
        axis_r2=float(np.clip(1 - off_line / np.square(axis).sum(), 0.0, 1.0)),
    )


def _peak(z: NDArray[np.complex128]) -> float:
    """Frequency, in turns per position and not zero, at which |sum z exp(-i w p)| is largest."""
    n_rows, position = len(z), np.arange(len(z))
    padded = 8 * n_rows
    sizes = np.abs(np.fft.fft(z, padded))
    sizes[0] = 0.0
    best = np.fft.fftfreq(padded)[int(sizes.argmax())]
    width = 1 / padded
    for _ in range(3):  # each pass looks ten times closer
        near = best + width * np.linspace(-1, 1, 21)
        near = near[near != 0]
        sums = np.abs(np.exp(-2j * np.pi * np.outer(near, position)) @ z)
        best, width = near[int(sums.argmax())], width / 10
    return float(best)


def _axis(scores: Float64) -> tuple[int | None, float | None]:
    n_rows, k = scores.shape
    if k == 0 or n_rows < 3:
        return None, None
    correlations = [rank_correlation(scores[:, column]) for column in range(k)]
    best = int(np.abs(correlations).argmax())
    return best + 1, correlations[best]


def rank_correlation(values: Array) -> float:
    """Spearman's correlation of values with their index; equal values share the mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[inverse]
    ranks = ranks - ranks.mean()
    index = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    size = float(np.linalg.norm(ranks) * np.linalg.norm(index))
    return float(np.clip(ranks @ index / size, -1.0, 1.0)) if size > 0 else 0.0
