"""A download that is made while it is sent: one piece at a time, never whole in memory or on disk.

Streamlit's own download button keeps the whole file in the server's memory. Here the browser asks
for a piece, gets it, and asks for the next; what it has put together is saved at the end.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from posviz.errors import PosvizError

PIECE = 8 << 20
_HERE = Path(__file__).parent
_HTML = """
<div class="posviz-stream">
  <button type="button"></button><progress max="1" hidden></progress><output></output>
</div>
"""
_mount = st.components.v2.component(
    "posviz_stream",
    html=_HTML,
    css=(_HERE / "stream.css").read_text(encoding="utf-8"),
    js=(_HERE / "stream.js").read_text(encoding="utf-8"),
)


@dataclass
class Sending:
    """A download on its way: who asked, how far it is, and the answer that was last given."""

    token: str
    pieces: Iterator[bytes]
    part: int = -1
    answer: bytes = b""


def download(
    label: str, name: str, size: int, pieces: Callable[[int], Iterator[bytes]], *, key: str
) -> None:
    """A button that saves a file which is made piece by piece; call it inside a fragment.

    Parameters
    ----------
    label : str
    name : str
        Of the file that the browser saves.
    size : int
        Bytes, about; for the bar.
    pieces : function (bytes a piece) -> iterator of bytes
        The file from its start; called anew for each download.
    key : str
    """
    about = {"label": label, "name": name, "size": size}
    sending: Sending | None = st.session_state.get(f"_{key}")
    _mount(
        data=sending.answer if sending else packed(about),
        key=key,
        height="content",
        on_want_change=partial(_answer, key, about, pieces),
    )


def packed(about: dict[str, Any], content: bytes = b"") -> bytes:
    """A header and a piece as the browser reads them: JSON length, JSON, bytes."""
    text = json.dumps(about).encode()
    return struct.pack("<I", len(text)) + text + content


def _answer(key: str, about: dict[str, Any], pieces: Callable[[int], Iterator[bytes]]) -> None:
    """Make the piece that the browser asks for; anybody can ask for anything."""
    want = st.session_state[key].get("want")
    held: Sending | None = st.session_state.get(f"_{key}")
    st.session_state[f"_{key}"] = answered(want, held, about, pieces)


def answered(
    want: object,
    held: Sending | None,
    about: dict[str, Any],
    pieces: Callable[[int], Iterator[bytes]],
) -> Sending | None:
    """The download after a wish ``[token, part]``: begun, gone on, or as it was.

    Only the part after the last one can be had, and the last one once more, so that nobody makes
    the server read a file from its start for every piece.
    """
    if not isinstance(want, list | tuple) or len(want) != 2 or not isinstance(want[0], str):
        return held
    token, part = want
    if part == 0 and (held is None or held.token != token):
        held = Sending(token, pieces(PIECE))
    if held is None or held.token != token or part != held.part + 1:
        return held
    held.part = part
    told = {**about, "token": token, "part": part}
    try:
        piece = next(held.pieces, None)
    except PosvizError as err:
        held.answer = packed({**told, "refused": str(err)})
    else:
        held.answer = packed({**told, "done": True}) if piece is None else packed(told, piece)
    return held
