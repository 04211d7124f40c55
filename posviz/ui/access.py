"""What visitors of this server may open, as its operator set it in the environment.

``POSVIZ_LOCAL_PATHS``
    ``on`` (the default): paths of the machine that runs the app may be opened. ``off``: only
    uploads, the Hub and what is shipped. A folder: only what lies inside it.
``POSVIZ_HUB_TOKEN``
    ``server``: the Hub token saved on this machine is used for every visitor, private models
    included. Anything else, or nothing: it is used for nobody; a visitor may paste their own,
    which lives as long as their visit.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import streamlit as st

from posviz.sources import Access

LOCAL_PATHS, HUB_TOKEN = "POSVIZ_LOCAL_PATHS", "POSVIZ_HUB_TOKEN"
PASTED = "hub_token"  # the widget's key; never part of the address


def visitor_access() -> Access:
    """What this visitor may open."""
    return replace(_paths(), token=_token())


def is_shared() -> bool:
    """Whether the server is for other people too, each of whom sees and touches their own."""
    paths = _paths()
    return not paths.local_paths or paths.local_root is not None


def _paths() -> Access:
    setting = os.environ.get(LOCAL_PATHS, "on").strip()
    if setting.lower() in {"on", ""}:
        return Access()
    if setting.lower() == "off":
        return Access(local_paths=False)
    return Access(local_root=Path(setting).expanduser().resolve())


def _token() -> str | bool:
    pasted = str(st.session_state.get(PASTED) or "").strip()
    return pasted or os.environ.get(HUB_TOKEN, "").strip().lower() == "server"
