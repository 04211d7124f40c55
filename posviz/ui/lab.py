"""The training lab: starting a run, watching it live, and who may touch which run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.decomposition import decompose
from posviz.analysis.film import laid_over
from posviz.analysis.similarity import similarity
from posviz.errors import TrainingError
from posviz.figures.curve import curve_3d
from posviz.figures.heatmap import heatmap
from posviz.figures.steps import over_steps
from posviz.model.tuning_worker import WORKER
from posviz.runfolder import JOB
from posviz.training.jobs import Jobs
from posviz.training.pretrained import config_of
from posviz.training.recording import write_whole
from posviz.training.runs import Run, list_runs, open_run
from posviz.training.shelf import discard_empty, discard_unbegun
from posviz.ui import figure, page, progress, visitor
from posviz.ui.access import is_shared
from posviz.ui.format import literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from posviz.figures.picture import Picture
    from posviz.training.config import Schedule
    from posviz.training.job import Job

EVERY = 0.7  # seconds between looks at a live run
WATCHED = "film"  # the menu of runs to watch
BESIDE = "beside"  # the menu of runs to watch at the same time
_JOB = "job"  # in the address: a link to watch a run
_LINKED, _SEEN = "_linked_job", "_seen_runs"  # the job that a link named; runs it let one watch
_LIVE, _REFUSED, _TOLD = "_live_curve", "_refused_run", "_told"
_SHOWN = "_shown_job"  # the last job whose end was taken notice of


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The one registry of this server."""
    discard_unbegun()
    return Jobs(present=visitor.is_here, worker=WORKER)


def current() -> Job | None:
    """The visitor's newest run; at one's own machine also the one that the address names."""
    job = jobs().of(visitor.this())
    if job is None and not is_shared():
        job = _named()
    if job is not None and (job.alive or not _names_another()):
        st.query_params[_JOB] = job.id
    return job


def watched() -> Job | None:
    """The run to show while it lives: the visitor's own, else one whose link they came with."""
    job = current()
    if job is not None and job.alive:
        return job
    return _named() or job


def _names_another() -> bool:
    """Whether the address is a link to a run that lives."""
    linked = jobs().get(st.query_params.get(_JOB, ""))
    return linked is not None and linked.alive


def _named() -> Job | None:
    """The job that this visit's address named; what a killed server left is told once."""
    session = st.session_state
    asked = st.query_params.get(_JOB)
    job = jobs().get(asked or session.get(_LINKED, ""))
    if job is not None:
        session[_LINKED] = job.id
        session.setdefault(_SEEN, set()).add(job.out.name)
    elif asked:
        del st.query_params[_JOB]
        _find_again(asked)
    return job


def may_touch(job: Job) -> bool:
    """Whether this visitor may stop a job: a link to it lets them watch."""
    return not is_shared() or job.owner == visitor.this()


def _find_again(job_id: str) -> None:
    """Take up the run of a job that this server does not know: it was started anew since."""
    for run in list_runs():
        try:
            same = (run.folder / JOB).read_text() == job_id
        except (OSError, ValueError):
            continue
        if same and run.steps:
            st.session_state.setdefault(_SEEN, set()).add(run.name)
            st.session_state[WATCHED] = f"run:{run.name}"
            if not run.finished:
                steps = run.settings.get("steps", 0)
                mine = "; Go on takes it up." if visitor.owns(run.folder) else "."
                tell(
                    f"The server was started anew while {run.name} was trained. All is kept up to "
                    f"step {run.steps[-1]:,} of {steps:,}{mine}"
                )
            return


def busy() -> bool:
    """Whether this visitor's run lives."""
    job = current()
    return job is not None and job.alive


def go_on(run: Run) -> None:
    """Take up a run that was stopped."""
    try:
        begin(config_of(run.settings), run.folder, resume=True)
    except TrainingError as error:
        refuse(str(error))


def begin(config: Schedule, folder: Path, *, resume: bool = False) -> None:
    """Start a run of this visitor in a folder, or put it in the queue; raises TrainingError."""
    try:
        job = jobs().start(visitor.this(), config, folder, resume=resume)
    except TrainingError:
        discard_empty(folder)
        raise
    if job.out != folder:  # another tab of this visitor was quicker
        discard_empty(folder)
    st.session_state.pop(_LINKED, None)
    visitor.claim(job.out)
    write_whole(job.out / JOB, job.id.encode())


def tell(sentence: str) -> None:
    """Say on the page, in the run to come, what has happened."""
    st.session_state[_TOLD] = sentence


def refuse(sentence: str) -> None:
    """Say on the page, in the run to come, why something was not done."""
    st.session_state[_REFUSED] = sentence


def refusal() -> None:
    """Why the last run could not start, or ended by itself."""
    job = current()
    sentence = st.session_state.pop(_REFUSED, None)
    if sentence is None and job is not None and job.state == "failed":
        sentence = job.message
        discard_empty(job.out)
    if sentence:
        st.error(literal(sentence), icon=":material/error:")
    if told := st.session_state.pop(_TOLD, None):
        st.info(literal(told), icon=":material/info:")


def just_ended() -> str | None:
    """The reference of the visitor's run that has ended since the last look, once."""
    job = current()
    if job is None or job.alive or st.session_state.get(_SHOWN) == job.id:
        return None
    st.session_state[_SHOWN] = job.id
    return f"run:{job.out.name}"


def said(job: Job) -> tuple[str, str]:
    """What goes on, for the answer of the page."""
    if job.state == "queued":
        return "Waiting.", "The run begins by itself when its turn comes."
    return "Training.", "The curve, the loss and the map of pairs move together."


def watch(job: Job, draw: Callable[[Job, Run], None] | None = None) -> None:
    """The live view: it looks again by itself while the run lives, and then runs the page anew.

    Parameters
    ----------
    job : Job
    draw : function (job, run) or None
        Draws the run so far; None for curve, loss and pairs.
    """
    st.fragment(run_every=EVERY)(_live)(job, draw or _draw)


def _live(job: Job, draw: Callable[[Job, Run], None]) -> None:
    if not job.alive:
        st.rerun()
    said, stop = st.columns([5, 1], vertical_alignment="center")
    if may_touch(job):
        job.touch()
        stop.button("Stop", key="stop", on_click=jobs().stop, args=(job,), width="stretch")
    else:
        stop.caption("Another visitor's run")
    with said:
        st.progress(progress.share(job), text=_told(job))
    run = _so_far(job.out)
    if run is not None and run.steps:
        draw(job, run)


def _told(job: Job) -> str:
    if place := jobs().place(job):
        before = "the run before it" if place == 1 else f"{place} runs before it"
        return (
            f"In the queue: waits for {before} to end. One trains at a time, and a run whose "
            f"visitor is gone for a minute makes room."
        )
    return progress.told(job)


def _so_far(folder: Path) -> Run | None:
    try:
        return open_run(folder)
    except TrainingError:  # nothing written yet
        return None


def _draw(job: Job, run: Run) -> None:
    step, table = run.steps[-1], run.snapshot()
    name = f"{run.name}, step {step:,}"
    with page.card(f"The curve at step {step:,}"):
        figure.show(curve_3d(_still(job, table), name=name), key="live-curve", height=420)
    left, right = st.columns(2)
    with left, page.card("Loss"):
        figure.show(loss(run, job=job), key="live-loss", height=280)
    with right, page.card("Which positions look alike"):
        pairs = heatmap(similarity(table), limits=(-1, 1), name=name)
        figure.show(pairs, key="live-pairs", height=280, picks=False)


def _still(job: Job, table: NDArray[np.float32]) -> NDArray[np.float64]:
    """The curve, turned to lie on the one drawn before it: components that swap do not jump."""
    scores = decompose(table).scores(3)
    before = st.session_state.get(_LIVE)
    if before and before[0] == job.id and len(before[1]) == len(scores):
        scores = laid_over(scores, before[1])
    st.session_state[_LIVE] = (job.id, scores)
    return scores


def loss(
    run: Run,
    *,
    job: Job | None = None,
    at: int | None = None,
    level: tuple[float, str] | None = None,
) -> Picture:
    """Loss over the steps, each batch's behind; held against knowing nothing unless told else."""
    size = run.vocabulary_size
    if level is None and size:
        level = math.log(size), f"knowing nothing: ln {size}"
    return over_steps(
        run.steps,
        [line["loss"] for line in run.metrics],
        quantity="loss, nats",
        level=level,
        behind=list(job.history)[:: max(len(job.history) // 400, 1)] if job else (),
        at=at,
        last=run.settings.get("steps") if job else None,
        name=run.name,
    )


def mine() -> tuple[Run, ...]:
    """Runs this visitor may change: all at one's own machine, their own on a shared server."""
    return tuple(run for run in list_runs() if run.steps and visitor.owns(run.folder))


def seen() -> tuple[Run, ...]:
    """Runs this visitor may watch: their own, and those whose links they came with."""
    linked = st.session_state.get(_SEEN, set())
    shown = (run for run in list_runs() if run.name in linked or visitor.owns(run.folder))
    return tuple(run for run in shown if run.steps)


def renamed(old: str, new: str) -> None:
    """Go on as before with a run that has another name now."""
    if st.session_state.get(WATCHED) == f"run:{old}":
        st.session_state[WATCHED] = f"run:{new}"
