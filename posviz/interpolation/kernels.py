"""Resampling: rows at any places of a table, between its own.

Every function takes ``rows`` of shape (n_rows, m) and ``places`` of shape (n,), positions on
the old index, and gives an array of shape (n, m). A place on a row gives that row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

VISION_A = -0.75  # the cubic kernel of image libraries; -0.5 is the one they use to smooth
SMOOTH_A = -0.5
_STRIP = 1024  # output rows at a time, so that no operator matrix grows with the table squared


def linear(rows: Array, places: Float64) -> Array:
    """On the straight line between two neighbours; beyond the ends, the end rows."""
    left, fraction = _left_and_fraction(rows, places)
    right = np.minimum(left + 1, len(rows) - 1)
    weight = fraction.astype(rows.dtype)[:, None]
    result = rows[left]
    result *= 1 - weight
    result += weight * rows[right]
    return result


def nearest_left(rows: Array, places: Float64) -> Array:
    """The row at or before each place."""
    left, _ = _left_and_fraction(rows, places)
    return rows[left]


def cubic_spline(rows: Array, places: Float64) -> Array:
    """On the cubic spline through all rows (not-a-knot); beyond the ends, the end rows.

    Fewer than four rows: the polynomial through them.
    """
    from scipy.interpolate import make_interp_spline

    degree = min(3, len(rows) - 1)
    inside = np.clip(places, 0, len(rows) - 1)
    spline = make_interp_spline(np.arange(len(rows)), rows.astype(np.float64), k=degree)
    result: Array = spline(inside)
    return result


def bicubic(rows: Array, places: Float64) -> Array:
    """Four neighbours weighed by Keys' cubic kernel with a = -0.75; the border row is repeated.

    Not a spline: it looks two rows to each side and no further.

    References
    ----------
    Keys (1981), "Cubic convolution interpolation for digital image processing", IEEE
    Transactions on Acoustics, Speech, and Signal Processing 29(6).
    """
    left = np.floor(places).astype(np.int64)
    result = np.zeros((len(places), rows.shape[1]))
    for tap in range(-1, 3):
        weight = keys_kernel(places - (left + tap), VISION_A)
        result += weight[:, None] * rows[np.clip(left + tap, 0, len(rows) - 1)]
    return result


def fourier(rows: Array, places: Float64) -> Array:
    """On the band-limited curve through the rows and their mirror image.

    The table followed by itself reversed is periodic without a jump, so its Fourier series does
    not ring between last row and first; by symmetry it is the cosine transform (DCT-II),
    p(x) = sum over k of c_k cos(pi k (x + 1/2) / L). Places beyond the ends lie on the mirror.
    """
    from scipy.fft import dct

    n_rows = len(rows)
    coefficients = dct(rows.astype(np.float64), type=2, axis=0) / n_rows
    coefficients[0] /= 2
    frequencies = np.pi * np.arange(n_rows) / n_rows
    result = np.empty((len(places), rows.shape[1]))
    for start in range(0, len(places), _STRIP):
        strip = slice(start, start + _STRIP)
        result[strip] = np.cos(np.outer(places[strip] + 0.5, frequencies)) @ coefficients
    return result


def smoothed(rows: Array, places: Float64, *, cubic: bool) -> Array:
    """The kernel widened by the factor of shrinking, so that no row is stepped over (antialias).

    Triangle for linear, Keys' cubic with a = -0.5 else; weights add up to 1 at the borders too.
    The same as image libraries with antialias on, for places at cell centres.

    Parameters
    ----------
    cubic : bool
    """
    step = max(len(rows) / len(places), 1.0)
    distance = (places[:, None] - np.arange(len(rows))) / step  # (n, n_rows)
    triangle = np.maximum(1.0 - np.abs(distance), 0.0)
    weights = keys_kernel(distance, SMOOTH_A) if cubic else triangle
    result: Array = (weights / weights.sum(axis=1, keepdims=True)) @ rows.astype(np.float64)
    return result


def keys_kernel(distance: Float64, a: float) -> Float64:
    """Keys' cubic convolution kernel: 1 at 0, 0 at every other whole number and beyond 2."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _left_and_fraction(rows: Array, places: Float64) -> tuple[NDArray[np.int64], Float64]:
    inside = np.clip(places, 0, len(rows) - 1)
    left = np.floor(inside).astype(np.int64)
    return left, inside - left
