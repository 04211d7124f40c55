"""The shelf of runs: what each is, a new name for it, a copy to take home, and its end."""

from __future__ import annotations

import time
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import TrainingError
from posviz.training.shelf import checked_name, delete_run, rename_run, zip_run
from posviz.training.tasks import TASKS
from posviz.ui import lab
from posviz.ui.format import data_size, decimal, literal
from posviz.ui.picker import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.training.runs import Run

IN_SIGHT = 8  # runs; the older ones wait behind a switch
_DOOMED, _OLDER = "_doomed_run", "older_runs"


def shelf() -> None:
    """The runs of this visitor, newest first."""
    runs = lab.mine()
    if not runs:
        st.caption(
            "No runs yet. Train one above, or record your own training: "
            "`posviz.record(model, step, loss=loss)` in its loop."
        )
    for run in runs[:IN_SIGHT]:
        _row(run)
    if (older := runs[IN_SIGHT:]) and st.toggle(f"{len(older):,} older", key=_OLDER):
        for run in older:
            _row(run)


def told(run: Run) -> str:
    """What a run is in a few words: its task, how far it came, how large and how old it is."""
    task = TASKS.get(run.settings.get("task", ""))
    loss = run.metrics[-1]["loss"]
    facts = [
        task.label if task else _other(run),
        f"step {run.steps[-1]:,}",
        "" if loss is None else f"loss {decimal(loss)}",
        data_size(run.length),
        age(time.time() - run.changed),
    ]
    return " · ".join(fact for fact in facts if fact)


def _other(run: Run) -> str:
    """What a run is that has no task of posviz."""
    if run.lender is None:
        return "recorded from a script"
    return f"table of {literal(PurePath(run.lender).name)}, fine-tuned"


def age(seconds: float) -> str:
    """How long ago, roughly: ``just now``, ``5 min ago``, ``3 h ago``, ``12 days ago``."""
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= (2 if unit == "days" else 1) * length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now"


def _row(run: Run) -> None:
    with st.container(key=f"run-{run.name}", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{literal(run.name)}** · {told(run)}", width="stretch")
        with st.popover("Manage", icon=":material/more_horiz:", key=f"manage-{run.name}"):
            _manage(run)


def _manage(run: Run) -> None:
    st.download_button(
        "Download as zip", partial(zip_run, run), f"{run.name}.zip", key=f"zip-{run.name}",
        on_click="ignore", width="stretch", icon=":material/download:",
    )  # fmt: skip
    if lab.jobs().trains(run.folder):
        st.caption("It is being trained: stop it first to rename or delete it.")
        return
    name = f"name-{run.name}"
    st.text_input("New name", placeholder=run.name, key=name, on_change=_rename, args=(run, name))
    if st.session_state.get(_DOOMED) != run.name:
        st.button(
            "Delete", key=f"delete-{run.name}", on_click=_ask, args=(run.name,),
            width="stretch", icon=":material/delete:",
        )  # fmt: skip
        return
    st.markdown(f"Delete **{literal(run.name)}** and its {len(run.steps):,} snapshots for good?")
    yes, no = st.columns(2)
    yes.button(
        "Delete", key=f"delete-{run.name}-yes", type="primary", on_click=_delete, args=(run,),
        width="stretch",
    )  # fmt: skip
    no.button("Keep", key=f"delete-{run.name}-no", on_click=_ask, args=(None,), width="stretch")


def _ask(name: str | None) -> None:
    st.session_state[_DOOMED] = name


def _delete(run: Run) -> None:
    _ask(None)
    _change(run, partial(delete_run, run))


def _rename(run: Run, key: str) -> None:
    name = str(st.session_state[key] or "").strip()
    if name and name != run.name and _change(run, partial(rename_run, run, name)):
        lab.renamed(run.name, checked_name(name))
        asked = str(st.session_state.get(TABLE) or "")
        ref, at, step = asked.partition("@")
        if ref == f"run:{run.name}":  # the open table is still the same one
            st.session_state[TABLE] = f"run:{name}{at}{step}"


def _change(run: Run, change: Callable[[], None]) -> bool:
    """Do something to a run that nobody trains; says why not."""
    try:
        with lab.jobs().apart(run.folder):
            change()
    except TrainingError as error:
        lab.refuse(str(error))
        return False
    return True
