"""The download of a whole Hub model: asked for with its size, watched, and cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.ui import measuring, visitor
from posviz.ui.access import visitor_access
from posviz.ui.format import data_size, literal

if TYPE_CHECKING:
    from posviz.export.fetching import Fetch, Fetches

EVERY = 0.5  # seconds between two looks at a download
_REFUSED = "_refused_fetch"


@st.cache_resource(show_spinner=False)
def fetches() -> Fetches:
    """The one registry of this server."""
    from posviz.export.fetching import Fetches

    return Fetches()


def is_here(ref: str) -> bool:
    """Whether all of a Hub model is on this machine; if not, its download is drawn."""
    from posviz.sources.hub import on_this_machine

    access = visitor_access()
    if on_this_machine(ref, access) is not None:
        return True
    fetch = fetches().of(visitor.this(), ref)
    if fetch is not None and fetch.alive:
        st.fragment(run_every=EVERY)(_progress)(fetch)
        return False
    if fetch is not None and fetch.state == "done":
        return True
    name, size = measuring.download_size(ref, access.token, access)
    if size == 0:
        return True
    _ask(ref, name, size, fetch)
    return False


def _ask(ref: str, name: str, size: int, before: Fetch | None) -> None:
    st.markdown(
        f"Only the table of {literal(name)} was fetched so far. The checkpoint needs the whole "
        f"model, which goes into the Hub's cache on this machine."
    )
    st.button(
        f"Download the whole model, {data_size(size)}", key="whole-model", on_click=_start,
        args=(ref,),
    )  # fmt: skip
    refused: str | None = st.session_state.pop(_REFUSED, None)
    sentence = refused or (before.message if before is not None else None)
    if sentence:
        st.info(literal(sentence), icon=":material/error:")
    elif before is not None and before.state == "stopped":
        st.info("Cancelled. Nothing half is left in the cache.", icon=":material/info:")


def _start(ref: str) -> None:
    try:
        fetches().start(visitor.this(), ref, visitor_access())
    except PosvizError as error:
        st.session_state[_REFUSED] = str(error)


def _progress(fetch: Fetch) -> None:
    """How much has come; it looks again by itself until all has, or the visitor has enough."""
    if not fetch.alive:
        st.rerun()
    said, cancel = st.columns([5, 1], vertical_alignment="center")
    of = f"{data_size(fetch.have)} of {data_size(fetch.size)}" if fetch.size else "Connecting …"
    said.progress(fetch.have / max(fetch.size, 1), text=of)
    cancel.button(
        "Cancel", key="cancel-whole-model", on_click=fetches().cancel, args=(fetch,)
    )  # fmt: skip
