"""Reading runs: which there are, and what each holds, also when it was killed half-way."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.errors import NoTableError, TrainingError
from posviz.runfolder import (
    CONFIG,
    HISTORY,
    METRICS,
    SNAPSHOTS,
    VOCABULARY,
    runs_folder,
    snapshot_name,
)
from posviz.table import Kind, PositionTable, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_KINDS: dict[str, Kind] = {"learned": "learned", "sinusoidal": "sinusoidal", "frozen": "random"}


@dataclass(frozen=True)
class Run:
    """A run folder as it is on disk now.

    Parameters
    ----------
    name : str
        What ``run:NAME`` calls it: the folder's name inside the runs folder, else its path.
    folder : Path
    settings : mapping
        The training configuration; empty for a run recorded from somebody's own script.
    text_sha256 : str or None
        Of the text in UTF-8, for the tasks that read one.
    metrics : tuple of mappings
        One for each snapshot, in the order of steps, with ``step`` and ``loss``.
    file : str
        Name of the file that holds the snapshots.
    device : str or None
        What it was trained on, where that is known; always in float32.
    recorded_from : str or None
        The tensor of somebody's own model that was recorded.
    before : (int, float) or None
        Length and loss of somebody else's model before its table was stretched.
    ended : str or None
        Why it ended before its time, where nobody asked it to.
    """

    name: str
    folder: Path
    settings: dict[str, Any]
    text_sha256: str | None
    metrics: tuple[dict[str, Any], ...]
    file: str = SNAPSHOTS
    device: str | None = None
    recorded_from: str | None = None
    before: tuple[int, float] | None = None
    ended: str | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps at which there is a snapshot, in order."""
        return tuple(line["step"] for line in self.metrics)

    @property
    def lender(self) -> str | None:
        """Whose model it trained, where it keeps the table alone."""
        return self.settings.get("lender")

    @property
    def finished(self) -> bool:
        """Whether the last snapshot is of the last step asked for."""
        return bool(self.steps) and self.steps[-1] >= self.settings.get("steps", 0)

    @cached_property
    def length(self) -> int:
        """Bytes on disk."""
        return sum(status.st_size for status in self._files())

    @cached_property
    def changed(self) -> float:
        """When it was last written to, in seconds since 1970."""
        return max((status.st_mtime for status in self._files()), default=0.0)

    def _files(self) -> Iterator[os.stat_result]:
        """Of each file, what the system says; those that go meanwhile are left out."""
        with suppress(OSError):
            for file in self.folder.iterdir():
                with suppress(OSError):
                    status = file.stat()
                    if stat.S_ISREG(status.st_mode):
                        yield status

    @cached_property
    def vocabulary_size(self) -> int | None:
        """How many symbols the model knows; None for a run recorded from somebody's own script."""
        try:
            return len(json.loads((self.folder / VOCABULARY).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def snapshot(self, step: int | None = None) -> NDArray[np.float32]:
        """The table at a step, or the last one: float32, shape (n_positions, d_model).

        Raises
        ------
        TrainingError
            No snapshot at that step, or the snapshot file is damaged.
        """
        return self._read(self._step(step))[0]

    def snapshots(self) -> list[NDArray[np.float32]]:
        """The tables at all :attr:`steps`, as :meth:`snapshot` gives each."""
        return self._read(*self.steps)

    def _read(self, *steps: int) -> list[NDArray[np.float32]]:
        from safetensors import SafetensorError, safe_open

        path = self.folder / self.file
        try:
            with safe_open(path, framework="np") as file:
                kept = [file.get_tensor(snapshot_name(step)) for step in steps]
        except (OSError, SafetensorError) as err:
            raise TrainingError(
                f"{path} does not hold the snapshot of step {', '.join(map(str, steps[:5]))}: the "
                f"file is damaged or missing. Train the run again."
            ) from err
        return [rows.astype("float32", copy=False) for rows in kept]

    def table(self, step: int | None = None) -> PositionTable:
        """The position table at a step, or the last one.

        Raises
        ------
        TrainingError
            No snapshot at that step, or the snapshot file is damaged.
        NoTableError
            The run was trained without positions.
        """
        kind = _KINDS.get(self.settings.get("table", "learned"))
        if kind is None:
            raise NoTableError(
                f"run:{self.name} was trained without a position table. Open a run with one.",
                scheme="none",
            )
        step = self._step(step)
        provenance = Provenance(
            source="run",
            ref=f"run:{self.name}@{step}",
            file=self.file,
            parameter=snapshot_name(step),
            revision=str(step),
            dtype="F32",
        )
        return PositionTable(self.snapshot(step), self.name, provenance, kind=kind)

    def _step(self, step: int | None) -> int:
        if not self.steps:
            raise TrainingError(
                f"run:{self.name} has no snapshot yet. Wait for the first, or train it again."
            )
        if step is None:
            return self.steps[-1]
        if step not in self.steps:
            near = min(self.steps, key=lambda kept: abs(kept - step))
            raise TrainingError(
                f"run:{self.name} has no snapshot of step {step}; the nearest of its "
                f"{len(self.steps)} is at step {near}. Open run:{self.name}@{near}."
            )
        return step


def open_run(name: str | Path) -> Run:
    """A run by its name in the runs folder, or by the path of its folder.

    Raises
    ------
    TrainingError
        There is no such run, or what is there is not a run.
    """
    home = runs_folder()
    plain = isinstance(name, str) and name not in (".", "..") and not set(name) & set("/\\")
    folder = home / name if plain and (home / name).is_dir() else Path(name)
    if not folder.is_dir():
        known = ", ".join(run.name for run in list_runs()[:5]) or "none yet"
        raise TrainingError(
            f"There is no run {name}. The newest in {home}: {known}. Name one, or train one."
        )
    metrics, own = _metrics(folder), _own_config(folder)
    if metrics is None and "training" not in own:
        raise TrainingError(
            f"{folder} is not a training run: it holds neither {METRICS} nor the training "
            f"settings in {CONFIG}. Name a folder that posviz train made."
        )
    inside = folder.resolve().parent == home.resolve()
    return Run(
        name=folder.name if inside else str(folder),
        folder=folder,
        settings=own.get("training", {}),
        text_sha256=own.get("text_sha256"),
        metrics=metrics or (),
        file=_snapshot_file(folder),
        device=own.get("device"),
        recorded_from=own.get("recorded", {}).get("parameter"),
        before=_before(own),
        ended=ended if isinstance(ended := own.get("ended"), str) else None,
    )


def list_runs() -> tuple[Run, ...]:
    """Every run in the runs folder, the one touched last first; anything else there is left out."""
    home = runs_folder()
    if not home.is_dir():
        return ()
    runs = []
    for folder in home.iterdir():
        if folder.is_dir() and not folder.name.startswith("."):
            try:
                runs.append(open_run(folder))
            except TrainingError:  # somebody else's folder
                continue
    return tuple(sorted(runs, key=lambda run: run.changed, reverse=True))


def _snapshot_file(folder: Path) -> str:
    return HISTORY if (folder / HISTORY).is_file() else SNAPSHOTS


def _own_config(folder: Path) -> dict[str, Any]:
    """Our part of ``config.json``; empty where there is none."""
    try:
        own = json.loads((folder / CONFIG).read_bytes())["posviz"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    if not isinstance(own, dict):
        return {}
    parts = ("training", "recorded")
    return {key: part for key, part in own.items() if key not in parts or isinstance(part, dict)}


def _before(own: dict[str, Any]) -> tuple[int, float] | None:
    try:
        return int(own["before"]["n_positions"]), float(own["before"]["loss"])
    except (KeyError, TypeError, ValueError):
        return None


def _metrics(folder: Path) -> tuple[dict[str, Any], ...] | None:
    """Lines of the snapshots that both files know; a line that is not whole ends the list."""
    from safetensors import SafetensorError, safe_open

    try:
        lines = (folder / METRICS).read_bytes().splitlines()
    except OSError:
        return None
    try:
        with safe_open(folder / _snapshot_file(folder), framework="np") as file:
            kept = set(file.keys())
    except (OSError, SafetensorError):
        kept = set()
    metrics = []
    for line in lines:
        try:
            values = json.loads(line)
            known = snapshot_name(values["step"]) in kept
        except (ValueError, KeyError, TypeError):
            break
        if known:
            metrics.append(values)
    return tuple(metrics)
