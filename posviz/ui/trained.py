"""What a trained model loses without its table, and how far it reads: run when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.figures.ablations import ablation_losses
from posviz.figures.reach import Line, loss_by_length
from posviz.ui import figure, page, tables
from posviz.ui.access import visitor_access
from posviz.ui.format import count, decimal, literal
from posviz.ui.reel import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.model.ablations import Ablated
    from posviz.model.reach import Reach
    from posviz.sources import Access
    from posviz.ui.reel import Reel


@dataclass(frozen=True, eq=False)
class Tried:
    """A trained model with spoilt tables, and at other lengths.

    Parameters
    ----------
    spoilt : list of Ablated
        The table as it is first.
    reach : list of Reach
    refusal : str
        What it says when it reads past its last row; empty where it goes on.
    n_positions, vocabulary_size : int
    """

    spoilt: list[Ablated]
    reach: list[Reach]
    refusal: str
    n_positions: int
    vocabulary_size: int


def section(reel: Reel, other: Reel | None) -> None:
    """Both measurements, of one run or of two side by side."""
    with page.heavy_section("What the trained model loses") as opened:
        if opened:
            _content([reel] if other is None else [reel, other])


def _content(reels: Sequence[Reel]) -> None:
    found: list[tuple[Reel, Tried]] = []
    for reel in reels:
        if reel.run.lender is not None:
            st.info(
                f"{literal(reel.run.name)} is the table of somebody else's model. Open it: what "
                f"the model loses is measured on the pages Inside and Interpolation.",
                icon=":material/info:",
            )
            continue
        try:
            found.append((reel, _tried(reel.ref, stamp(reel.ref), visitor_access())))
        except PosvizError as error:
            st.info(literal(str(error)), icon=":material/info:")
    if not found:
        return
    for place, (column, (reel, tried)) in enumerate(
        zip(st.columns(len(found)), found, strict=True)
    ):
        with column, page.card(f"Its table spoilt · {literal(reel.run.name)}"):
            whole, *spoilt = tried.spoilt
            picture = ablation_losses(
                [one.label for one in spoilt],
                [one.loss.mean for one in spoilt],
                whole=whole.loss.mean,
                quantity="loss, nats",
                ignorance=(log(tried.vocabulary_size), "guessing evenly"),
                name=reel.run.name,
            )
            figure.show(picture, key=f"spoilt-{place}", height=120 + 28 * len(spoilt), picks=False)
    with page.card("Longer than its table"):
        first = found[0][1]
        picture = loss_by_length(
            [line for place, pair in enumerate(found) for line in _lines(place, *pair, len(found))],
            n_positions=first.n_positions,
            level=(log(first.vocabulary_size), "guessing evenly"),
            name=" and ".join(reel.run.name for reel, _ in found),
        )
        figure.show(picture, key="reach", height=340, picks=False)
        for reel, tried in found:
            st.caption(_said(reel, tried))
    read = found[0][1].spoilt[0].loss
    st.caption(literal(f"Read: {read.said}; {count(int(read.count.sum()))} symbols a bar."))
    tables.method("ablation_loss", "length_loss")


def _lines(place: int, reel: Reel, tried: Tried, runs: int) -> list[Line]:
    from posviz.model.reach import WAYS

    lines = []
    for way, words in WAYS.items():
        points = [one for one in tried.reach if one.way == way]
        if way == "formula" and points:  # from where its rows stood in the table
            points = [one for one in tried.reach if one.way == "own"][-1:] + points
        if not points or (runs > 1 and way == "appended"):  # one remedy each is enough beside
            continue
        named = words if runs == 1 else f"{reel.run.name}: {words}"
        lines.append(
            Line(
                "" if way == "own" and len(points) < len(tried.reach) else named,
                [one.length for one in points],
                [one.loss.mean for one in points],
                "behind" if way == "appended" else ("front", "second")[place],
                dashed=way != "own",
            )
        )
    return lines


def _said(reel: Reel, tried: Tried) -> str:
    """What happens past the last row, in two sentences from the numbers."""
    own = next(one for one in tried.reach if one.length == tried.n_positions)
    beyond = tried.n_positions * 2
    twice = {one.way: one.loss.mean for one in tried.reach if one.length == beyond}
    name, size = literal(reel.run.name), count(tried.n_positions)
    start = f"**{name}** reads {size} positions at {decimal(own.loss.mean)} nats."
    if "formula" in twice:
        return (
            f"{start} The formula has rows for {count(beyond)}, and the loss there is "
            f"{decimal(twice['formula'])}."
        )
    return (
        f"{start} It has no row {size} and stops there (`{tried.refusal}`). At {count(beyond)} a "
        f"stretched table gives {decimal(twice.get('stretched'))}, new random rows "
        f"{decimal(twice.get('appended'))}."
    )


@st.cache_resource(max_entries=8, show_spinner="Reading with each table …")
def _tried(ref: str, changed: str, _access: Access) -> Tried:
    from posviz.model.ablations import ablate, usual, usual_sequences
    from posviz.model.loading import open_model
    from posviz.model.reach import reach, refusal

    model = open_model(ref, access=_access)
    return Tried(
        spoilt=list(ablate(model, usual_sequences(model), usual(model))),
        reach=list(reach(model)),
        refusal=refusal(model),
        n_positions=model.table.n_positions,
        vocabulary_size=model.vocabulary_size,
    )
