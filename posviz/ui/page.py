"""The calm frame of every page: a question, its answer, one figure, at most three numbers.

A page asks (:func:`question`), answers in two sentences (:func:`answer`), puts up to three
numbers each beside a null (:func:`numbers`), draws (:func:`card`, :func:`provenance`), and
keeps the rest in closed sections (:func:`section`) that the Expert switch opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.repeats import all_equal
from posviz.ui import opened, picker
from posviz.ui.format import count, counted, listed, literal
from posviz.ui.picker import EXPERT, WITHOUT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.analysis.compare import Comparison
    from posviz.analysis.summary import Analysis
    from posviz.analysis.verdict import Sentence
    from posviz.ui.opened import Opened, Refused

STARTED = "_app_started"  # in this very run, by app.py
PAGES = Path(__file__).parents[2] / "pages"
HOME = "overview"
STYLE = Path(__file__).with_name("page.css")
ICON = STYLE.with_name("icon.png")
LOGO = STYLE.with_name("logo.svg")
MOST_NUMBERS = 3
SQUARE = 740  # pixels: a card for a picture as high as wide


@dataclass(frozen=True)
class Number:
    """A number at first sight: its value, what it is, and the same of a null model."""

    value: str
    what: str
    null: str
    help: str | None = None


def question(text: str, *, of_any_file: bool = False) -> Opened:
    """Start a page with its question and return the open table.

    A page ``of_any_file`` says itself what is in one that holds no position table, which is no
    fault there; every other page says why the table that was open is still the one it shows.

    The first visit to a fresh server finds the app not started where it asks for a page's own
    address; then this starts it, and the page runs again in its place.
    """
    if not st.session_state.pop(STARTED, False):
        _start_the_app()
    st.title(text, anchor=False)
    found = opened.current()
    refused = opened.refused()
    facts = found.facts
    if of_any_file and refused is not None and refused.facts is not None:
        facts = refused.facts
    elif refused is not None:
        _refusal(refused)
    said = refused.why if refused is not None and of_any_file else ""  # by the page itself
    for warning in facts.warnings:
        if warning not in said:
            st.warning(literal(warning), icon=":material/info:")
    return found


def _refusal(refused: Refused) -> None:
    """Why what was asked for is not open, and the two ways on: once more, or a tensor by hand."""
    st.error(literal(refused.sentence), icon=":material/error:")
    if refused.facts is not None and refused.facts.by_hand:
        names = [entry.name for entry in refused.facts.by_hand]
        st.selectbox(
            "Open a tensor by hand",
            names,
            index=None,
            key="by_hand",
            placeholder=f"{counted(len(names), 'tensor')} with two axes",
            on_change=picker.open_by_hand,
        )
    else:
        st.button("Try again", on_click=opened.try_again, key="try-again")


def _start_the_app() -> None:
    # Until st.navigation has been called once in a process, Streamlit looks into pages/ itself
    # and runs the file that is named like the address, without app.py. So files are named like
    # addresses (an address that it cannot find there gets a dialog, "Page not found"), and the
    # first call of st.navigation, with those very pages, hands the process over to app.py.
    home = st.Page(PAGES.parent / "app.py", default=True)
    files = sorted(PAGES.glob("*.py"))
    st.navigation([home, *(st.Page(file) for file in files)], position="hidden")
    st.rerun()


def without() -> bool:
    """Whether the visitor left special rows out."""
    return bool(st.session_state.get(WITHOUT))


def expert() -> bool:
    """Whether the visitor asked for everything to stand open."""
    return bool(st.session_state.get(EXPERT))


def answer(headline: str, *sentences: str) -> None:
    """Answer the question: a bold headline, then at most two sentences that read the figure."""
    with st.container(key="answer"):
        said = f"**{headline}** {' '.join(sentences[:2])}"
        st.markdown(said.replace(" %", "\u00a0%"))  # a percent sign never begins a line


def answer_from(numbers: Analysis, address: str) -> None:
    """Answer with what the verdict says of the page at ``address``."""
    said = [sentence.text for sentence in numbers.verdict if sentence.page == address]
    said = said or [numbers.verdict[0].text]
    answer(said[0], *said[1:])


def numbers(*shown: Number) -> None:
    """At most three numbers, each beside its null."""
    assert len(shown) <= MOST_NUMBERS, "more numbers belong in the section All numbers"
    # Not st.metric: it waits for the chart library, seconds after all else stands on the page.
    for place, (column, number) in enumerate(zip(st.columns(len(shown)), shown, strict=True)):
        with column.container(border=True, key=f"number-{place}"):
            st.markdown(f"**{number.value}**", help=number.help)
            st.caption(number.what)
            st.caption(number.null)


def usable(of: Analysis) -> Number:
    """How many positions look trained, and which do not."""
    failing = of.usable.failing
    unknown = "one row says nothing" if of.rows_used == 1 else "rows do not resemble neighbours"
    if all_equal(of.first_equal):
        unknown = "every row is the same"
    which = f"all but {listed(failing, most=3)}" if failing else "all of them"
    return Number(
        count(of.usable.length),
        "positions look trained",
        which if of.usable.length is not None else unknown,
        help=of.usable.rule,
    )


@contextmanager
def card(title: str | None = None, *, width: int | None = None) -> Iterator[None]:
    """A figure's place on the page, with a short title; as wide as the page, or at most so wide."""
    with st.container(border=True, width=width or "stretch"):
        if title:
            st.markdown(f"**{title}**")
        yield


def varies(of: Analysis) -> bool:
    """Whether there is a spectrum to draw; says so in its place where there is none."""
    if of.explained_variance_ratio is not None:
        return True
    st.info("Every row used is the same: nothing varies from position to position.")
    return False


def provenance(found: Opened, *facts: str) -> None:
    """The quiet line under a figure: where the numbers come from, what was centred and dropped."""
    said = (found.table.provenance.line(), *facts)
    with st.container(key="provenance"):
        st.caption(" · ".join(literal(fact) for fact in said if fact))


def not_drawn(of: Analysis | Comparison, drawn: NDArray[np.intp]) -> str:
    """Which of the rows used the curve leaves out, for the line under it."""
    gone = np.delete(of.positions, drawn).tolist()
    if not gone:
        return ""
    return f"{'row' if len(gone) == 1 else 'rows'} {listed(gone)} not drawn"


def linked(sentences: Iterable[Sentence]) -> None:
    """Sentences, each beside a link to the page that shows it; the open table stays open."""
    here = dict(st.query_params)
    for sentence in sentences:
        text, link = st.columns([6, 1], vertical_alignment="center")
        text.markdown(literal(sentence.text))
        file = PAGES / f"{sentence.page}.py"
        link.page_link(
            file, label=f":primary[{sentence.page.capitalize()} →]", query_params=here, help=""
        )


@contextmanager
def heavy_section(title: str) -> Iterator[bool]:
    """A section whose content is computed only while it stands open, which it tells."""
    with st.expander(title, expanded=expert(), on_change="rerun") as part:
        yield bool(part.open)


@contextmanager
def section(title: str) -> Iterator[None]:
    """A part of the page that is closed at first sight, open for experts."""
    with st.expander(title, expanded=expert()):
        yield
