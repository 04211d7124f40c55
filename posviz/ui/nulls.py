"""Nulls as the pages tell and draw them: a median, and a band where there are several draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.analysis.decomposition import variance_ratio
from posviz.analysis.metrics import METRICS
from posviz.figures.lines import Band, Line
from posviz.ui.format import decimal, percent
from posviz.ui.results import share_held

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import ArrayLike, NDArray

    from posviz.analysis.null_draws import NullSummary
    from posviz.analysis.summary import Analysis
    from posviz.ui.results import Spectra

NAMES = {"gaussian": "random rows", "shuffled": "shuffled rows", "sinusoidal": "sinusoidal"}


def told(null: NullSummary, name: str, form: Callable[[float | None], str] = decimal) -> str:
    """One number of a null, with its 5th to 95th percentile: ``shuffled rows 0.3 (0.1 to 0.6)``."""
    return _in_words(null.key, *(form(part[name]) for part in (null.scalars, null.low, null.high)))


def two_places(value: float | None) -> str:
    """A number with two decimals."""
    return decimal(value, digits=2)


def held(null: NullSummary, components: Collection[int] = range(3)) -> str:
    """Share of the variance of a null in these components: ``random rows 1.3 %``."""
    return among([share_held(draw, components) for draw in null.draws], percent)


def top_line(null: NullSummary) -> str:
    """Share of the power in the strongest period of a null."""
    return among([d.power[0].share for d in null.draws if d.power], percent, key="shuffled")


def among(
    draws: Sequence[float | None], form: Callable[[float | None], str], *, key: str = "gaussian"
) -> str:
    """One number of the draws of a null in words: median, and 5th to 95th percentile."""
    values = [value for value in draws if value is not None]
    low, median, high = np.percentile(values, (5, 50, 95)) if values else (None,) * 3
    return _in_words(key, *(form(value) for value in (median, low, high)))


def _in_words(key: str, median: str, low: str, high: str) -> str:
    band = f" ({low} to {high})" if low != high else ""
    return f"{NAMES[key]} {median}{band}"


def offsets(numbers: Analysis, metric: str) -> dict[str, Line]:
    """Cosine by offset of shuffled rows and of the fixed sinusoids; nothing for other metrics."""
    if METRICS[metric].limits != (-1.0, 1.0):
        return {}
    kind = "cosine_centred" if METRICS[metric].centred else "cosine"
    shuffled, sinusoidal = (numbers.nulls[key] for key in ("shuffled", "sinusoidal"))
    return {
        NAMES["shuffled"]: band([getattr(draw, kind).by_offset for draw in shuffled.draws]),
        NAMES["sinusoidal"]: getattr(sinusoidal.draws[0], kind).by_offset,
    }


def neighbours(numbers: Analysis, metric: str) -> dict[str, Line]:
    """The mean over neighbours in shuffled rows, level; nothing but for cosines."""
    if METRICS[metric].limits != (-1.0, 1.0):
        return {}
    null = numbers.nulls["shuffled"]
    name = "cosine_centred.adjacent_mean" if METRICS[metric].centred else "cosine.adjacent_mean"
    found = [value for draw in null.draws if (value := draw.scalars()[name]) is not None]
    lines = [np.full(numbers.rows_used - 1, value) for value in found]
    return {NAMES["shuffled"]: band(lines)} if lines else {}


def spectra(of: Spectra) -> dict[str, Line]:
    """Spectra that the table's own stands beside: random rows, and the fixed sinusoids."""
    beside: dict[str, Line] = {}
    if any(values.any() for values in of.gaussian):
        beside[NAMES["gaussian"]] = band(of.gaussian)
    if of.sinusoidal.any():
        beside[NAMES["sinusoidal"]] = scaled(of.sinusoidal, of.own)
    return beside


def shares(of: Spectra) -> dict[str, Line]:
    """Cumulative shares of the same two."""
    cumulative = {
        NAMES["gaussian"]: [variance_ratio(values) for values in of.gaussian],
        NAMES["sinusoidal"]: [variance_ratio(of.sinusoidal)],
    }
    return {
        name: band([np.cumsum(share) for share in ratios if share is not None])
        for name, ratios in cumulative.items()
        if any(share is not None for share in ratios)
    }


def scaled(values: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """A spectrum at the total variance of ``own``: a picture compares shapes, not units."""
    size = float(np.linalg.norm(values))
    return values * (float(np.linalg.norm(own)) / size) if size > 0 else values


def band(lines: Sequence[ArrayLike]) -> Line:
    """Median, 5th and 95th percentile of several lines; a single one as it is."""
    if len(lines) == 1:
        return lines[0]
    low, median, high = np.percentile(
        np.stack([np.asarray(line) for line in lines]), (5, 50, 95), axis=0
    )
    return Band(median, low, high)
