"""The controls that start a training run: three in sight, the rest under Settings."""

from __future__ import annotations

from typing import Any

import streamlit as st

from posviz.training.positions import TABLE_KINDS
from posviz.training.tasks import TASKS
from posviz.ui import lab, page

SIZES: dict[str, tuple[str, dict[str, int]]] = {  # label, and the settings behind it
    "small": ("Small", {"n_positions": 32, "d_model": 32}),
    "usual": ("Usual", {}),
    "large": ("Large", {"n_positions": 192, "d_model": 96}),
}
MOST_STEPS = 20_000
TEXT_MB = 16


def controls(*, busy: bool) -> None:
    """Task, size and seed, and the button; ``busy`` while this visitor's run lives."""
    left, middle, right, go = st.columns([4, 4, 2, 2], vertical_alignment="bottom")
    task = left.selectbox(
        "Task",
        list(TASKS),
        format_func=lambda key: TASKS[key].label,
        key="task",
        bind="query-params",
        help="\n\n".join(f"**{one.label}.** {one.explanation}" for one in TASKS.values()),
    )
    size = middle.segmented_control(
        "Size",
        list(SIZES),
        default="usual",
        required=True,
        format_func=lambda key: SIZES[key][0],
        key="size",
        bind="query-params",
        help="Rows × dimensions of the table: 32 × 32, the task's own (64 or 128 × 64), 192 × 96.",
    )
    seed = right.number_input("Seed", 0, 2**31, 0, key="seed", bind="query-params")
    with page.section("Settings"):
        more, text = _settings(task)
    go.button(
        "Train",
        key="train",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        disabled=busy,
        on_click=lab.train,
        args=({"task": task, "seed": int(seed), **SIZES[size][1], **more}, text),
    )


def _settings(task: str) -> tuple[dict[str, Any], bytes | None]:
    """What else a run can be told, and the text of the person's own if there is one."""
    kind, steps, scale, decay = st.columns(4)
    chosen: dict[str, Any] = {
        "table": kind.selectbox(
            "Position table",
            list(TABLE_KINDS),
            format_func=lambda key: TABLE_KINDS[key].label,
            key="filled",
            help="\n\n".join(f"**{k.label}.** {k.explanation}" for k in TABLE_KINDS.values()),
        ),
        "steps": int(
            steps.number_input(
                "Steps", 1, MOST_STEPS, int(TASKS[task].defaults["steps"]), key=f"steps-{task}"
            )
        ),
        "table_scale": float(
            scale.number_input(
                "Initial scale", 0.0, 10.0, 0.02, step=0.01, key="table_scale",
                help="Standard deviation of the rows before the first step.",
            )
        ),
        "weight_decay": float(
            decay.number_input("Weight decay", 0.0, 10.0, 0.01, step=0.01, key="weight_decay")
        ),
    }  # fmt: skip
    if not TASKS[task].reads_text:
        return chosen, None
    own = st.file_uploader(
        "Your own text (UTF-8); without it the help topics of Python",
        max_upload_size=TEXT_MB,
        key="own_text",
    )
    return chosen, None if own is None else own.getvalue()
