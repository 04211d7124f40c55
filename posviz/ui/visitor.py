"""Who a visitor is: the same in every tab of a browser, also when they come back another day.

A browser that starts a run is given one cookie, a random number that nobody can guess. Whoever
sends it started the runs that hold its digest; without cookies a visitor is one tab until it is
closed. On one's own machine (:func:`posviz.ui.access.is_shared` says no) everything is one's own.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import TYPE_CHECKING

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from posviz.runfolder import OWNER
from posviz.training.recording import write_whole
from posviz.ui.access import is_shared

if TYPE_CHECKING:
    from pathlib import Path

COOKIE = "posviz_visitor"
_NUMBER = re.compile("[0-9a-f]{32}")
_VISITOR, _STARTED = "_visitor", "_visitor_started"

_mount = st.components.v2.component(
    "posviz_visitor",
    js="""export default ({ data }) => {
      const secure = location.protocol === "https:" ? "; Secure" : "";
      document.cookie = `${data}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
    }""",
    isolate_styles=False,
)


def this() -> str:
    """The number of this visitor: their cookie's, else one for this tab. It is a secret."""
    if _VISITOR not in st.session_state:
        st.session_state[_VISITOR] = _sent() or uuid.uuid4().hex
    return str(st.session_state[_VISITOR])


def _sent() -> str | None:
    """The number in the browser's cookie, if it is one: anybody can send anything."""
    sent = st.context.cookies.get(COOKIE)
    return sent if isinstance(sent, str) and _NUMBER.fullmatch(sent) else None


def claim(folder: Path) -> None:
    """Make a run folder this visitor's; raises TrainingError if it cannot be written."""
    st.session_state[_STARTED] = True
    write_whole(folder / OWNER, _digest(this()).encode())


def owns(folder: Path) -> bool:
    """Whether this visitor may stop, rename or delete the run in a folder."""
    if not is_shared():
        return True
    try:
        return (folder / OWNER).read_text() == _digest(this())
    except (OSError, ValueError):
        return False


def welcome() -> None:
    """Know this tab as the visitor's, and give the cookie to a browser that has started a run.

    For the end of every page; it draws nothing that is seen.
    """
    known = _sent() == this()
    if not known and not st.session_state.get(_STARTED):
        return
    context = get_script_run_ctx()
    if context is not None:
        tabs = _tabs()
        tabs[this()] = _open(tabs.get(this(), frozenset())) | {context.session_id}
    if not known:
        _mount(data=f"{COOKIE}={this()}", key="posviz_visitor", height="content")


def is_here(visitor: str) -> bool:
    """Whether a visitor's browser is still connected, in whatever tab and on whatever page."""
    return bool(_open(_tabs().get(visitor, frozenset())))


def _open(sessions: frozenset[str]) -> frozenset[str]:
    """Those that a browser still holds."""
    if not runtime.exists():
        return frozenset()
    return frozenset(filter(runtime.get_instance().is_active_session, sessions))


@st.cache_resource(show_spinner=False)
def _tabs() -> dict[str, frozenset[str]]:
    """The tabs of each visitor, by their sessions."""
    return {}


def _digest(visitor: str) -> str:
    return hashlib.sha256(visitor.encode()).hexdigest()
