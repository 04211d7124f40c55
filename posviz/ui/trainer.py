"""The controls that start a training run: three in sight, the rest under Settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from posviz.errors import TrainingError
from posviz.runfolder import TEXT
from posviz.training.config import TrainConfig, default_config
from posviz.training.experiments import EXPERIMENTS, Experiment
from posviz.training.positions import TABLE_KINDS
from posviz.training.recording import write_whole
from posviz.training.shelf import discard_empty, new_run_folder
from posviz.training.tasks import TASKS
from posviz.training.text import checked_text, decode
from posviz.ui import address, lab, page
from posviz.ui.format import literal
from posviz.ui.owntext import own_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.ui.owntext import Text

SIZES: dict[str, tuple[str, dict[str, int]]] = {  # label, and the settings behind it
    "small": ("Small", {"n_positions": 32, "d_model": 32}),
    "usual": ("Usual", {}),
    "large": ("Large", {"n_positions": 192, "d_model": 96}),
}
MOST_STEPS = 20_000
_USUAL: dict[str, Any] = {  # the form's defaults that do not hang on the task
    "table": "learned",
    "table_scale": TrainConfig.table_scale,
    "weight_decay": TrainConfig.weight_decay,
}


def controls(*, busy: bool) -> None:
    """Task, size and seed, and the button; ``busy`` while this visitor's run lives."""
    left, middle, right, go = st.columns([4, 4, 2, 2], vertical_alignment="bottom")
    task = address.menu(
        "Task",
        {key: task.label for key, task in TASKS.items()},
        key="task",
        on=left,
        help="\n\n".join(f"**{one.label}.** {one.explanation}" for one in TASKS.values()),
    )
    size = address.choice(
        "Size", {key: label for key, (label, *_) in SIZES.items()}, on=middle, key="size",
        default="usual",
        help="Rows × dimensions of the table: 32 × 32, the task's own (64 or 128 × 64), 192 × 96.",
    )  # fmt: skip
    seed = address.number("Seed", 0, 2**31, 0, key="seed", on=right)
    with page.section("Settings"):
        more, text = _settings(task, size)
    with page.section("Experiments"):
        _experiments()
    _changes(task, size, more)
    go.button(
        "Train",
        key="train",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        disabled=busy,
        on_click=_train,
        args=({"task": task, "seed": seed, **SIZES[size][1], **more}, text),
    )


def _train(settings: Mapping[str, Any], text: Text | None) -> None:
    """Start a run as the controls ask, or say why not."""
    folder = None
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
        lab.begin(config, folder)
    except TrainingError as error:
        lab.refuse(str(error))
        if folder is not None:
            discard_empty(folder)


def _settings(task: str, size: str) -> tuple[dict[str, Any], Text | None]:
    """What else a run can be told, and the text of the person's own if there is one."""
    kind, steps, length, scale, decay = st.columns(5)
    usual = default_config(task, **SIZES[size][1])
    session = st.session_state
    usually = {
        _steps_key(task): usual.steps,
        _length_key(task, size): usual.n_positions,
        "table_scale": usual.table_scale,
        "weight_decay": usual.weight_decay,
    }
    for key, value in usually.items():  # here and not as defaults: an experiment sets them too
        session.setdefault(key, value)
    chosen: dict[str, Any] = {
        "table": kind.selectbox(
            "Position table",
            list(TABLE_KINDS),
            format_func=lambda key: TABLE_KINDS[key].label,
            key="table-kind",
            help="\n\n".join(f"**{k.label}.** {k.explanation}" for k in TABLE_KINDS.values()),
        ),
        "steps": int(steps.number_input("Steps", 1, MOST_STEPS, key=_steps_key(task))),
        "sequence_length": int(
            length.number_input(
                "Sequence length", 8, usual.n_positions, key=_length_key(task, size),
                help=f"At most the {usual.n_positions} rows of the table. Rows beyond it are "
                f"never trained.",
            )
        ),
        "table_scale": float(
            scale.number_input(
                "Initial scale", 0.0, 10.0, step=0.01, format="%g", key="table_scale",
                help="Standard deviation of the rows before the first step.",
            )
        ),
        "weight_decay": float(
            decay.number_input(
                "Weight decay", 0.0, 10.0, step=0.01, format="%g", key="weight_decay"
            )
        ),
    }  # fmt: skip
    if not TASKS[task].reads_text:
        return chosen, None
    return chosen, own_text()


def _experiments() -> None:
    """Buttons that fill in the form, each with what its run will show."""
    for row in range(0, len(EXPERIMENTS), 2):
        pair = list(EXPERIMENTS.items())[row : row + 2]
        for column, (key, experiment) in zip(st.columns(2), pair, strict=False):
            with column.container(border=True, height="stretch"):
                st.markdown(f"**{experiment.label}.** {experiment.question}")
                st.button("Fill in", key=f"experiment-{key}", on_click=_fill_in, args=(experiment,))


def _fill_in(experiment: Experiment) -> None:
    settings, session = _USUAL | dict(experiment.settings), st.session_state
    task = settings["task"]
    usual = default_config(task)
    session["task"] = task
    if session.get("size") != "usual":
        session["size"] = "usual"
    session["table-kind"] = settings["table"]
    session["table_scale"] = float(settings["table_scale"])
    session["weight_decay"] = float(settings["weight_decay"])
    session[_steps_key(task)] = usual.steps
    session[_length_key(task, "usual")] = settings.get("sequence_length", usual.n_positions)


def _changes(task: str, size: str, chosen: dict[str, Any]) -> None:
    """What under Settings is not as usual, so that a closed section hides nothing."""
    usual = default_config(task, **SIZES[size][1])
    told = {
        "table": f"{TABLE_KINDS[chosen['table']].label.lower()} table",
        "steps": f"{chosen['steps']:,} steps",
        "sequence_length": f"sequences of {chosen['sequence_length']}",
        "table_scale": f"initial scale {chosen['table_scale']:g}",
        "weight_decay": f"weight decay {chosen['weight_decay']:g}",
    }
    changed = [words for name, words in told.items() if chosen[name] != getattr(usual, name)]
    if changed:
        st.caption(literal(f"Changed for the next run: {', '.join(changed)}."))


def _steps_key(task: str) -> str:
    return f"steps-{task}"


def _length_key(task: str, size: str) -> str:
    return f"length-{task}-{size}"
