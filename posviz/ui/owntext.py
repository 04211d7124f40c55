"""A text of the visitor's own to train on: uploaded, or the beginning of a Hub data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.ui.access import visitor_access
from posviz.ui.format import data_size, literal

if TYPE_CHECKING:
    from posviz.sources.corpus import Corpus

TEXT_MB = 16
NAME = "text_dataset"
_TAKEN, _SAID = "_text_of_dataset", "_text_refused"  # what was fetched, and why not


@dataclass(frozen=True)
class Text:
    """A text of the visitor's own: the name of its file, and what is in it."""

    name: str
    content: bytes


def own_text() -> Text | None:
    """The text to train on; None for the help topics of Python."""
    upload, hub = st.columns(2)
    own = upload.file_uploader(
        "Your own text (UTF-8); without it the help topics of Python",
        max_upload_size=TEXT_MB,
        key="own_text",
    )
    with hub:
        name = st.text_input(
            "Or a data set of the Hub",
            key=NAME,
            placeholder="OWNER/NAME",
            help="Of its first plain text, JSON lines or parquet file the beginning is fetched, "
            "of a table its text column. You are asked first.",
        )
        fetched = _of_dataset((name or "").strip())
    return fetched if own is None else Text(own.name, own.getvalue())


def _of_dataset(name: str) -> Text | None:
    """The text of a data set, once the visitor has agreed to its size."""
    session = st.session_state
    if not name:
        session.pop(_TAKEN, None)
        return None
    taken: Text | None = session.get(_TAKEN)
    if taken is not None and taken.name == name:
        letters = len(taken.content.decode())
        st.caption(literal(f"{letters:,} characters of {name} are the text of the next run."))
        return taken
    try:
        corpus = _found(name, visitor_access().token)
    except PosvizError as error:
        st.error(literal(str(error)), icon=":material/error:")
        return None
    if refused := session.pop(_SAID, None):
        st.error(literal(refused), icon=":material/error:")
    whole = f" of {data_size(corpus.size)}" if corpus.fetched < corpus.size else ""
    st.button(
        f"Fetch {data_size(corpus.fetched)}{whole} from {literal(corpus.path)}",
        key="fetch-text",
        on_click=_fetch,
        args=(name, corpus),
    )
    return None


def _fetch(name: str, corpus: Corpus) -> None:
    from posviz.sources.corpus import read_corpus

    try:
        st.session_state[_TAKEN] = Text(name, read_corpus(corpus).encode())
    except PosvizError as error:
        st.session_state[_SAID] = str(error)


@st.cache_resource(max_entries=16, ttl=600, show_spinner="Asking the Hub …")
def _found(name: str, token: str | bool) -> Corpus:
    """What would be read; one visitor's rights never answer another's question."""
    from posviz.sources.corpus import find_corpus

    return find_corpus(name, visitor_access())
