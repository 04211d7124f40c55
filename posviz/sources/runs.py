"""Tables of training runs: the last of a run, or the one at a snapshot on the way."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from posviz.errors import SourceError
from posviz.runfolder import CONFIG, NAME, SNAPSHOTS, runs_folder, snapshot_name
from posviz.sources import configs
from posviz.sources.checkpoint import Candidate, Checkpoint, Reading
from posviz.sources.formats import open_tensors
from posviz.sources.readers import LocalFile, Traffic
from posviz.sources.saved import saved

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from posviz.sources.access import Access
    from posviz.sources.formats import Entry
    from posviz.table import Kind, PositionTable

# What fills the table of a run, and what that makes of it.
_KINDS: dict[str, Kind] = {"learned": "learned", "sinusoidal": "sinusoidal", "frozen": "random"}
_NAMED = 5  # runs that a refusal lists


def open_run(ref: str, access: Access) -> Checkpoint:
    """``run:NAME``, the last table of a run of the runs folder; ``run:NAME@STEP``, one before.

    The name says which run, never a path, so this opens for those who may open no paths as well.

    Raises
    ------
    SourceError
        No such run, or no snapshot of that step; the sentence names those there are.
    """
    name, at, asked = ref.partition(":")[2].partition("@")
    alone = access.local_paths and access.local_root is None  # else runs are each visitor's own
    folder, traffic = _folder(name, listed=alone), Traffic()
    file = open_tensors(LocalFile(folder / SNAPSHOTS, traffic, name=SNAPSHOTS))
    entries = {entry.name: entry for entry in file.entries}
    step = _step(name, _steps(entries), asked if at else None)
    config = None
    if (folder / CONFIG).is_file():
        config = configs.read_config(LocalFile(folder / CONFIG, traffic, name=CONFIG))
    kind = _kind(config)
    made = partial(_candidate, entries, kind or "learned", file.metadata)
    return Checkpoint(
        ref=ref,
        source="run",
        name=f"{name}, step {step:,}" if at else name,
        format=file.format,
        model_type=configs.model_type(config),
        config=config,
        entries=tuple(file.entries),
        tables=tuple(filter(None, [made(snapshot_name(step))])) if kind else (),
        scheme=kind if kind in ("learned", "sinusoidal") else "none",
        message=None if kind else "the run was trained without positions. Open another run.",
        warnings=file.warnings,
        size=(folder / SNAPSHOTS).stat().st_size,
        read_entry=lambda tensor: file.read_entry(entries[tensor]),
        read_table=lambda chosen: Reading(chosen, file.read_entry(entries[chosen.parameter])),
        by_hand=made,
        revision=str(step),
        traffic=traffic,
    )


def lender_of(ref: str) -> str | None:
    """Whose model a run trained, where it keeps the table alone; None where it keeps its own.

    Such a run is one of :class:`posviz.training.pretrained.PretrainedConfig`.
    """
    prefix, _, rest = ref.partition(":")
    name = rest.partition("@")[0]
    if prefix != "run" or not NAME.fullmatch(name):
        return None
    try:
        settings = json.loads((runs_folder() / name / CONFIG).read_bytes())["posviz"]["training"]
        lender = settings["lender"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # Never another run: a run that lends has a model of its own and is fine-tuned by its task.
    return lender if isinstance(lender, str) and not lender.startswith("run:") else None


def in_the_layout_of(before: PositionTable, rows: PositionTable) -> PositionTable:
    """A table that was kept without the rows that no position uses, with them again.

    Parameters
    ----------
    before : PositionTable
        The model's own.
    rows : PositionTable
        Of a run that trained it.

    Raises
    ------
    SourceError
        The model has other rows by now.
    """
    if rows.d_model != before.d_model:
        run = rows.provenance.ref.partition("@")[0]
        raise SourceError(
            f"{run} trained rows of {rows.d_model:,} numbers, and the model that it was made for "
            f"has rows of {before.d_model:,} by now. Put the model back that was trained."
        )
    offset = before.raw[: before.row_offset]
    raw = np.concatenate([offset, rows.weights])
    run, step = rows.provenance.ref.partition("@")[0], rows.provenance.revision
    return before.derive(raw, note=f"fine-tuned as {run}@{step}")


def _folder(name: str, *, listed: bool) -> Path:
    home = runs_folder()
    plain = bool(name) and not name.startswith(".") and not set(name) & set("/\\\x00")
    if plain and (home / name / SNAPSHOTS).is_file():
        return home / name
    if not listed:
        raise SourceError(
            f"There is no run called {name or '(nothing)'}. Name one of your own, or train one."
        )
    made: list[Path] = []
    with suppress(OSError):
        made = [path for path in home.iterdir() if (path / SNAPSHOTS).is_file()]
        made.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    newest = ", ".join(f"run:{path.name}" for path in made[:_NAMED]) or "none yet"
    raise SourceError(
        f"There is no run called {name or '(nothing)'}. The newest runs: {newest}. "
        f"Name one, or train one."
    )


def _steps(entries: Mapping[str, Entry]) -> list[int]:
    numbers = [name.removeprefix("step-") for name in entries if name.startswith("step-")]
    return sorted(int(number) for number in numbers if number.isdecimal())


def _step(name: str, steps: list[int], asked: str | None) -> int:
    """The step asked for, or the last."""
    if not steps:
        raise SourceError(f"run:{name} has no snapshot yet. Wait for the first, or train it again.")
    if asked is None:
        return steps[-1]
    if asked.isdecimal() and int(asked) in steps:
        return int(asked)
    near = min(steps, key=lambda kept: abs(kept - int(asked))) if asked.isdecimal() else steps[-1]
    raise SourceError(
        f"run:{name} has no snapshot of step {asked or '(nothing)'}; it has {len(steps)}, from "
        f"step {steps[0]} to {steps[-1]}. Open run:{name}@{near}."
    )


def _kind(config: Mapping[str, Any] | None) -> Kind | None:
    """What the run's table is; None when it was trained without one."""
    try:
        filled = (config or {})["posviz"]["training"]["table"]
    except (KeyError, TypeError):
        return "learned"  # recorded from somebody's own script
    return _KINDS.get(filled)


def _candidate(
    entries: Mapping[str, Entry], kind: Kind, header: Mapping[str, str], parameter: str
) -> Candidate | None:
    entry = entries.get(parameter)
    if entry is None:
        return None
    n_positions, d_model = cast("tuple[int, int]", entry.shape)
    layout = saved(header, n_positions)  # recorded from somebody's own script
    return Candidate(
        parameter=parameter,
        file=SNAPSHOTS,
        shape=(n_positions, d_model),
        dtype=entry.dtype or "F32",
        kind=layout.kind if layout else kind,
        n_positions=n_positions,
        d_model=d_model,
        row_offset=0,
        prefix_rows=layout.prefix_rows if layout else 0,
        suffix_rows=layout.suffix_rows if layout else 0,
        grid=layout.grid if layout else None,
        default=True,
        reason=f"The position table of the run, as it was at {parameter.replace('-', ' ', 1)}.",
        label=parameter,
    )
