"""What is drawn of a training run: its film, one step of it, its numbers over the steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from posviz.analysis.similarity import similarity
from posviz.figures import untrained
from posviz.figures.along import along_positions
from posviz.figures.film import curve_film, curve_frame
from posviz.figures.heatmap import heatmap
from posviz.figures.steps import Beside, over_steps
from posviz.ui import figure, page
from posviz.ui.format import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.figures.picture import Picture
    from posviz.ui.opened import Opened
    from posviz.ui.reel import Reel

ALONG = {  # what is drawn over the steps: name, range
    "loss": ("loss, nats", None),
    "adjacent_cosine": ("cosine of neighbours", (-0.1, 1.05)),
    "top3_share": ("share in 3 components", (0.0, 1.05)),
    "toeplitz_r2": ("Toeplitz share", (0.0, 1.05)),
    "roughness": ("roughness", (0.0, 2.4)),
    "norm_median": ("median length of a row", None),
}

_HELD_OUT = (
    "loss over the same held-out sequences at every step; the Interpolation page reads others, "
    "so its loss differs a little"
)


def watch(reel: Reel, other: Reel | None) -> None:
    """The whole film, played in the browser; of two runs, both at the same steps."""
    reels, steps = _together(reel, other)
    for column, (place, shown) in zip(_columns(reels), enumerate(reels), strict=True):
        with column, page.card(_title(shown) if other else None):
            picture = curve_film(
                [shown.frames[shown.at(step)] for step in steps],
                [f"step {step:,}" for step in steps],
                name=shown.run.name,
                together="reel" if other else "",
                marked=untrained.rows_in(shown.unseen),
            )
            figure.show(picture, key=_key("reel-film", place), height=560 if not other else 460)


def step_by_step(reel: Reel, other: Reel | None) -> int:
    """One snapshot, its curve and its pairs together; returns its step."""
    reels, steps = _together(reel, other)
    step = reel.run.steps[-1]
    if len(steps) > 1:  # a slider needs two ends
        step = st.select_slider(
            "Snapshot",
            steps,
            value=steps[-1],
            format_func=lambda step: f"step {step:,}",
            key=f"step-of-{'-'.join(shown.ref for shown in reels)}",
        )
    for place, shown in enumerate(reels):
        index = shown.at(step)
        table, name = shown.tables[index], f"{shown.run.name}, step {shown.run.steps[index]:,}"
        if other:
            st.markdown(_title(shown))
        left, right = st.columns([5, 4])
        with left, page.card("The curve of positions"):
            curve = curve_frame(
                shown.frames, index, name=name, marked=untrained.rows_in(shown.unseen)
            )
            figure.show(curve, key=_key("reel-curve", place), height=480)
        with right, page.card("Which positions look alike"):
            pairs = heatmap(similarity(table), limits=(-1, 1), name=name)
            pairs = untrained.fade(pairs, shown.unseen, pairs=True)
            figure.show(pairs, key=_key("reel-pairs", place), height=480, picks=False)
        with page.card("How long each row is"):
            norms = along_positions(
                np.linalg.norm(table, axis=1), quantity="length of the row", name=name
            )
            norms = untrained.fade(norms, shown.unseen)
            figure.show(norms, key=_key("reel-norms", place), height=220, picks=False)
    return step


def along(reel: Reel, other: Reel | None, *, at: int | None) -> None:
    """Loss and what the table has become, over the same steps."""
    names = iter(ALONG.items())
    for _ in range(0, len(ALONG), 3):
        for column, (name, (quantity, limits)) in zip(st.columns(3), names, strict=False):
            with column, page.card():
                picture = _over_steps(reel, other, name, quantity, limits, at)
                figure.show(picture, key=f"reel-{name}", height=220, picks=False)


def provenance(reel: Reel, other: Reel | None, found: Opened, *, at: int | None) -> None:
    """Where the film comes from, how it was laid out, and whether it is the open table's."""
    facts = []
    for shown in filter(None, (reel, other)):
        facts += [
            shown.ref if at is None else f"{shown.ref}, step {shown.run.steps[shown.at(at)]:,}",
            f"{len(shown.tables)} snapshots",
            f"recorded from {shown.run.recorded_from}" if shown.run.recorded_from else "",
            _HELD_OUT if shown.run.settings else "",
            f"trained in float32 on the {shown.run.device.upper()}" if shown.run.device else "",
        ]
    facts += [
        "each in its own three principal components, turned onto the last, never scaled",
        "" if found.ref.startswith(reel.ref) else f"the open table, {found.ref}, is another one",
    ]
    with st.container(key="provenance"):
        st.caption(" · ".join(literal(fact) for fact in facts if fact))


def _together(reel: Reel, other: Reel | None) -> tuple[list[Reel], list[int]]:
    """The runs on show, and the steps at which any of them has a snapshot."""
    reels = [reel] if other is None else [reel, other]
    return reels, sorted({step for shown in reels for step in shown.run.steps})


def _columns(reels: Sequence[Reel]) -> Sequence[Any]:
    return st.columns(2) if len(reels) > 1 else [st.container()]


def _title(reel: Reel) -> str:
    return f"{literal(reel.run.name)}, to step {reel.run.steps[-1]:,}"


def _key(name: str, place: int) -> str:
    return name if place == 0 else f"{name}-beside"


def _over_steps(
    reel: Reel,
    other: Reel | None,
    name: str,
    quantity: str,
    limits: tuple[float, float] | None,
    at: int | None,
) -> Picture:
    size = reel.run.vocabulary_size if name == "loss" else None
    second = None
    if other is not None:
        values = [line.get(name) for line in other.run.metrics]
        second = Beside(other.run.steps, values, other.run.name)
    return over_steps(
        reel.run.steps,
        [line.get(name) for line in reel.run.metrics],
        quantity=quantity,
        level=(math.log(size), f"knowing nothing: ln {size}") if size else None,
        beside=second,
        limits=limits,
        at=at if at is None else reel.run.steps[reel.at(at)],
        name=reel.run.name,
    )
