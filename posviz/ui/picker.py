"""The sidebar: which table is open, how to open another, and what every page should do with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.errors import StreamlitAPIException

from posviz.sources import PRESETS
from posviz.ui import address, hub, opened, results, uploads
from posviz.ui.format import count, counted, listed, literal

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import IO

    from streamlit.delta_generator import DeltaGenerator

    from posviz.ui.opened import Opened

TABLE, PARAMETER, WITHOUT, EXPERT = "table", "parameter", "without", "expert"
_PARAMETER_OF = "_parameter_of"  # the reference that the picked parameter belongs to
_UPLOADER = "uploader"  # the popover; whether it is open
DEMOS = ("demo:gpt-mini", "demo:bert-mini")
PLACEHOLDER = "A name, hub:OWNER/NAME or a path"
GRAMMAR = (
    "Pick one, or type your own: a Hub model as `hub:OWNER/NAME` (only the table's "
    "bytes are fetched), a path on this machine, `sinusoidal:LxD` or `random:LxD:SEED`."
)


def sidebar() -> Opened:
    """Draw the sidebar and return the table that all pages show."""
    told = st.container()  # what the address asks of it in vain: it is closed on a narrow screen
    with st.sidebar:
        card = st.container(key="open-table", border=True)
        chosen = _table_picker()
        hub.find(_take)
        _open_another()
        parameter = _parameter_asked(chosen)
        found = opened.choose(chosen, parameter)
        _tables_of(found, parameter)
        with card:
            st.markdown(f"**{literal(found.table.name)}**")
            st.caption(describe(found))
        _without_special_rows(found, told)
        address.switch(
            "Expert",
            key=EXPERT,
            told=told,
            help="Opens every section: all numbers, settings and methods.",
        )
    return found


def describe(found: Opened) -> str:
    """Size and kind in a few words: ``1,024 positions × 768 · learned``."""
    table = found.table
    # No-break spaces: the card is narrow, and its lines end between these words only.
    offset = f" · first\u00a0row\u00a0{table.row_offset}" if table.row_offset else ""
    grid = f" · grid\u00a0{table.grid[0]}\u00a0×\u00a0{table.grid[1]}" if table.grid else ""
    size = f"{counted(table.n_positions, 'position')} × {count(table.d_model)}"
    return f"{size} · {table.kind}{offset}{grid}"


def _table_picker() -> str | None:
    options = offered(TABLE)
    return address.looked_up(
        "Table",
        options,  # the first is the default, and is left out of the address
        key=TABLE,
        typed=True,
        placeholder=PLACEHOLDER,
        help=GRAMMAR,
    )


def offered(key: str) -> list[str]:
    """What a picker of tables lists, the offline demo first.

    With what was typed or linked to for the widget ``key``.
    """
    options = [opened.DEFAULT, *uploads.listed(), *DEMOS, *_references(), *PRESETS]
    asked = st.session_state.get(key) or st.query_params.get(key)
    return list(dict.fromkeys([*options, asked] if asked else options))


def _references() -> tuple[str, str]:
    """Generated tables of the size that was last open, to hold the open one against."""
    last = opened.last()
    rows, width = (last.table.n_positions, last.table.d_model) if last else (1024, 768)
    return f"sinusoidal:{rows}x{width}", f"random:{rows}x{width}"


def _open_another() -> None:
    with st.popover("Upload a checkpoint", width="stretch", key=_UPLOADER, on_change="rerun"):
        turn = st.session_state.setdefault("_upload_turn", 0)
        most = int(st.get_option("server.maxUploadSize"))  # MB, as the operator set it
        st.file_uploader(
            "A checkpoint, or its table alone",
            accept_multiple_files=True,
            max_upload_size=most,
            key=f"upload-{turn}",
            on_change=_take_upload,
            help="Add its config.json too, and every shard if there are several.",
        )
        st.caption(
            f"Safetensors, PyTorch, GGUF, Keras, NumPy, TSV or CSV, up to {most:,} MB; only the "
            f"table is kept. For a larger model, type its path or `hub:OWNER/NAME` in the box "
            f"above."
        )


def _take(ref: str) -> None:
    st.session_state[TABLE] = ref


def _take_upload() -> None:
    session = st.session_state
    files = session.get(f"upload-{session['_upload_turn']}") or []
    if not files:
        return
    named: dict[str, IO[bytes]] = {}
    for file in files:
        named[_free(file.name, named)] = file
    ref = opened.take_upload(named)
    session["_upload_turn"] += 1  # a fresh uploader
    session[_UPLOADER] = False  # what was uploaded, or why not, stands on the page below
    uploads.let_go(files)
    if ref is not None:
        session[TABLE] = ref


def _free(name: str, taken: Container[str]) -> str:
    """The name, or one like it where another file of this upload already has it."""
    path, number = PurePath(name), 1
    while name in taken:
        number += 1
        name = f"{path.stem} ({number}){path.suffix}"
    return name


def open_by_hand(key: str = "by_hand") -> None:
    """Open the tensor picked in the widget ``key``, in the checkpoint last asked for."""
    session = st.session_state
    session[PARAMETER] = session[key]
    session[_PARAMETER_OF] = session.get(TABLE)
    with suppress(StreamlitAPIException):  # a menu that stands already writes the address itself
        if session[key]:
            st.query_params[PARAMETER] = session[key]


def _parameter_asked(ref: str | None) -> str | None:
    """The table of several that was picked in this file, or named by the link that opened it."""
    session = st.session_state
    if session.get(_PARAMETER_OF, ref) != ref:  # picked in another file
        session.pop(PARAMETER, None)
        return None
    return session[PARAMETER] if PARAMETER in session else st.query_params.get(PARAMETER)


def _tables_of(found: Opened, parameter: str | None) -> None:
    """One click takes another table of the file; a tensor opened by hand stands last.

    What a menu holds at first is left out of the address, so that must not be the tensor.
    """
    session = st.session_state
    session[_PARAMETER_OF] = session.get(TABLE)
    tables = found.facts.tables
    names = [table.parameter for table in tables]
    if parameter and parameter not in names:
        if opened.refused() is not None:
            return
        names.append(parameter)
    if len(names) < 2 and not parameter:
        return
    reasons = "\n\n".join(f"`{table.parameter}`: {table.reason}" for table in tables)
    label = "Table of this file" if len(names) == 1 else f"One of {len(names)} tables of this file"
    first = 0 if tables else None
    address.looked_up(label, names, key=PARAMETER, index=first, help=reasons or None)


def _without_special_rows(found: Opened, told: DeltaGenerator) -> None:
    special = results.special(found.table)
    if not special:
        return
    positions = [row.position for row in special]
    address.switch(
        f"Leave out {'row' if len(positions) == 1 else 'rows'} {listed(positions, most=3)}",
        key=WITHOUT,
        told=told,
        help="\n\n".join(f"Position {row.position}: {row.reason}" for row in special[:12]),
    )
