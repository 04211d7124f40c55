"""One line in anybody's PyTorch loop that keeps its position table as it forms.

The run has the form of posviz's own (:mod:`posviz.runfolder`), so it plays as a film, while the
script still trains, and opens everywhere as ``run:NAME``. Recording never ends a training: what
cannot be kept after the first snapshot is a warning.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.analysis.film import unmoved
from posviz.errors import PosvizError, SettingError, TrainingError
from posviz.runfolder import CONFIG, runs_folder
from posviz.sources import configs, live
from posviz.training.metrics import row_ranges, table_metrics
from posviz.training.recording import Recording, json_bytes, write_whole
from posviz.training.runs import open_run
from posviz.training.schedule import next_due
from posviz.training.shelf import checked_name, new_run_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BYTES = 256 << 20  # of all snapshots of a run; beyond it every second one goes

_recorders: dict[str | None, Recorder] = {}


class RecordingWarning(UserWarning):
    """Something could not be recorded as asked; the training itself is not touched."""


def record(
    model: Any,
    step: int,
    *,
    loss: Any = None,
    run: str | None = None,
    parameter: str | None = None,
    every: int | None = None,
) -> str | None:
    """Keep a snapshot of the model's position table if one is due; see :func:`posviz.record`."""
    now = _whole("step", step, least=0)
    spacing = None if every is None else _whole("every", every, least=1)
    recorder = _recorders.get(run)
    if recorder is not None and not recorder.starts_anew(model, now):
        return recorder.keep(model, now, loss) if recorder.is_due(now, spacing) else None
    if not _first_process():
        return None
    recorder = Recorder(model, now, run, parameter)
    _recorders[run] = recorder
    return recorder.keep(model, now, loss)


class Recorder:
    """The recording of one run.

    Parameters
    ----------
    model : module, or mapping of names to tensors
    step : int
        Of the first snapshot.
    run : str or None
        Name of the run; None for the name of the script and a number.
    parameter : str or None
        Which tensor is the table; None to have it found.

    Raises
    ------
    SourceError
        The model is none, or no table is found in it.
    TrainingError
        The name cannot be used, or the runs folder cannot be written.
    """

    def __init__(self, model: Any, step: int, run: str | None, parameter: str | None) -> None:
        tensors, config = live.tensors_of(model), live.config_of(model)
        self._table = live.find(tensors, config, parameter=parameter)
        self._model = _reference(model)
        self._first, self._last = step, -1
        self._thinned = 0
        self._told: set[str] = set()
        self._rows = self._table.rows(tensors)
        about: dict[str, Any] = {"model_type": kind} if (kind := configs.model_type(config)) else {}
        about |= {"posviz": {"recorded": asdict(self._table.candidate)}}
        self._about = json_bytes(about, indent=2)
        self._recording = self._opened(run, step)
        self._written = self._recording.stamp()
        write_whole(self._recording.folder / CONFIG, self._about)

    @property
    def name(self) -> str:
        """What ``run:NAME`` calls the run."""
        return self._recording.folder.name

    def starts_anew(self, model: Any, step: int) -> bool:
        """Whether this is another model, from its beginning, and so another run."""
        same = self._model is not None and self._model() is live.unwrapped(model)
        return step <= self._first and not same

    def is_due(self, step: int, every: int | None) -> bool:
        """Whether a snapshot of this step is to be kept."""
        if step < self._last:
            self._tell(
                f"step went back from {self._last} to {step}; it counts over the whole run, so "
                f"nothing is recorded until it has caught up. Add up the steps of all epochs."
            )
        spacing = every or next_due(self._last) - self._last
        return step >= self._last + (spacing << self._thinned)

    def keep(self, model: Any, step: int, loss: Any) -> str | None:
        """Keep a snapshot of this step; returns the reference that opens it, None if refused."""
        self._last = step
        try:
            rows = self._table.rows(live.tensors_of(model))
            metrics = self._metrics(rows, step, loss)
            if rows.nbytes * (len(self._recording) + 1) > MOST_BYTES and len(self._recording) > 2:
                self._recording.thin()
                self._thinned += 1
            self._step_aside()
            self._recording.add(rows, metrics)
            self._written = self._recording.stamp()
        except PosvizError as error:
            self._tell(str(error))
            return None
        return f"run:{self.name}@{step}"

    def _step_aside(self) -> None:
        """Go on in a folder of one's own if another process writes to this one."""
        if self._recording.stamp() in (self._written, None):  # None: deleted, which add() tells
            return
        before = self.name
        self._recording.folder = new_run_folder(before, first=2)
        write_whole(self._recording.folder / CONFIG, self._about)
        self._tell(
            f"Another process records the run {before} too, so this one goes on as {self.name}."
        )

    def _metrics(self, rows: NDArray[np.float32], step: int, loss: Any) -> dict[str, Any]:
        if not np.isfinite(rows).all():
            raise TrainingError(
                f"The position table is not finite at step {step}; the snapshots before it are "
                f"kept. A smaller learning rate may help."
            )
        value = _number(loss)
        if value is not None and not math.isfinite(value):
            self._tell(f"The loss is {value} at step {step}; it is kept as missing.")
            value = None
        still = unmoved(self._rows, rows) if step > self._first else np.zeros(len(rows), bool)
        return {
            "step": step,
            "loss": value,
            "rows_seen": int((~still).sum()),
            "rows_unseen": row_ranges(still),
            **table_metrics(rows),
        }

    def _opened(self, run: str | None, step: int) -> Recording:
        """Where to write: a new run, or the one of this name if its training goes on here."""
        if run is None:
            return self._new(new_run_folder(_script()))
        folder = runs_folder() / checked_name(run)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            pass
        except OSError as err:
            raise TrainingError(
                f"{folder} cannot be made ({err.strerror}). Set POSVIZ_RUNS to another folder."
            ) from err
        else:
            return self._new(folder)
        return self._continued(folder, step) or self._new(self._beside(run))

    def _new(self, folder: Path) -> Recording:
        return Recording(folder, header=self._header())

    def _header(self) -> dict[str, str]:
        """How the rows lie, as posviz writes it beside every table it saves."""
        table = self._table.candidate
        layout = {
            "kind": table.kind,
            "prefix_rows": str(table.prefix_rows),
            "suffix_rows": str(table.suffix_rows),
            "recorded_from": table.parameter,
        }
        if table.grid is not None:
            layout["grid"] = f"{table.grid[0]}x{table.grid[1]}"
        return {"format": "pt", **{f"posviz.{name}": text for name, text in layout.items()}}

    def _continued(self, folder: Path, step: int) -> Recording | None:
        """A recorded run that was broken off and goes on, without what is trained again now."""
        try:
            before = open_run(folder)
            kept = [line for line in before.metrics if line["step"] < step]
            if before.settings or not kept:
                return None
            snapshots = {line["step"]: before.snapshot(line["step"]) for line in kept}
        except TrainingError:
            return None
        first = snapshots[kept[0]["step"]]
        if first.shape != self._rows.shape:
            return None
        self._rows, self._first = first, kept[0]["step"]
        return Recording(folder, snapshots=snapshots, metrics={line["step"]: line for line in kept})

    def _beside(self, run: str) -> Path:
        folder = new_run_folder(run, first=2)
        self._tell(f"There is a run {run} already, so this one is recorded as {folder.name}.")
        return folder

    def _tell(self, sentence: str) -> None:
        """Warn, once for each kind of trouble."""
        kind = re.sub(r"[\d.]+", "", sentence)
        if kind not in self._told:
            self._told.add(kind)
            warnings.warn(sentence, RecordingWarning, stacklevel=_depth())


def _whole(name: str, value: Any, *, least: int) -> int:
    try:
        whole = int(value)
    except (TypeError, ValueError, RuntimeError) as err:
        raise SettingError(f"{name} is a whole number; {value!r} is none.") from err
    if whole < least or whole != value:
        raise SettingError(f"{name} is a whole number from {least} on; {value!r} was given.")
    return whole


def _number(loss: Any) -> float | None:
    """The loss as a number; None where there is none."""
    if loss is None:
        return None
    try:
        return float(loss.detach() if hasattr(loss, "detach") else loss)
    except (TypeError, ValueError, RuntimeError) as err:
        raise SettingError(
            f"loss is one number, or a tensor of one; {type(loss).__name__} of shape "
            f"{tuple(getattr(loss, 'shape', ()))} is not. Take its mean."
        ) from err


def _reference(model: Any) -> weakref.ref[Any] | None:
    return None if isinstance(model, Mapping) else weakref.ref(live.unwrapped(model))


def _first_process() -> bool:
    """Whether this is the one process of a parallel training that records."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_rank() == 0)


def _script() -> str:
    """A run's name after the script that trains."""
    stem = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] != "-c" else ""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:50]
    return name if name and name not in ("ipykernel_launcher", "__main__") else "recorded"


def _depth() -> int:
    """How many calls lie between a warning and the person's own line."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("posviz"):
        frame, depth = frame.f_back, depth + 1
    return depth
