"""A training run after its end: its film, and its numbers step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from posviz.analysis.film import frames
from posviz.analysis.similarity import similarity
from posviz.figures.film import curve_film, curve_frame
from posviz.figures.heatmap import heatmap
from posviz.figures.steps import over_steps
from posviz.runfolder import runs_folder
from posviz.sources.demos import DEMOS
from posviz.training.positions import TABLE_KINDS
from posviz.training.runs import Run, open_run
from posviz.ui import figure, lab, page
from posviz.ui.format import decimal, literal, percent
from posviz.ui.page import Number
from posviz.ui.picker import TABLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from posviz.ui.opened import Opened

FIRST = "demo:gpt-mini"  # watched where the open table has no film
ORDERED = 0.8  # mean centred cosine of neighbours from which a table is called a curve
ALONG = {  # what is drawn over the steps: name, range, how it reads
    "adjacent_cosine": ("cosine of neighbours", (-0.1, 1.05)),
    "top2_share": ("share in 2 components", (0.0, 1.05)),
    "toeplitz_r2": ("Toeplitz share", (0.0, 1.05)),
    "roughness": ("roughness", (0.0, 2.4)),
}


@dataclass(frozen=True, eq=False)
class Reel:
    """A run that can be watched.

    Parameters
    ----------
    ref : str
        What opens its last table: ``run:NAME`` or ``demo:NAME``.
    run : Run
    tables : list of arrays of shape (n_positions, d_model)
        One a snapshot.
    frames : list of arrays of shape (n_positions, 3)
        Their curves, all laid over the last.
    """

    ref: str
    run: Run
    tables: list[NDArray[np.float32]]
    frames: list[NDArray[np.float64]]

    @property
    def first(self) -> dict[str, Any]:
        """Numbers of the first snapshot, from before training."""
        return self.run.metrics[0]

    @property
    def last(self) -> dict[str, Any]:
        """Numbers of the last snapshot."""
        return self.run.metrics[-1]


def choose(found: Opened) -> Reel:
    """The menu of runs to watch; at first the open table's own, if its training was kept."""
    session = st.session_state
    refs = [f"run:{run.name}" for run in lab.mine()]
    refs += [f"demo:{folder.name}" for folder in sorted(DEMOS.iterdir(), reverse=True)]
    if finished := lab.just_ended():
        session[lab.WATCHED] = finished
    if session.get(lab.WATCHED, refs[0]) not in refs:
        del session[lab.WATCHED]
    own = found.ref.partition("@")[0]
    ref = st.selectbox(
        "Watch",
        refs,
        index=refs.index(own if own in refs else FIRST),
        key=lab.WATCHED,
        bind="query-params",
    )
    return _reel(ref, _stamp(ref))


def said(reel: Reel) -> tuple[str, str]:
    """What became of the table, and the numbers that say so."""
    kind = TABLE_KINDS.get(reel.run.settings.get("table", "learned"))
    first, last = reel.first, reel.last
    fell = (first["loss"], last["loss"])
    if kind is not None and not kind.learned:
        headline = f"The rows never changed: {kind.label.lower()}."
    elif (last["adjacent_cosine_centred"] or 0.0) >= ORDERED:
        headline = "Random rows became an ordered curve."
    elif None not in fell and fell[1] < fell[0] / 2:
        headline = "The model learned, and its table did not become an ordered curve."
    else:
        headline = "The table is not an ordered curve yet."
    told = [f"In {last['step']:,} steps"]
    if None not in fell:
        went = f"{decimal(fell[0], digits=2)} to {decimal(fell[1], digits=2)} nats"
        told += [f"the loss went from {went}, and"]
    told += [
        f"the mean cosine of neighbours went from {decimal(first['adjacent_cosine'], digits=2)} "
        f"to {decimal(last['adjacent_cosine'], digits=2)}."
    ]
    return headline, " ".join(told)


def numbers(reel: Reel) -> None:
    """Three numbers of the last table, beside those of the rows before training."""
    first, last, size = reel.first, reel.last, reel.run.vocabulary_size
    page.numbers(
        Number(
            decimal(last["adjacent_cosine"]),
            "mean cosine of neighbours, not centred",
            f"before training {decimal(first['adjacent_cosine'])}",
        ),
        Number(
            percent(last["top2_share"]),
            "of the variance in two components",
            f"before training {percent(first['top2_share'])}",
        ),
        Number(
            decimal(last["loss"]),
            "loss in nats, on held-out sequences",
            f"knowing nothing {decimal(math.log(size) if size else None)}",
        ),
    )


def watch(reel: Reel) -> None:
    """The whole film, played in the browser."""
    steps = [f"step {step:,}" for step in reel.run.steps]
    with page.card():
        picture = curve_film(reel.frames, steps, name=reel.run.name)
        figure.show(picture, key="reel-film", height=560)


def step_by_step(reel: Reel) -> int:
    """One snapshot, its curve and its pairs together; returns its step."""
    step = reel.run.steps[-1]
    if len(reel.run.steps) > 1:  # a slider needs two ends
        step = st.select_slider(
            "Snapshot",
            reel.run.steps,
            value=step,
            format_func=lambda step: f"step {step:,}",
            key=f"step-of-{reel.ref}",
        )
    index = reel.run.steps.index(step)
    name = f"{reel.run.name}, step {step:,}"
    left, right = st.columns([5, 4])
    with left, page.card("The curve of positions"):
        figure.show(curve_frame(reel.frames, index, name=name), key="reel-curve", height=480)
    with right, page.card("Which positions look alike"):
        pairs = heatmap(similarity(reel.tables[index]), limits=(-1, 1), name=name)
        figure.show(pairs, key="reel-pairs", height=480, picks=False)
    return step


def along(reel: Reel, *, at: int | None) -> None:
    """Loss and what the table has become, over the same steps."""
    run = reel.run
    with page.card("Loss"):
        figure.show(lab.loss(run, at=at), key="reel-loss", height=220, picks=False)
    for column, (name, (quantity, limits)) in zip(st.columns(4), ALONG.items(), strict=True):
        with column, page.card():
            values = [line.get(name) for line in run.metrics]
            picture = over_steps(
                run.steps, values, quantity=quantity, limits=limits, at=at, name=run.name
            )
            figure.show(picture, key=f"reel-{name}", height=220, picks=False)


def provenance(reel: Reel, found: Opened, *, at: int | None) -> None:
    """Where the film comes from, how it was laid out, and whether it is the open table's."""
    last, rows = reel.last, len(reel.tables[-1])
    unseen = rows - (last.get("rows_seen") or rows)
    facts = [
        reel.ref if at is None else f"{reel.ref}, step {at:,}",
        f"{len(reel.tables)} snapshots",
        "each in its own three principal components, turned onto the last, never scaled",
        f"{unseen:,} rows never seen in training" if unseen else "",
        "" if found.ref.startswith(reel.ref) else f"the open table, {found.ref}, is another one",
    ]
    with st.container(key="provenance"):
        st.caption(" · ".join(literal(fact) for fact in facts if fact))


def take_over(reel: Reel, at: int | None) -> None:
    """The button that opens the table on every page, and the one that goes on with a run."""
    left, middle, _ = st.columns([3, 2, 3])
    ref = reel.ref
    if at is not None and at != reel.run.steps[-1] and ref.startswith("run:"):
        ref = f"{ref}@{at}"
    left.button(
        f"Open {ref} on every page",
        key="open-everywhere",
        icon=":material/open_in_full:",
        on_click=partial(st.session_state.__setitem__, TABLE, ref),
    )
    if reel.ref.startswith("run:") and reel.run.settings and not reel.run.finished:
        job = lab.current()
        middle.button(
            f"Go on to step {reel.run.settings['steps']:,}",
            key="go-on",
            on_click=lab.go_on,
            args=(reel.run,),
            disabled=job is not None and job.alive,
        )


def _folder(ref: str) -> Any:
    kind, _, name = ref.partition(":")
    return (DEMOS if kind == "demo" else runs_folder()) / name


def _stamp(ref: str) -> str:
    run = open_run(_folder(ref))
    status = (run.folder / run.file).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@st.cache_resource(max_entries=8, show_spinner=False)
def _reel(ref: str, stamp: str) -> Reel:
    run = open_run(_folder(ref))
    run = replace(run, name=ref.partition(":")[2])
    tables = run.snapshots()
    return Reel(ref, run, tables, frames(tables))
