"""Ablations: what the model loses when its table is spoilt. Runs the model, so it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import ModelError
from posviz.figures.ablations import ablation_losses
from posviz.ui import figure, page, tables
from posviz.ui.access import visitor_access
from posviz.ui.format import count, data_size, decimal, literal, percent
from posviz.ui.page import Number

if TYPE_CHECKING:
    from posviz.model.ablations import Ablated
    from posviz.sources import Access
    from posviz.ui.inside import Inside

_ASKED = "_ablations_asked"


@dataclass(frozen=True, eq=False)
class Measured:
    """All ablations of a model.

    Parameters
    ----------
    found : list of Ablated
        The table as it is first.
    vocabulary_size : int
        Guessing evenly among as many symbols costs its logarithm.
    """

    found: list[Ablated]
    vocabulary_size: int


def view(of: Inside) -> None:
    """The whole view."""
    asked: set[tuple[str, str]] = st.session_state.setdefault(_ASKED, set())
    if of.key not in asked:
        page.answer(
            "How much of the table does the model need?",
            "It reads the same text with tables of low rank, shuffled, averaged, emptied, moved.",
        )
        size = data_size(of.weights.checkpoint.size)
        if not st.button(f"Run the model ({size})", type="primary", key="ablate"):
            page.provenance(of.found)
            return
        asked.add(of.key)
    try:
        measured = _measured(*of.key, visitor_access())
    except ModelError as error:
        asked.discard(of.key)
        st.info(literal(str(error)), icon=":material/info:")
        page.provenance(of.found)
        return
    whole, *spoilt = measured.found
    by_key = {(one.key, one.amount): one.loss.mean for one in spoilt}
    _answer(whole, by_key)
    few = by_key.get(("rank", 2))
    even = log(measured.vocabulary_size)
    page.numbers(
        Number(
            decimal(whole.loss.mean),
            "loss with the table as it is, nats",
            f"guessing evenly {decimal(even)}",
        ),
        Number(
            decimal(few),
            "with two components of it",
            f"with none {decimal(by_key['mean', 0])}",
        ),
        Number(
            decimal(by_key["shuffled", 0]),
            "with its rows shuffled",
            f"with no position at all {decimal(by_key['zero', 0])}",
        ),
    )
    with page.card():
        picture = ablation_losses(
            [one.label for one in spoilt], [one.loss.mean for one in spoilt],
            whole=whole.loss.mean, quantity="loss, nats", ignorance=(even, "guessing evenly"),
            name=of.found.table.name,
        )  # fmt: skip
        figure.show(picture, key="ablations", height=120 + 32 * len(spoilt))
    page.provenance(of.found, whole.loss.said)
    with page.section("All numbers"):
        rows = [
            (
                one.label,
                decimal(one.loss.mean, digits=4),
                percent(one.loss.mean / whole.loss.mean - 1),
                decimal(one.loss.perplexity, digits=2),
            )
            for one in measured.found
        ]
        tables.markdown_table(("Loss with a spoilt table", "nats", "more", "perplexity"), rows)
        st.caption(f"{count(int(whole.loss.count.sum()))} symbols scored.")
    tables.method("ablation_loss")
    with page.section("What each takes away"):
        _explained()


def _answer(whole: Ablated, by_key: dict[tuple[str, int], float]) -> None:
    own = whole.loss.mean
    enough = [k for (key, k), loss in by_key.items() if key == "rank" and loss <= 1.02 * own]
    shuffled, zero = by_key["shuffled", 0], by_key["zero", 0]
    headline = (
        f"{min(enough)} components keep the loss within 2 %."
        if enough
        else "No low rank that was tried keeps the loss within 2 %."
    )
    order = (
        "Shuffled rows cost more than no rows at all: a wrong place misleads."
        if shuffled > zero
        else f"Shuffled rows raise it to {decimal(shuffled, digits=2)}, no rows to "
        f"{decimal(zero, digits=2)}."
    )
    page.answer(headline, order)


def _explained() -> None:
    from posviz.model.ablations import ABLATIONS

    rows = [(one.label.format(n="n"), one.explanation) for one in ABLATIONS.values()]
    tables.markdown_table(("table", "what it is"), rows, right=())


@st.cache_resource(max_entries=8, show_spinner="Reading with each table …")
def _measured(ref: str, fingerprint: str, _access: Access) -> Measured:
    from posviz.model.ablations import ablate, usual, usual_sequences
    from posviz.model.runner import open_model

    model = open_model(ref, access=_access)
    found = list(ablate(model, usual_sequences(model), usual(model)))
    return Measured(found, model.vocabulary_size)
