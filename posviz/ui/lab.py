"""The training lab: starting a run, watching it live, and who may touch which run."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from posviz.analysis.decomposition import decompose
from posviz.analysis.film import laid_over
from posviz.analysis.similarity import similarity
from posviz.errors import TrainingError
from posviz.figures.curve import curve_3d
from posviz.figures.heatmap import heatmap
from posviz.figures.steps import over_steps
from posviz.runfolder import JOB
from posviz.training.config import TrainConfig, default_config
from posviz.training.jobs import Jobs
from posviz.training.recording import write_whole
from posviz.training.runs import Run, list_runs, open_run
from posviz.training.shelf import discard_empty, new_run_folder
from posviz.training.text import checked_text, decode
from posviz.ui import figure, page
from posviz.ui.access import visitor_access
from posviz.ui.format import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from posviz.figures.picture import Picture
    from posviz.training.job import Job

TEXT = "text.txt"  # a visitor's own, in the folder of the run
EVERY = 0.7  # seconds between looks at a live run
WATCHED = "film"  # the menu of runs to watch
BESIDE = "beside"  # the menu of runs to watch at the same time
_JOB = "job"  # in the address, so that a refresh finds its run again
_VISITOR, _MINE, _LIVE, _REFUSED = "_visitor", "_my_runs", "_live_curve", "_refused_run"
_TOLD = "_told"
_SHOWN = "_shown_job"  # the last job whose end was taken notice of


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The one registry of this server."""
    return Jobs(present=_is_here)


@st.cache_resource(show_spinner=False)
def _sessions() -> dict[str, str]:
    """The session of each visitor with a run."""
    return {}


def _is_here(visitor: str) -> bool:
    """Whether a visitor's browser is still connected, on whatever page."""
    session = _sessions().get(visitor)
    if session is None or not runtime.exists():
        return False
    return runtime.get_instance().is_active_session(session)


def current() -> Job | None:
    """The visitor's newest run, found again by its address after a refresh."""
    session, known = st.session_state, jobs()
    visitor = session.setdefault(_VISITOR, uuid.uuid4().hex)
    job = known.of(visitor)
    asked = st.query_params.get(_JOB)
    if job is None and asked:
        job = known.adopt(asked, visitor)
        if job is not None:
            _remember(job.out.name)
    if job is not None:
        context = get_script_run_ctx()
        if job.alive and context is not None:
            _sessions()[visitor] = context.session_id
        st.query_params[_JOB] = job.id
    elif asked:
        del st.query_params[_JOB]
        _find_again(asked)
    return job


def _find_again(job_id: str) -> None:
    """Take up the run of a job that this server does not know: it was started anew since."""
    for run in list_runs():
        try:
            mine = (run.folder / JOB).read_text() == job_id
        except (OSError, ValueError):
            continue
        if mine and run.steps:
            _remember(run.name)
            st.session_state[WATCHED] = f"run:{run.name}"
            if not run.finished:
                steps = run.settings.get("steps", 0)
                tell(
                    f"The server was started anew while {run.name} was trained. All is kept up to "
                    f"step {run.steps[-1]:,} of {steps:,}; Go on takes it up."
                )
            return


def busy() -> bool:
    """Whether this visitor's run lives."""
    job = current()
    return job is not None and job.alive


@dataclass(frozen=True)
class Text:
    """A text of the visitor's own: the name of its file, and what is in it."""

    name: str
    content: bytes


def train(settings: Mapping[str, Any], text: Text | None) -> None:
    """Start a run as the controls ask, or say why not."""
    try:
        config = default_config(**settings)
        if text is not None:
            checked_text(
                decode(text.content, name=text.name),
                name=text.name,
                sequence_length=config.sequence_length,
            )
        folder = new_run_folder(config.task)
        if text is not None:
            write_whole(folder / TEXT, text.content)
            config = default_config(**settings, text=str(folder / TEXT))
        begin(config, folder)
    except TrainingError as error:
        refuse(str(error))


def go_on(run: Run) -> None:
    """Take up a run that was stopped."""
    try:
        begin(TrainConfig.from_dict(run.settings), run.folder, resume=True)
    except TrainingError as error:
        refuse(str(error))


def begin(config: TrainConfig, folder: Path, *, resume: bool = False) -> None:
    """Start a run of this visitor in a folder, or put it in the queue; raises TrainingError."""
    job = jobs().start(st.session_state[_VISITOR], config, folder, resume=resume)
    if job.out != folder:  # another tab of this visitor was quicker
        discard_empty(folder)
    _remember(job.out.name)
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
    job.touch()
    if not job.alive:
        st.rerun()
    said, stop = st.columns([5, 1], vertical_alignment="center")
    stop.button("Stop", key="stop", on_click=jobs().stop, args=(job,), width="stretch")
    with said:
        steps = job.config.steps
        st.progress(min(job.progress.get("step", 0) / max(steps, 1), 1.0), text=_told(job))
    run = _so_far(job.out)
    if run is not None and run.steps:
        draw(job, run)


def _told(job: Job) -> str:
    if place := jobs().place(job):
        before = "the run before it" if place == 1 else f"{place} runs before it"
        return f"In the queue: waits for {before} to end. One trains at a time."
    now = job.progress
    if not now:
        return "Starting: the training process loads its library."
    parts = [f"Step {now['step']:,} of {now['steps']:,}"]
    if speed := now.get("steps_per_second"):
        parts += [f"{speed:.{0 if speed >= 10 else 1}f} steps a second"]
    if (left := now.get("seconds_left")) is not None:
        parts += [f"{math.ceil(left)} s left" if left < 120 else f"{left / 60:.0f} min left"]
    return " · ".join(parts)


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
    """Runs this visitor may see: all at one's own machine, their own on a shared server."""
    access = visitor_access()
    shared = not access.local_paths or access.local_root is not None
    own = st.session_state.get(_MINE, set())
    return tuple(run for run in list_runs() if run.steps and (not shared or run.name in own))


def renamed(old: str, new: str) -> None:
    """Go on as before with a run that has another name now."""
    _remember(new)
    if st.session_state.get(WATCHED) == f"run:{old}":
        st.session_state[WATCHED] = f"run:{new}"


def _remember(name: str) -> None:
    st.session_state.setdefault(_MINE, set()).add(name)
