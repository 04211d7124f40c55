"""Ablations: what the model loses when its table is spoilt. Runs the model, so it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.definitions import DEFINITIONS
from posviz.errors import PosvizError
from posviz.figures.ablations import ablation_losses
from posviz.ui import figure, page, tables
from posviz.ui.access import visitor_access
from posviz.ui.format import count, data_size, decimal, literal, percent
from posviz.ui.page import Number

if TYPE_CHECKING:
    from posviz.model.ablations import Ablated, Drifted
    from posviz.ui.inside import Inside

MODELS = 8  # whose results are kept
OWN, OTHERS = 32, 4  # sequences read by a model of this project, and by a larger one
_ASKED = "_ablations_asked"


@dataclass(frozen=True, eq=False)
class Measured:
    """All ablations of a model.

    Parameters
    ----------
    losses : list of Ablated
        The table as it is first; empty for a model without a loss.
    drifts : list of Drifted
        Of such a model.
    vocabulary_size : int
        Guessing evenly among as many symbols costs its logarithm.
    """

    losses: list[Ablated]
    drifts: list[Drifted]
    vocabulary_size: int


def view(of: Inside) -> None:
    """The whole view."""
    asked: set[tuple[str, str]] = st.session_state.setdefault(_ASKED, set())
    if of.key not in asked:
        page.answer(
            "How much of the table does the model need?",
            "It reads the same text with tables of low rank, shuffled, averaged, emptied, moved.",
        )
        label = f"Run the model ({data_size(of.weights.checkpoint.size)})"
        st.button(label, type="primary", key="ablate", on_click=asked.add, args=(of.key,))
        page.provenance(of.found)
        return
    try:
        measured = _measure(of)
    except PosvizError as error:
        asked.discard(of.key)
        st.info(literal(str(error)), icon=":material/info:")
        page.provenance(of.found)
        return
    if measured.losses:
        _losses(of, measured)
        tables.method("ablation_loss")
    else:
        _drifts(of, measured)
    with page.section("What each takes away"):
        _explained()


def _losses(of: Inside, measured: Measured) -> None:
    whole, *spoilt = measured.losses
    by_key = {(one.key, one.amount): one.loss.mean for one in spoilt}
    _answer(whole, by_key)
    even = log(measured.vocabulary_size)
    page.numbers(
        Number(
            decimal(whole.loss.mean),
            "loss with the table as it is, nats",
            f"guessing evenly {decimal(even)}",
        ),
        Number(
            decimal(by_key.get(("rank", 2))),
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
            for one in measured.losses
        ]
        tables.markdown_table(("Loss with a spoilt table", "nats", "more", "perplexity"), rows)
        st.caption(f"{count(int(whole.loss.count.sum()))} symbols scored.")


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


def _drifts(of: Inside, measured: Measured) -> None:
    """A model without an output head has no loss; its vectors should stay where they are."""
    by_key = {(one.key, one.amount): one.drift for one in measured.drifts}
    shuffled, zero = by_key["shuffled", 0], by_key["zero", 0]
    page.answer(
        "This model has no output head, so it has no loss: its vectors are compared instead.",
        f"With shuffled rows a token's vector keeps a cosine of {decimal(shuffled.tokens)} with "
        f"what it was, with no rows of {decimal(zero.tokens)}.",
    )
    few = by_key.get(("rank", 2))
    page.numbers(
        Number(decimal(few.tokens if few else None), "cosine, two components kept", "unchanged 1"),
        Number(decimal(shuffled.tokens), "cosine, rows shuffled", "unchanged 1"),
        Number(decimal(zero.tokens), "cosine, all rows zero", "unchanged 1"),
    )
    with page.card():
        picture = ablation_losses(
            [one.label for one in measured.drifts], [one.drift.tokens for one in measured.drifts],
            whole=1.0, quantity="cosine of a token's vector to what it was",
            name=of.found.table.name,
        )  # fmt: skip
        figure.show(picture, key="drifts", height=120 + 32 * len(measured.drifts))
    page.provenance(of.found, shuffled.said)
    with page.section("All numbers"):
        rows = [
            (one.label, decimal(one.drift.tokens), decimal(one.drift.sentence))
            for one in measured.drifts
        ]
        labels = (DEFINITIONS[key].label for key in ("token_drift", "sentence_drift"))
        tables.markdown_table(("cosine to what it was", *labels), rows)
    tables.method("token_drift", "sentence_drift")


def _explained() -> None:
    from posviz.model.ablations import ABLATIONS

    rows = [(one.label.format(n="n"), one.explanation) for one in ABLATIONS.values()]
    tables.markdown_table(("table", "what it is"), rows, right=())


def _measure(of: Inside) -> Measured:
    """Measured before, or now: a click anywhere else ends it, and the next visit starts again."""
    kept = _kept()
    if of.key in kept:
        return kept[of.key]
    with st.spinner("Opening the model …"):
        from posviz.model.ablations import ablate, ablate_vectors, usual, usual_sequences
        from posviz.model.loading import open_model

        model = open_model(of.found.ref, access=visitor_access())
        many = OWN if model.training is not None else OTHERS
        read, wanted = usual_sequences(model, count=many), usual(model)
    losses: list[Ablated] = []
    drifts: list[Drifted] = []
    told = "Reading with each table … A click anywhere else ends it."
    bar = st.progress(0.0, text=told)
    if model.objective == "encoder":
        for drifted in ablate_vectors(model, read, wanted):
            drifts.append(drifted)
            bar.progress(len(drifts) / len(wanted), text=told)
    else:
        for ablated in ablate(model, read, wanted):
            losses.append(ablated)
            bar.progress(len(losses) / (len(wanted) + 1), text=told)
    bar.empty()
    while len(kept) >= MODELS:
        kept.pop(next(iter(kept)))
    kept[of.key] = Measured(losses, drifts, model.vocabulary_size)
    return kept[of.key]


@st.cache_resource(show_spinner=False)
def _kept() -> dict[tuple[str, str], Measured]:
    """What was measured on this server, by model."""
    return {}
