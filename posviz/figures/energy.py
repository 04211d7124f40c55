"""How much of the variance the strongest dimensions hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posviz.figures.lines import add_line, add_nulls, label
from posviz.figures.picture import Picture
from posviz.figures.theme import LIGHT, blank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


def energy_by_dimension(
    cumulative: ArrayLike,
    *,
    nulls: Mapping[str, ArrayLike] | None = None,
    thresholds: Mapping[int, int] | None = None,
    name: str = "the table",
) -> Picture:
    """Share of the variance in the first m dimensions, strongest first, on a logarithmic axis.

    Parameters
    ----------
    cumulative : array of shape (d_model,)
        Rising to 1.
    nulls : mapping of name to array of the same shape, optional
    thresholds : mapping of percent to dimensions, optional
        Such as ``{90: 52}``, each marked on the curve.
    name : str
        What the shares are of, for the text alternative.
    """
    percent = 100 * np.asarray(cumulative, dtype=np.float64)
    x = np.arange(1, len(percent) + 1, dtype=np.float64)
    width = float(np.log10(len(percent)))
    room = 0.03 * width or 0.3
    figure = blank(
        xaxis={
            "title": {"text": "dimensions, strongest first"},
            "type": "log",
            "range": [-room, width + room],
            **({"dtick": 1} if width > 1 else {}),
        },
        yaxis={"title": {"text": "variance held, %"}, "range": [0, 104]},
    )
    beside = {key: 100 * np.asarray(null, dtype=np.float64) for key, null in (nulls or {}).items()}
    add_nulls(figure, x, beside, at=0.72, above=False)
    hover = "strongest %{x} dimensions: %{y:.1f} %<extra></extra>"
    add_line(figure, x, percent, hover=hover, name=name)
    for share, m in (thresholds or {}).items():
        figure.add_scatter(
            x=[m], y=[percent[m - 1]], mode="markers", hoverinfo="skip",
            marker={"color": LIGHT.accent, "size": 8},
        )  # fmt: skip
        right = np.log10(m) > 0.6 * width
        label(
            figure, np.log10(m), percent[m - 1], f"{m:,} hold {share} %", colour=LIGHT.ink,
            xanchor="right" if right else "left", xshift=-10 if right else 10,
            yshift=8 if right else -9,
        )  # fmt: skip
    told = ", ".join(f"{m:,} hold {share} %" for share, m in (thresholds or {}).items())
    against = f", beside {' and '.join(beside)}" if beside else ""
    return Picture(
        figure,
        f"Share of the variance of {name} in its strongest dimensions, {len(percent):,} in all"
        f"{against}: the strongest holds {percent[0]:.1f} %{f'; {told}' if told else ''}.",
    )
