"""posviz starts here: the list of pages, the shared table picker, and the one place for errors.

Run it with ``streamlit run app.py``, or ``make run``.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from posviz import processes
from posviz.errors import PosvizError
from posviz.ui import assets, figure, page, picker, slips, visitor

HERE = Path(__file__).parent
processes.share_cores()


def listed(address: str, title: str, icon: str, shows: str) -> st.Page:
    """A page of the menu; its file in ``pages/`` is named like its address.

    Streamlit itself looks for an address there before this file has run for the first time.
    """
    return st.Page(
        page.PAGES / f"{address}.py",
        title=title,
        icon=f":material/{icon}:",
        url_path="" if address == page.HOME else address,
        default=address == page.HOME,
        help=shows,
    )


# The home page's own name is an address too: people type it, and old links have it.
BY_NAME = st.Page(
    page.PAGES / f"{page.HOME}.py", title="Overview", url_path=page.HOME, visibility="hidden"
)

PAGES = {
    "Start": [
        listed("overview", "Overview", "visibility", "The open table at a glance."),
        BY_NAME,
    ],
    "Look": [
        listed("curve", "Curve", "gesture", "The positions as a curve in two or three components."),
        listed("similarity", "Similarity", "grid_on", "Which positions look alike, and how far."),
        listed("spectrum", "Spectrum", "show_chart", "How many dimensions the table needs."),
        listed("dimensions", "Dimensions", "waves", "What each dimension does along position."),
    ],
    "Change": [
        listed("interpolation", "Interpolation", "expand", "The table at another length."),
        listed("training", "Training", "model_training", "A table forming, step by step."),
        listed("inside", "Inside the model", "layers", "Token, position and attention."),
    ],
    "More": [
        listed("compare", "Compare", "compare_arrows", "The open table beside another one."),
        listed("checkpoint", "Checkpoint", "inventory_2", "What is in the file, and why."),
    ],
}

st.set_page_config(
    page_title="posviz",
    page_icon=str(page.ICON),
    layout="wide",
    initial_sidebar_state="auto",
)
st.html(page.STYLE.read_text(encoding="utf-8"))
st.logo(str(page.LOGO), size="large")
try:
    assets.ensure_plotly_js(HERE)
except OSError as error:
    st.error(str(error), icon=":material/error:")
chosen = st.navigation(PAGES, expanded=True)
# A second time: st.navigation without the icon set before it asks a foreign host for the page's.
st.set_page_config(page_title=f"{chosen.title} · posviz")
slips.begin()
figure.preload()
picker.sidebar()
st.session_state[page.STARTED] = True
try:
    chosen.run()
    visitor.welcome()
except PosvizError as error:
    st.error(str(error), icon=":material/error:")
