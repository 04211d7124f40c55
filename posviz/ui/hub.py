"""The popover that finds a model on the Hub: presets by family, a search, and a visitor's token."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.sources import PRESETS
from posviz.sources.search import HubModel, search
from posviz.ui import opened
from posviz.ui.access import PASTED, visitor_access
from posviz.ui.format import literal

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND = 12  # models listed for a search
_FINDER = "finder"  # the popover; whether it is open


def find(choose: Callable[[str], None]) -> None:
    """Draw the popover.

    Parameters
    ----------
    choose : function (reference)
        Called, before the page runs again, with what was picked.
    """
    with st.popover("Find a model", width="stretch", key=_FINDER, on_change="rerun") as popover:
        if not popover.open:
            return
        st.caption("From the Hub only the table's bytes are fetched, a few megabytes at most.")
        text = st.text_input("Search the Hub", key="hub_search", placeholder="part of a name")
        if text and text.strip():
            _found(text.strip(), choose)
        else:
            _presets(choose)
        st.text_input(
            "Your Hub token",
            type="password",
            key=PASTED,
            persist_state="session",
            on_change=opened.try_again,  # a model that was refused without it
            help="For gated and private models. It is kept for this visit only and never shown.",
        )


def _presets(choose: Callable[[str], None]) -> None:
    by_family = sorted(PRESETS.values(), key=lambda preset: preset.family)
    for family, presets in groupby(by_family, key=lambda preset: preset.family):
        st.caption(family)
        for preset in presets:
            _offer(preset.name, f"{preset.n_positions:,} × {preset.d_model:,}", choose, preset.name)


def _found(text: str, choose: Callable[[str], None]) -> None:
    try:
        models = _search(text, visitor_access().token)
    except PosvizError as error:
        st.error(literal(str(error)), icon=":material/error:")
        return
    if not models:
        st.caption(f"No model's name holds “{literal(text)}”.")
    for model in models:
        _offer(model.label, f"{model.downloads:,} downloads", choose, model.ref)


def _offer(label: str, more: str, choose: Callable[[str], None], ref: str) -> None:
    st.button(
        f"**{literal(label)}** {more}",
        key=f"take-{ref}",
        type="tertiary",
        on_click=_choose,
        args=(choose, ref),
    )


def _choose(choose: Callable[[str], None], ref: str) -> None:
    choose(ref)
    st.session_state[_FINDER] = False


@st.cache_data(ttl=600, max_entries=64, show_spinner="Asking the Hub …")
def _search(text: str, token: str | bool) -> tuple[HubModel, ...]:
    return search(text, visitor_access(), limit=FOUND)
