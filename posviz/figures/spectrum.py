"""How many dimensions a table needs: singular values and the share they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.figures.lines import Band, Line, add_line, add_nulls, label
from posviz.figures.names import box_of, clear_place, in_shares, whole_place
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank
from posviz.wording import percent, significant

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

_COUNTED = 6  # components, each with its number on the axis
_MARKED = 12  # components, each with its dot on the line
_FLOOR = 1e-6
"""Singular values below this share of the largest are float32 rounding, and are not drawn."""


_BESIDE: tuple[dict[str, Any], ...] = (
    {"xanchor": "left", "xshift": 12, "yshift": 12},
    {"xanchor": "left", "xshift": 8, "yshift": 26},
    {"xanchor": "right", "xshift": -10, "yshift": -14},
    {"xanchor": "left", "xshift": 12, "yshift": -12},
    {"xanchor": "right", "xshift": -10, "yshift": -30},
    {"xanchor": "center", "yshift": -22},
)
_BY_SHARES: tuple[dict[str, Any], ...] = (
    {"xanchor": "left", "xshift": 9, "yshift": -9},
    {"xanchor": "right", "xshift": -9, "yshift": 3},
)


def spectrum(
    singular_values: ArrayLike,
    *,
    nulls: Mapping[str, Line] | None = None,
    holds: tuple[int, float] | None = None,
    log_x: bool = True,
    name: str = "the table",
) -> Picture:
    """Singular values, largest first, on a logarithmic scale.

    Parameters
    ----------
    singular_values : array of shape (k,)
        In the weights' own units, falling.
    nulls : mapping of name to line or Band, optional
        Spectra of tables of the same shape without structure.
    holds : (int, float), optional
        How many components hold which share of the variance (3, 0.9), marked on the curve.
    log_x : bool
        Logarithmic component axis.
    name : str
        What the spectrum is of, for the text alternative.
    """
    drawn = above_floor(singular_values)
    x = np.arange(1, len(drawn) + 1, dtype=np.float64)
    own = float(np.nanmin(drawn))
    # A null may fall off a cliff (sinusoids do): it leaves the picture, the table's own does not.
    lowest = [own, *(max(np.nanmin(_positive(low)), own / 3) for low in _lows(nulls))]
    highest = [np.nanmax(drawn)] + [np.nanmax(_positive(high)) for high in _highs(nulls)]
    figure = blank(
        xaxis=_components(len(drawn), log=log_x),
        yaxis={
            "title": {"text": "singular value"},
            "type": "log",
            **_decades(float(min(lowest)), float(max(highest))),
        },
    )
    cut = {key: _cut(line) for key, line in (nulls or {}).items()}
    marked, avoid = "", []
    mark: dict[str, Any] = {}
    if holds is not None and 0 < holds[0] <= len(drawn):
        k, share = holds
        marked = f"{_components_hold(k)} {percent(share, digits=0)}"
        lines = [(x, drawn)]
        for null in cut.values():
            values = null.middle if isinstance(null, Band) else null
            lines.append((np.arange(1.0, len(np.asarray(values)) + 1), np.asarray(values)))
        at = (float(k), float(drawn[k - 1]))
        mark = clear_place(figure, at, marked, _BESIDE, lines)
        avoid = [box_of(in_shares(figure, *at), marked, **mark)]
    add_nulls(figure, _count(x, cut), cut, at=0.78, avoid=avoid, line=drawn)
    add_line(figure, x, drawn, hover="component %{x}: %{y:.4g}<extra></extra>", name=name)
    if marked:
        first = 0 if k <= _MARKED else k - 1  # many would hide the line: then the last alone
        _mark(figure, x[first:k], drawn[first:k])
        label(
            figure, np.log10(k) if log_x else k, float(np.log10(drawn[k - 1])), marked,
            colour=LIGHT.ink, **mark,
        )  # fmt: skip
    top, low = (significant(float(end)) for end in (np.nanmax(drawn), np.nanmin(drawn)))
    beside = f", beside {' and '.join(nulls)}" if nulls else ""
    alt = (
        f"Singular values of {name} on a logarithmic scale: {len(drawn):,} components from "
        f"{top} down to {low}{beside}.{f' {marked} of the variance.' if marked else ''}"
    )
    return Picture(figure, alt)


def cumulative_share(
    shares: ArrayLike,
    *,
    nulls: Mapping[str, Line] | None = None,
    thresholds: Mapping[int, int] | None = None,
    log_x: bool = True,
    name: str = "the table",
) -> Picture:
    """Share of the variance that the first k components hold together.

    Parameters
    ----------
    shares : array of shape (k,)
        Cumulative, rising to 1.
    nulls : mapping of name to line or Band, optional
    thresholds : mapping of percent to components, optional
        Such as ``{90: 3, 95: 5, 99: 24}``, each marked on the curve.
    log_x : bool
        Logarithmic component axis.
    name : str
        What the shares are of, for the text alternative.
    """
    held = 100 * np.asarray(shares, dtype=np.float64)
    x = np.arange(1, len(held) + 1, dtype=np.float64)
    figure = blank(
        xaxis=_components(len(held), log=log_x),
        yaxis={"title": {"text": "variance held, %"}, "range": [0, 104]},
    )
    scaled = {key: _times(line, 100) for key, line in (nulls or {}).items()}
    reached = {p: k for p, k in (thresholds or {}).items() if 0 < k <= len(held)}
    names = {p: f"{k:,} for {p} %" for p, k in reached.items()}
    at_share = {p: in_shares(figure, k, float(held[k - 1])) for p, k in reached.items()}
    near = {p: whole_place(at_share[p], names[p], _BY_SHARES) for p in reached}
    avoid = [box_of(at_share[p], names[p], **near[p]) for p in reached]
    add_nulls(figure, _count(x, scaled), scaled, at=0.7, above=False, avoid=avoid, line=held)
    add_line(figure, x, held, hover="first %{x} components: %{y:.1f} %<extra></extra>", name=name)
    if reached:
        at = np.array(sorted(set(reached.values())))
        _mark(figure, x[at - 1], held[at - 1])
    for p, k in reached.items():
        label(
            figure, np.log10(k) if log_x else k, float(held[k - 1]), names[p],
            colour=LIGHT.ink, **near[p],
        )  # fmt: skip
    told = ", ".join(names.values())
    alt = (
        f"Share of the variance of {name} held by the first components: {held[0]:.1f} % by one"
        f"{f'; components needed: {told}' if told else ''}."
    )
    return Picture(figure, alt)


def _components(count: int, *, log: bool) -> dict[str, object]:
    axis: dict[str, object] = {"title": {"text": "component"}}
    if count <= _COUNTED:  # Plotly would count halves
        axis |= {"tickvals": list(range(1, count + 1))}
    if log:
        return axis | {**_decades(1.0, float(count)), "type": "log", **axis}
    return axis | {"range": [1 - 0.02 * count - 0.5, 1.02 * count + 0.5]}


def _components_hold(k: int) -> str:
    return f"{k:,} component holds" if k == 1 else f"{k:,} components hold"


def _mark(figure: go.Figure, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    figure.add_scatter(
        x=x, y=y, mode="markers", hoverinfo="skip", marker={"color": LIGHT.accent, "size": 8}
    )


def _positive(values: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=np.float64)
    return np.where(given > 0, given, np.nan)


def above_floor(values: ArrayLike) -> NDArray[np.float64]:
    """Values that are more than rounding; the rest are gaps. All zero: the lowest is drawn as 1."""
    given = np.asarray(values, dtype=np.float64)
    top = float(given.max(initial=0))
    return np.where(given > top * _FLOOR, given, np.nan) if top > 0 else np.ones(len(given))


def _cut(line: Line) -> Line:
    if isinstance(line, Band):
        return Band(above_floor(line.middle), above_floor(line.low), above_floor(line.high))
    return above_floor(line)


def _times(line: Line, factor: float) -> Line:
    if isinstance(line, Band):
        return Band(*(factor * np.asarray(part) for part in (line.middle, line.low, line.high)))
    return factor * np.asarray(line)


def _lows(nulls: Mapping[str, Line] | None) -> list[ArrayLike]:
    cut = [_cut(line) for line in (nulls or {}).values()]
    return [line.low if isinstance(line, Band) else line for line in cut]


def _highs(nulls: Mapping[str, Line] | None) -> list[ArrayLike]:
    return [line.high if isinstance(line, Band) else line for line in (nulls or {}).values()]


def _count(x: NDArray[np.float64], nulls: Mapping[str, Line]) -> NDArray[np.float64]:
    """Component numbers long enough for the table and every null beside it."""
    sizes = [len(np.asarray(n.middle if isinstance(n, Band) else n)) for n in nulls.values()]
    return np.arange(1, max([len(x), *sizes]) + 1, dtype=np.float64)


def _decades(low: float, high: float) -> dict[str, object]:
    """Range of a log axis with a little room; one grid line a decade where there are several."""
    first, last = float(np.log10(low)), float(np.log10(high))
    room = 0.03 * (last - first) or 0.3
    decades = last - first
    ticks: dict[str, object] = {}
    if decades >= 1:  # fewer: Plotly's own choice; many: not every one
        ticks = {"dtick": max(1, round(decades / 6)) if decades >= 2 else "D2"}
    return {"range": [first - room, last + room], **ticks}
