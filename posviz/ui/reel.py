"""A training run after its end: which one is watched, and what became of its table."""

from __future__ import annotations

import math
import time
import zlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from posviz.analysis.film import laid_over_last, own_scores
from posviz.analysis.smoothness import adjacent_cosine
from posviz.errors import TrainingError
from posviz.figures import untrained
from posviz.figures.untrained import WORDS
from posviz.runfolder import runs_folder
from posviz.sources.demos import DEMOS
from posviz.training.positions import TABLE_KINDS
from posviz.training.runs import Run, open_run
from posviz.ui import address, lab, page, visitor
from posviz.ui.format import decimal, literal, percent
from posviz.ui.page import Number
from posviz.ui.picker import TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.ui.opened import Opened

EVERY = 2.0  # seconds between looks at a run that a script records
FOLLOWED = 86_400.0  # seconds since its last snapshot in which a script may add another
FIRST = "demo:gpt-mini"  # watched where the open table has no film
ORDERED = 0.8  # mean centred cosine of neighbours from which a table is called a curve


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
    changed : str
        The run's :func:`stamp` from before it was read.
    """

    ref: str
    run: Run
    tables: list[NDArray[np.float32]]
    frames: list[NDArray[np.float64]]
    changed: str

    @property
    def first(self) -> dict[str, Any]:
        """Numbers of the first snapshot, from before training."""
        return self.run.metrics[0]

    @property
    def last(self) -> dict[str, Any]:
        """Numbers of the last snapshot."""
        return self.run.metrics[-1]

    @property
    def learned(self) -> bool:
        """Whether training may change the rows."""
        kind = TABLE_KINDS.get(self.run.settings.get("table", "learned"))
        return kind is None or kind.learned

    @property
    def tuned(self) -> bool:
        """Whether it began with a trained table, so that rows no step moved are trained as well."""
        return bool(self.run.settings.get("source"))

    @property
    def still(self) -> list[list[int]]:
        """Stretches of rows that no gradient reached in this run, first and last of each."""
        return (self.last.get("rows_unseen") or []) if self.learned else []

    @property
    def unseen(self) -> list[list[int]]:
        """Stretches of rows that no gradient ever reached, first and last of each."""
        return [] if self.tuned else self.still

    @cached_property
    def order(self) -> float:
        """Mean centred cosine of neighbours among the rows that were trained; 0 without any."""
        rows = np.ones(len(self.tables[-1]), dtype=bool)
        rows[untrained.rows_in(self.unseen)] = False
        trained = self.tables[-1][rows]
        return float(adjacent_cosine(trained, centred=True).mean()) if len(trained) > 1 else 0.0

    def at(self, step: int) -> int:
        """Which snapshot was the newest at a step."""
        return max(bisect_right(self.run.steps, step) - 1, 0)


def choose(found: Opened) -> Reel:
    """The menu of runs to watch; at first the open table's own, if its training was kept."""
    session, refs = st.session_state, _refs()
    if finished := lab.just_ended():
        session[lab.WATCHED] = finished
    if session.get(lab.WATCHED, refs[0]) not in refs:
        del session[lab.WATCHED]
    if lab.WATCHED not in session and st.query_params.get(lab.WATCHED) not in refs:
        own = found.ref.partition("@")[0]
        session[lab.WATCHED] = own if own in refs else FIRST
    ref = address.menu("Watch", {ref: ref for ref in refs}, key=lab.WATCHED)
    return _reel(ref, stamp(ref))


def choose_beside(reel: Reel) -> Reel | None:
    """The menu of runs to watch at the same time."""
    refs = [ref for ref in _refs() if ref != reel.ref]
    ref = address.optional_menu("Beside", refs, key=lab.BESIDE, placeholder="No other run")
    return None if ref is None else _reel(ref, stamp(ref))


def said(reel: Reel) -> tuple[str, str]:
    """What became of the table, and the numbers that say so."""
    first, last = reel.first, reel.last
    fell = (first["loss"], last["loss"])
    if not reel.learned:
        kind = TABLE_KINDS[reel.run.settings["table"]]
        headline = f"The rows never changed. {kind.explanation}"
    elif reel.tuned:
        headline = "A stretched table, fine-tuned at its new length."
    elif reel.order >= ORDERED:
        which = "The rows that were trained" if reel.unseen else "Random rows"
        headline = f"{which} became an ordered curve."
    elif None not in fell and fell[1] < fell[0] / 2:
        headline = "The model learned, and its table did not become an ordered curve."
    else:
        headline = "The table is not an ordered curve yet."
    told = [f"In {last['step']:,} steps"]
    if None not in fell:
        digits = 3 if reel.tuned else 2
        went = f"{decimal(fell[0], digits=digits)} to {decimal(fell[1], digits=digits)} nats"
        told += [f"the loss went from {went}, and"]
    told += [
        f"the mean cosine of neighbours went from {decimal(first['adjacent_cosine'], digits=2)} "
        f"to {decimal(last['adjacent_cosine'], digits=2)}."
    ]
    if reel.still:
        told += [untrained.said(reel.still, "left as before" if reel.tuned else WORDS)]
    return headline, " ".join(told)


def ending(reel: Reel) -> None:
    """Why the run ended before its time, if nobody asked it to."""
    job = lab.current()
    told = job.message if job is not None and job.state == "failed" else None  # by lab.refusal
    if reel.run.ended not in (None, told) and not reel.run.finished:
        st.info(literal(reel.run.ended or ""), icon=":material/info:")


def numbers(reel: Reel, other: Reel | None) -> None:
    """Three numbers of the last table, beside the other run's or those before training."""
    first, last, size = reel.first, reel.last, reel.run.vocabulary_size
    beside = "before training" if other is None else literal(other.run.name)
    against = first if other is None else other.last
    page.numbers(
        Number(
            decimal(last["adjacent_cosine"]),
            "mean cosine of neighbours, not centred",
            f"{beside} {decimal(against['adjacent_cosine'])}",
        ),
        Number(
            percent(last["top2_share"]),
            "of the variance in two components",
            f"{beside} {percent(against['top2_share'])}",
        ),
        Number(
            decimal(last["loss"]),
            "loss in nats, on held-out sequences" if reel.run.settings else "loss as recorded",
            f"{beside} {decimal(against['loss'])}"
            if other is not None or not size
            else f"knowing nothing {decimal(math.log(size))}",
        ),
    )


def take_over(reel: Reel, at: int | None) -> None:
    """The button that opens the table on every page, and the one that goes on with a run."""
    left, middle, _ = st.columns([3, 2, 3])
    ref = reel.ref
    if at is not None and ref.startswith("run:"):
        step = reel.run.steps[reel.at(at)]
        ref = ref if step == reel.run.steps[-1] else f"{ref}@{step}"
    left.button(
        f"Open {ref} on every page",
        key="open-everywhere",
        icon=":material/open_in_full:",
        on_click=partial(st.session_state.__setitem__, TABLE, ref),
    )
    unfinished = reel.ref.startswith("run:") and reel.run.settings and not reel.run.finished
    if unfinished and visitor.owns(reel.run.folder):
        middle.button(
            f"Go on to step {reel.run.settings['steps']:,}",
            key="go-on",
            on_click=lab.go_on,
            args=(reel.run,),
            disabled=lab.jobs().trains(reel.run.folder) or lab.busy(),
        )


def follow(*reels: Reel | None) -> None:
    """Look for new snapshots by itself, where a script of somebody's own may be recording."""
    watched = [
        reel
        for reel in reels
        if reel is not None and not reel.run.settings and time.time() - reel.run.changed < FOLLOWED
    ]
    if watched:
        stamps = {reel.ref: reel.changed for reel in watched}  # of what is shown, not of now
        st.fragment(run_every=EVERY)(_look)(stamps)


def _look(stamps: dict[str, str]) -> None:
    for ref, before in stamps.items():
        try:
            if stamp(ref) != before:
                st.rerun()
        except (TrainingError, OSError):  # deleted meanwhile
            st.rerun()


def _refs() -> list[str]:
    demos = sorted(DEMOS.iterdir(), reverse=True)
    return [f"run:{run.name}" for run in lab.seen()] + [f"demo:{demo.name}" for demo in demos]


def _folder(ref: str) -> Any:
    kind, _, name = ref.partition(":")
    return (DEMOS if kind == "demo" else runs_folder()) / name


def stamp(ref: str) -> str:
    """A text that changes with every snapshot of a run."""
    run = open_run(_folder(ref))
    try:
        status = (run.folder / run.file).stat()
    except OSError as err:
        raise TrainingError(
            f"{ref} has lost its snapshots ({err.strerror}). Watch another run, or train it again."
        ) from err
    return f"{status.st_size} {status.st_mtime_ns}"


@st.cache_resource(max_entries=8, show_spinner=False)
def _reel(ref: str, changed: str) -> Reel:
    run = open_run(_folder(ref))
    run = replace(run, name=ref.partition(":")[2])
    tables = run.snapshots()
    scores = [
        _scores(ref, step, zlib.crc32(table.data), table)
        for step, table in zip(run.steps, tables, strict=True)
    ]
    return Reel(ref, run, tables, laid_over_last(scores), changed)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _scores(ref: str, step: int, checksum: int, _table: NDArray[np.float32]) -> Any:
    """A snapshot's own scores, once: a run that grows brings new ones only."""
    return own_scores(_table)
