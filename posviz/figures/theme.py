"""How every figure looks: colours, type and the calm defaults, in one place.

Figures are ordinary ``go.Figure`` objects built with the colours of :data:`LIGHT`. Every
colour of :data:`LIGHT` is a different hex string, so a figure is turned dark by replacing
strings, one for one: :func:`themed` does it here (for exports), and the figure component does
the same in the browser with the same map (:func:`swap`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'
TEXT_SIZE = 13
SMALL_SIZE = 12


@dataclass(frozen=True)
class Tokens:
    """The colours of one theme, as ``#rrggbb``; each field of a theme has a colour of its own.

    Parameters
    ----------
    ground, card : str
        Behind everything; behind a figure that lies on a card.
    hairline : str
        Grid lines and dividers.
    ink, ink_soft : str
        Text and secondary text. Both reach AA contrast (4.5:1) on ground and card.
    accent, band : str
        The line that matters, and the spread round it.
    null, null_band, faint : str
        The null model's dotted line and its spread; a second curve that stays behind.
    negative … positive : str
        Diverging values from low to high, ``zero`` being the ground itself.
    least … most : str
        Values that only grow, ``least`` being near the ground.
    """

    ground: str
    card: str
    hairline: str
    ink: str
    ink_soft: str
    accent: str
    band: str
    null: str
    null_band: str
    faint: str
    negative: str
    below: str
    zero: str
    above: str
    positive: str
    least: str
    less: str
    middle: str
    more: str
    most: str


LIGHT = Tokens(
    ground="#ffffff",
    card="#fbfaff",
    hairline="#e9e7f1",
    ink="#22202e",
    ink_soft="#5f5b73",
    accent="#5b47d6",
    band="#dfdaf8",
    null="#7d7992",
    null_band="#ecebf0",
    faint="#b4b0c4",
    negative="#2c5fd0",
    below="#9db9ef",
    zero="#fffffe",
    above="#f3b48f",
    positive="#d4511c",
    least="#f6f4fe",
    less="#bcb1f3",
    middle="#7f69e3",
    more="#47309f",
    most="#1e1456",
)

DARK = Tokens(
    ground="#171523",
    card="#1f1c30",
    hairline="#33304a",
    ink="#e8e6f0",
    ink_soft="#a9a4bd",
    accent="#9d8cff",
    band="#3a3363",
    null="#8f8aa6",
    null_band="#2a2739",
    faint="#5d587a",
    negative="#4f8ff7",
    below="#2b4a80",
    zero="#1f1c31",
    above="#8a4a2f",
    positive="#ff8a4c",
    least="#221e3a",
    less="#43388a",
    middle="#6d59d9",
    more="#aa9bff",
    most="#eeebff",
)

POSITION = ("#3a4fc4", "#7a5bd0", "#bf58b5", "#ec6f85", "#f59a5c", "#f2c14e")
"""Position, first to last, everywhere and in both themes: lightness rises all the way."""

PALETTES = {
    "diverging": (LIGHT.negative, LIGHT.below, LIGHT.zero, LIGHT.above, LIGHT.positive),
    "sequential": (LIGHT.least, LIGHT.less, LIGHT.middle, LIGHT.more, LIGHT.most),
}
"""Evenly spaced colours, low to high, in the light theme."""


def swap(tokens: Tokens) -> dict[str, str]:
    """Colour of the light theme → the same token's colour in ``tokens``; one to one."""
    return {light: getattr(tokens, name) for name, light in asdict(LIGHT).items()}


def themed(figure: go.Figure, tokens: Tokens) -> go.Figure:
    """A copy of a figure in another theme's colours.

    Parameters
    ----------
    figure : go.Figure
        Built in the light theme, as every figure of this package is. Not changed.
    tokens : Tokens
        Usually :data:`DARK`.
    """
    colours = swap(tokens)

    def replaced(value: Any) -> Any:
        if isinstance(value, str):
            return colours.get(value, value)
        if isinstance(value, dict):
            return {name: replaced(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [replaced(inner) for inner in value]
        return value

    return go.Figure(replaced(figure.to_plotly_json()), skip_invalid=False)


def colourscale(colours: tuple[str, ...]) -> list[tuple[float, str]]:
    """Evenly spaced stops for Plotly's ``colorscale``."""
    return list(zip(np.linspace(0, 1, len(colours)).tolist(), colours, strict=True))


def position_colours(fraction: ArrayLike) -> list[str]:
    """Colour of each position.

    Parameters
    ----------
    fraction : array in [0, 1]
        0 is the first position shown, 1 the last.
    """
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in POSITION])
    at = np.linspace(0, 1, len(POSITION))
    where = np.atleast_1d(np.asarray(fraction, dtype=float))
    mixed = np.stack([np.interp(where, at, channel) for channel in stops.T], axis=1)
    return ["#{:02x}{:02x}{:02x}".format(*colour) for colour in mixed.round().astype(int)]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, from 1 to 21.

    References
    ----------
    Web Content Accessibility Guidelines 2.2, "contrast ratio" and "relative luminance".
    """
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


_AXIS = {
    "gridcolor": LIGHT.hairline,
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "tickformat": ",~g",  # 1,000 and 0.0001, also on log axes, where Plotly writes 1000 and 100µ
    "tickfont": {"color": LIGHT.ink_soft, "size": SMALL_SIZE},
    "title": {"font": {"color": LIGHT.ink_soft, "size": TEXT_SIZE}, "standoff": 8},
    "automargin": True,
}
_SPACE_AXIS = {
    "gridcolor": LIGHT.hairline,
    "showbackground": False,
    "showspikes": False,
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "nticks": 4,
    "tickformat": ",~g",
    "tickfont": {"color": LIGHT.ink_soft, "size": 11},
    "title": {"font": {"color": LIGHT.ink_soft, "size": TEXT_SIZE}},
}

_BASE = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": TEXT_SIZE, "color": LIGHT.ink},
        "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": LIGHT.card,
            "bordercolor": LIGHT.hairline,
            "font": {"family": FONT, "size": TEXT_SIZE, "color": LIGHT.ink},
            "align": "left",
        },
        "colorway": [LIGHT.accent, LIGHT.null],
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "scene": {"xaxis": _SPACE_AXIS, "yaxis": _SPACE_AXIS, "zaxis": _SPACE_AXIS},
        "annotationdefaults": {"showarrow": False, "font": {"size": TEXT_SIZE}},
    }
)


def blank(**layout: Any) -> go.Figure:
    """An empty figure in the light theme: transparent ground, hairline grid, no box, no legend.

    ``uirevision`` never changes, so that a camera or zoom set by hand outlives new data.
    """
    return go.Figure(layout={"template": _BASE, "uirevision": "kept", **layout})
