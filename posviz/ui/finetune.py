"""The part of the Interpolation page that trains the stretched table a little, and watches it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.similarity import similarity
from posviz.errors import PosvizError, TrainingError
from posviz.figures.heatmap import heatmap
from posviz.interpolation import METHODS
from posviz.runfolder import TEXT
from posviz.training.finetune import MOVING, FineTuneConfig, run_name
from posviz.training.pretrained import PretrainedConfig
from posviz.training.recording import write_whole
from posviz.training.runs import open_run
from posviz.training.shelf import discard_empty, new_run_folder
from posviz.training.text import decode
from posviz.ui import address, figure, lab, measuring, page, tunable
from posviz.ui.access import visitor_access
from posviz.ui.format import counted, decimal, literal
from posviz.ui.owntext import Text
from posviz.ui.picker import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamlit.delta_generator import DeltaGenerator

    from posviz.training.config import Schedule
    from posviz.training.job import Job
    from posviz.training.runs import Run
    from posviz.ui.opened import Opened
    from posviz.ui.stretch import Choice
    from posviz.ui.tunable import Tunable

TUNING = (FineTuneConfig, PretrainedConfig)


def section(found: Opened, choice: Choice) -> None:
    """Fine-tune the table that the page shows, on the task its model was trained for."""
    with page.heavy_section("Fine-tune the new rows") as is_open:
        if not is_open:
            return
        behind = tunable.behind(found, choice.size)
        if isinstance(behind, str) or not isinstance(choice.size, int):
            st.info(literal(str(behind)), icon=":material/info:")
            return
        job = lab.current()
        lab.refusal()
        if job is not None and job.alive and not isinstance(job.config, TUNING):
            st.info("Your run on the Training page is under way; one trains at a time.")
        elif job is not None and job.alive:
            lab.watch(job, _draw)
        else:
            _controls(found, choice, choice.size, behind)
            if job is not None and job.state in ("done", "stopped"):
                _outcome(job)


def _controls(found: Opened, choice: Choice, length: int, behind: Tunable) -> None:
    left, middle, right = st.columns([4, 2, 2], vertical_alignment="bottom")
    moving = address.choice(
        "Which rows may move", {key: one.label for key, one in MOVING.items()}, on=left,
        key="moving", default="new",
        help="\n\n".join(f"**{one.label}.** {one.explanation}" for one in MOVING.values()),
    )  # fmt: skip
    steps = _steps(behind, middle)
    text = None
    if not behind.ours:
        text = st.file_uploader(
            "Your own text (UTF-8); without it the help topics of Python",
            max_upload_size=measuring.TEXT_MB,
            key="tuning_text",
        )
    right.button(
        "Fine-tune",
        key="fine-tune",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        on_click=_start,
        args=(found, length, steps, moving, choice, text and Text(text.name, text.getvalue())),
    )
    st.caption(_told(found, choice, length, moving, behind))


def _steps(behind: Tunable, place: DeltaGenerator) -> int:
    """How many steps; the box is away while a run is watched, and finds its number again."""
    key = "tuning_steps" if behind.ours else "tuning_few_steps"
    session = st.session_state
    session.setdefault(key, session.get(f"_{key}", behind.usual))
    steps = int(place.number_input("Steps", 1, behind.most, key=key))
    session[f"_{key}"] = steps
    return steps


def _told(found: Opened, choice: Choice, length: int, moving: str, behind: Tunable) -> str:
    """What the button will do, in one or two sentences."""
    old, method = found.table.n_positions, METHODS[choice.method]
    begun = f"{literal(found.ref)} at {length:,} positions ({method.label.lower()})"
    if moving == "table":
        rows = "Every row of the table learns"
    elif method.family == "resample" and not choice.keep:
        rows = "Resampled, every row of the table is new and learns"
    elif method.family == "resample":
        rows = "The resampled rows learn, those that were put back do not"
    else:
        rows = f"Positions {old:,} to {length - 1:,} learn, those before stay bit for bit"
    task = "its own task" if behind.ours else "the text"
    return f"{begun} goes on with {task}. {rows}; no other weight moves. {behind.cost}".strip()


def _start(
    found: Opened, length: int, steps: int, moving: str, choice: Choice, text: Text | None
) -> None:
    from posviz.model.tuning import tuning_config

    folder = None
    try:
        if text is not None:
            decode(text.content, name=text.name)
        config = tuning_config(
            found.ref, length, access=visitor_access(), steps=steps, moving=moving,
            method=choice.method, grid=choice.grid, keep=choice.keep,
        )  # fmt: skip
        folder = new_run_folder(run_name(found.ref, length))
        if isinstance(config, PretrainedConfig):
            config = replace(config, fingerprint=found.table.fingerprint)
            if text is not None:
                write_whole(folder / TEXT, text.content)
                config = replace(config, text=str(folder / TEXT))
        lab.begin(config, folder)
    except PosvizError as error:
        lab.refuse(str(error))
        if folder is not None:
            discard_empty(folder)


def _draw(job: Job, run: Run) -> None:
    """A live fine-tuning: the loss first, since that is what it is for."""
    left, right = st.columns(2)
    with left, page.card("Loss"):
        picture = lab.loss(run, job=job, level=_level(job.config, run))
        figure.show(picture, key="tuning-loss", height=300)
    with right, page.card(f"Which positions look alike at step {run.steps[-1]:,}"):
        pairs = heatmap(similarity(run.snapshot()), limits=(-1, 1), name=run.name)
        figure.show(pairs, key="tuning-pairs", height=300, picks=False)


def _outcome(job: Job) -> None:
    """What became of the visitor's last fine-tuning."""
    config = job.config
    if not isinstance(config, TUNING):
        return
    try:
        run = open_run(job.out)
    except TrainingError:  # deleted since
        return
    if not run.steps:
        return
    rest = ""
    if before := _before(config, run):
        rest = f"; before it was stretched, at {before[0]:,}, it was {decimal(before[1])}"
    st.markdown(f"**{literal(run.name)}.** {_went(run.metrics, config.n_positions)}{rest}.")
    if run.steps[-1]:
        with page.card("Loss"):
            picture = lab.loss(run, level=_level(config, run))
            figure.show(picture, key="tuned-loss", height=240, picks=False)
    st.button(
        f"Open run:{run.name} on every page",
        key="open-tuned",
        icon=":material/open_in_full:",
        on_click=_open,
        args=(run,),
    )


def _went(metrics: Sequence[Mapping[str, float]], length: int) -> str:
    """How the loss went, which is nowhere where the run was stopped at once."""
    first, last = metrics[0], metrics[-1]
    loss, begun = f"the loss at {length:,} positions", decimal(first["loss"])
    if not last["step"]:
        return f"Stopped before its first step: {loss} is {begun} nats"
    steps = counted(int(last["step"]), "step")
    return f"In {steps} {loss} went from {begun} to {decimal(last['loss'])} nats"


def _before(config: Schedule, run: Run) -> tuple[int, float] | None:
    """Length and loss of the model before it was stretched, where its run still tells them."""
    from posviz.training.finetune import source_folder

    if run.before is not None:
        return run.before
    if not isinstance(config, FineTuneConfig):
        return None
    try:
        run = open_run(source_folder(config.source))
    except TrainingError:
        return None
    rows, loss = run.settings.get("n_positions"), run.metrics[-1]["loss"] if run.metrics else None
    return None if rows is None or loss is None else (rows, loss)


def _level(config: Schedule, run: Run) -> tuple[float, str] | None:
    """What a fine-tuning is held against: chance is so far off that the line would look flat."""
    before = _before(config, run)
    return None if before is None else (before[1], f"before, at {before[0]:,} positions")


def _open(run: Run) -> None:
    st.session_state[TABLE] = f"run:{run.name}"
