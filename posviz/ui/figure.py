"""The one component that shows figures: Plotly with its camera kept, heatmaps as raw pixels."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import streamlit as st

from posviz.figures.theme import DARK, LIGHT, swap

if TYPE_CHECKING:
    from posviz.figures.picture import Picture, Raster

_HERE = Path(__file__).parent
_HTML = """
<div class="posviz-figure">
  <div class="posviz-wait"></div>
  <canvas class="posviz-raster" aria-hidden="true" hidden></canvas>
  <div class="posviz-plot" role="img" tabindex="0"
       aria-description="Arrow keys move over the figure, Enter chooses, Escape ends."></div>
  <div class="posviz-tip" hidden></div>
  <div class="posviz-hint" aria-hidden="true" hidden>drag to turn</div>
  <div class="posviz-film" hidden>
    <button type="button"></button>
    <input type="range" min="0" max="0" step="any" aria-label="Frame">
    <output></output>
  </div>
  <div class="posviz-said" aria-live="polite"></div>
  <p class="posviz-refusal" role="alert" hidden></p>
</div>
"""
_PARTS = ("loading.js", "raster.js", "space.js", "walk.js", "film.js", "figure.js")
# One module without imports: the parts are joined, so that no build step is needed.
_JS = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _PARTS)

_mount = st.components.v2.component(
    "posviz_figure",
    html=_HTML,
    css=(_HERE / "figure.css").read_text(encoding="utf-8"),
    js=_JS,
    isolate_styles=False,  # Plotly writes its own rules into the page's head
)

_answer = st.components.v2.component(
    "posviz_answer",
    html='<div class="posviz-figure"></div>',
    js="\n".join(
        (_HERE / name).read_text(encoding="utf-8") for name in ("loading.js", "answer.js")
    ),
    isolate_styles=False,
)

_TOKENS = {
    "ground": LIGHT.ground,
    "card": LIGHT.card,
    "hairline": LIGHT.hairline,
    "ink": LIGHT.ink,
    "ink-soft": LIGHT.ink_soft,
    "accent": LIGHT.accent,
}
_packed: WeakKeyDictionary[Picture, dict[tuple[str, int, bool, bool], bytes]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Shown:
    """What the person last chose in a figure, by click or Enter.

    Parameters
    ----------
    cell : (int, int) or None
        Row and column, as positions, of a heatmap.
    point : int or None
        Position (or component, or offset) on a line.
    pause : (int, int) or None
        The cell over which the cursor last came to rest.
    window : (int, int, int, int) or None
        First and last row, first and last column that a zoom shows, where cells are pooled.
    """

    cell: tuple[int, int] | None = None
    point: int | None = None
    pause: tuple[int, int] | None = None
    window: tuple[int, int, int, int] | None = None


def show(
    picture: Picture, *, key: str, height: int = 480, picks: bool = True, asks: bool = False
) -> Shown:
    """Show a picture; camera and zoom outlive every change of its data.

    Parameters
    ----------
    picture : Picture
    key : str
        Names the place on the page: the element keeps its node as long as this stays the same,
        and carries the class ``st-key-<key>``.
    height : int
        In pixels; the page does not move when the figure arrives.
    picks : bool
        Whether a click or Enter runs the page again with :class:`Shown` filled.
    asks : bool
        Whether a short pause over a cell, and a zoom into pooled cells, do so too; the page then
        gives an :func:`answer`. Best inside a fragment.
    """
    result = _mount(
        data=pack(picture, key=key, height=height, picks=picks, asks=asks),
        key=key,
        height="content",
        on_cell_change=_nothing,
        on_point_change=_nothing,
        on_pause_change=_nothing,
        on_window_change=_nothing,
    )
    return Shown(
        cell=_cell(result.get("cell")),
        point=_point(result.get("point")),
        pause=_cell(result.get("pause")),
        window=_window(result.get("window")),
    )


def answer(
    key: str,
    *,
    exact: tuple[tuple[int, int], str] | None = None,
    detail: Raster | None = None,
) -> None:
    """What the figure ``key`` asked for, beside it on the page.

    Parameters
    ----------
    key : str
        Of the figure.
    exact : ((int, int), str) or None
        A cell, and what it says instead of its painted value.
    detail : Raster or None
        A part of the picture in more detail, with the limits of the whole.
    """
    geometry = ("rows", "cols", "nRows", "nCols", "step", "firstRow", "firstCol")
    header = {
        "key": key,
        "exact": exact and {"cell": exact[0], "words": exact[1]},
        "detail": detail and {name: detail.header[name] for name in geometry},
    }
    payload = detail.values.tobytes() if detail else b""
    _answer(data=_framed(json.dumps(header), payload), key=f"{key}-answer", height="content")


def preload() -> None:
    """Begin to load the drawing library; as the first element of a page it saves waiting later."""
    _mount(data=None, key="posviz_preload", height="content")


def pack(
    picture: Picture,
    *,
    key: str = "figure",
    height: int = 480,
    picks: bool = True,
    asks: bool = False,
) -> bytes:
    """A picture as the bytes that the component reads: JSON length, JSON, payload.

    Kept for as long as the picture lives, so that an unchanged one costs a rerun nothing.
    """
    kept = _packed.setdefault(picture, {})
    options = (key, height, picks, asks)
    if options not in kept:
        kept[options] = _pack(picture, *options)
    return kept[options]


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON and the payload of :func:`pack`, for tests and tools."""
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def _pack(picture: Picture, key: str, height: int, picks: bool, asks: bool) -> bytes:
    payload = picture.payload
    about = {
        "alt": picture.alt,
        "key": key,
        "height": height,
        "picks": picks,
        "asks": asks,
        "raster": picture.raster.header if picture.raster else None,
        "film": picture.film.header if picture.film else None,
        "tokens": _TOKENS,
        "dark": swap(DARK),
        "revision": f"{zlib.crc32(payload, zlib.crc32(picture.spec.encode())):08x}",
    }
    # The figure is JSON already; parsing it only to write it again would cost more than all else.
    header = f'{json.dumps(about, allow_nan=False)[:-1]}, "figure": {picture.spec}}}'
    return _framed(header, payload)


def _framed(header: str, payload: bytes) -> bytes:
    text = header.encode()
    return struct.pack("<I", len(text)) + text + payload


def _cell(value: Any) -> tuple[int, int] | None:
    """The cell a browser sent, if it is one: anybody can send anything."""
    if isinstance(value, list | tuple) and len(value) == 2:
        row, col = map(_point, value)
        if row is not None and col is not None:
            return row, col
    return None


def _window(value: Any) -> tuple[int, int, int, int] | None:
    if isinstance(value, list | tuple) and len(value) == 4:
        first_row, last_row, first_col, last_col = map(_point, value)
        if None not in (first_row, last_row, first_col, last_col):
            return first_row, last_row, first_col, last_col  # type: ignore[return-value]
    return None


def _point(value: Any) -> int | None:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return int(value) if whole else None


def _nothing() -> None:
    """Streamlit lists a state in the result only where it has a callback."""
