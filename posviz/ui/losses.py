"""What a model loses by another table: the view of the interpolation page that runs a model.

Small models of this project are measured here and at once; whatever else is measured in a
process of its own, asked for with a button, watched, and stopped when the visitor likes. torch
and transformers are loaded only by those who look at this view.
"""

from __future__ import annotations

import math
import uuid
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.figures.lines import Band
from posviz.figures.losses import along_a_text
from posviz.interpolation import METHODS
from posviz.ui import figure, measuring
from posviz.ui.format import data_size, decimal, literal
from posviz.ui.loss_tables import Seen, any_long, drift_table, loss_table, mean
from posviz.ui.picker import DEMOS, TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.model.drift import Drift
    from posviz.model.jobs import Job
    from posviz.model.loss import LossByPosition
    from posviz.model.measuring import Begun, Measured, Order
    from posviz.ui.opened import Opened
    from posviz.ui.stretch import Choice

LOSS = "loss, nats"
WINDOWS = 24  # a line is averaged over this part of its length
LEVEL_FROM = 0.6  # knowing nothing is drawn where a line comes this near to it
EVERY = 0.8  # seconds between looks at a process


def view(found: Opened, choice: Choice) -> None:
    """Measure the open table's model with every method, or say why that cannot be."""
    if not isinstance(choice.size, int):
        st.info("Models that read pictures are not run here: their loss needs pictures to read.")
        return
    try:
        place = measuring.place(found.ref)
    except PosvizError as error:
        _nothing_to_run(str(error))
        return
    above = st.container()
    try:
        order = measuring.order(found, choice, place)
        with above:
            if place.ours:
                draw(measuring.at_once(order), choice)
            else:
                _in_a_process(order, place, choice)
    except PosvizError as error:
        above.info(literal(str(error)), icon=":material/error:")


def _nothing_to_run(sentence: str) -> None:
    st.info(literal(sentence), icon=":material/info:")
    for ref in DEMOS:
        st.button(
            f"Open {ref}",
            key=f"run-{ref}",
            on_click=partial(st.session_state.__setitem__, TABLE, ref),
        )


def _in_a_process(order: Order, place: measuring.Place, choice: Choice) -> None:
    owner = st.session_state.setdefault("_measuring", uuid.uuid4().hex)
    job = measuring.jobs().of(owner, order)
    if job is None:
        fetched = f" {place.note}" if place.note else ""
        st.markdown(
            f"Reading {order.count} texts of {order.length:,} tokens with each of "
            f"{len(order.methods)} tables takes from seconds to minutes, in a process of its own."
            f"{literal(fetched)}"
        )
        label = f"Download {data_size(place.fetch)} and measure" if place.fetch else "Measure"
        st.button(
            label, key="measure", type="primary", icon=":material/play_arrow:",
            on_click=measuring.start, args=(owner, order, place.hub),
        )  # fmt: skip
        measuring.refusal()
        return
    st.fragment(run_every=EVERY if job.alive else None)(_live)(job, choice)


def _live(job: Job, choice: Choice) -> None:
    """What has come so far; it looks again by itself while the process lives."""
    job.touch()
    watched = st.session_state.get("_measured") == id(job)
    if job.alive:
        st.session_state["_measured"] = id(job)
        said, stop = st.columns([5, 1], vertical_alignment="center")
        done, text = measuring.progress(job)
        said.progress(done, text=text)
        stop.button("Stop", key="stop-measuring", on_click=measuring.jobs().stop, args=(job,))
    elif watched:
        del st.session_state["_measured"]
        st.rerun()
    if job.state == "stopped":
        st.info("Stopped. What had been measured by then stays.", icon=":material/info:")
    if job.message:
        st.info(literal(job.message), icon=":material/error:")
    if not job.alive:
        st.button(
            "Measure again", key="measure-again", on_click=measuring.start,
            args=(job.owner, job.order, False),
        )  # fmt: skip
    draw(list(job.results), choice)


def draw(events: Sequence[Begun | Measured], choice: Choice) -> None:
    """The figure, what was read, the table of all methods, and the wall."""
    seen = Seen.of(events)
    begun, original = seen.begun, seen.original
    if begun is None or original is None:
        return
    encoder = begun.objective == "encoder"
    quantity = "cosine to its own vectors" if encoder else LOSS
    curves = [one.long or one.short for one in (original, *seen.methods.values())]
    longest = max(len(curve.by_position) for curve in curves)
    window = max(longest // WINDOWS, 1)
    own, *others = (_band(curve, window) for curve in curves)
    bands = {METHODS[key].label: band for key, band in zip(seen.methods, others, strict=True)}
    shown = METHODS[choice.method].label
    picture = along_a_text(
        bands, chosen=shown, original=own, n_positions=begun.n_positions, quantity=quantity,
        level=None if encoder else _level(begun, bands, own), name=begun.name,
    )  # fmt: skip
    if words := _said(seen, choice):
        st.markdown(words)
    figure.show(picture, key="model-loss", height=460, picks=False)
    read = dict.fromkeys([begun.long, begun.short] if any_long(seen) else [begun.short])
    st.caption(
        literal(
            f"Read: {'; and '.join(read)}. Each point is the mean of {window} "
            f"positions; the band is one standard error."
        )
    )
    (drift_table if encoder else loss_table)(seen, choice)
    if begun.wall:
        st.markdown(
            f"Without a longer table the model stops at position {begun.n_positions:,}, with "
            f"these words:"
        )
        st.code(begun.wall, language=None)


def _said(seen: Seen, choice: Choice) -> str:
    """The finding in one sentence, from the numbers."""
    assert seen.begun is not None
    long = {key: one.long for key, one in seen.methods.items() if one.long is not None}
    families = {
        family: {key: one for key, one in long.items() if METHODS[key].family == family}
        for family in ("resample", "append")
    }
    if not all(families.values()) or len(long) < len(METHODS):
        return ""
    encoder = seen.begun.objective == "encoder"

    def spread(family: str) -> str:
        values = sorted(mean(one) for one in families[family].values())
        return f"{decimal(values[0], digits=2)} to {decimal(values[-1], digits=2)}"

    what = "sentence vectors keep a cosine of" if encoder else "the loss is"
    unit = "" if encoder else " nats"
    short = mean(seen.original.short) if seen.original else math.nan
    own = "" if encoder else f" (the original reads {_old(seen):,} positions at {short:.2f})"
    return (
        f"At {choice.size:,} positions {what} {spread('resample')}{unit} with the tables that "
        f"resample and {spread('append')}{unit} with those that append{own}."
    )


def _old(seen: Seen) -> int:
    assert seen.begun is not None
    return seen.begun.n_positions


def _band(curve: LossByPosition | Drift, window: int) -> Band:
    import numpy as np

    from posviz.model.loss import LossByPosition, moving, smoothed

    if isinstance(curve, LossByPosition):
        line = smoothed(curve, window)
    else:
        along = curve.by_position
        line = moving(along, np.square(along), np.ones(len(along), dtype=np.int64), window)
    return Band(line.middle, line.low, line.high)


def _level(begun: Begun, bands: dict[str, Band], own: Band) -> tuple[float, str] | None:
    import numpy as np

    nothing = math.log(begun.vocabulary_size)
    highest = max(float(np.nanmax(band.middle)) for band in (*bands.values(), own))
    named = f"knowing nothing: ln {begun.vocabulary_size:,}"
    return (nothing, named) if highest > LEVEL_FROM * nothing else None
