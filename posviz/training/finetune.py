"""Fine-tuning a stretched table: which model, how it is stretched, and which rows may move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from posviz.errors import TrainingError
from posviz.interpolation import GRIDS, METHODS
from posviz.runfolder import CONFIG, MODEL
from posviz.training.config import TrainConfig, check_choice
from posviz.training.runs import open_run

if TYPE_CHECKING:
    from posviz.training.pretrained import PretrainedConfig

DEMOS = Path(__file__).parents[1] / "data" / "demos"
STEPS = 200
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth"}  # a file whose folder has the model's name


@dataclass(frozen=True)
class Moving:
    """Which rows a fine-tuning may change; the rest of the model stays as it is.

    Parameters
    ----------
    label, explanation : str
        For menus.
    """

    label: str
    explanation: str


MOVING: dict[str, Moving] = {
    "new": Moving(
        "Only the new rows",
        "Rows of the old table that are still there stay bit for bit, so short inputs give the "
        "same outputs. A method that resamples moves every row: then all of them are new.",
    ),
    "table": Moving("The whole table", "Every row learns; the rest of the model stays as it is."),
}


@dataclass(frozen=True, kw_only=True)
class FineTuneConfig(TrainConfig):
    """A run that begins with a trained model at another length and trains only its table.

    Parameters
    ----------
    source : str
        ``demo:NAME``, ``run:NAME`` or the path of a run folder: the model to begin with.
    method, grid, keep : str
        As :func:`posviz.interpolation.extend`; the new length is ``n_positions``.
    moving : key of MOVING

    Raises
    ------
    TrainingError
        As :class:`TrainConfig`, and for a method, grid or choice that does not exist.
    """

    source: str
    method: str = "linear"
    grid: str = "align-corners"
    keep: str = ""
    moving: str = "new"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_stretch(self)


def check_stretch(config: FineTuneConfig | PretrainedConfig) -> None:
    """Refuse a way to stretch the table that does not exist; raises TrainingError."""
    for name, choices in (("method", METHODS), ("grid", GRIDS), ("moving", MOVING)):
        check_choice(name, getattr(config, name), choices)


def fine_tune_config(
    source: str, length: int, *, steps: int | None = None, **settings: Any
) -> FineTuneConfig:
    """The run that fine-tunes a trained model's table at another length, on its own task.

    Parameters
    ----------
    source : str
        As in :class:`FineTuneConfig`.
    length : int
        Positions of the new table; training sequences fill them.
    steps : int or None
        None for STEPS.
    settings
        Of :class:`FineTuneConfig`; None counts as not given. Unlike a first training, one without
        them has no weight decay and no warm-up, so that rows move by what they learn alone.

    Raises
    ------
    TrainingError
        No such model, one that was not trained here or has no learned table, or a setting out of
        range.
    """
    trained = source_settings(source)
    begun = {**trained, "weight_decay": 0.0, "warm_up": 1}
    given = {name: value for name, value in settings.items() if value is not None}
    shape = {"n_positions": length, "sequence_length": length, "source": source}
    return FineTuneConfig(**{**begun, **given, **shape, "steps": STEPS if steps is None else steps})


def run_name(source: str, length: int) -> str:
    """What a fine-tuning's run is called, but for its number: the model and the new length."""
    path = PurePath(source.partition("@")[0])
    name = (path.parent if path.suffix in _WEIGHTS else path).name.split(":")[-1]
    stem = "".join(c if (c.isascii() and c.isalnum()) or c in "-_" else "-" for c in name)
    return f"{stem.strip('-_')[:40] or 'model'}-{length}"


def source_folder(source: str) -> Path:
    """The folder of the model that a fine-tuning begins with.

    Raises
    ------
    TrainingError
        There is none, or it holds no model.
    """
    kind, colon, name = source.partition(":")
    if colon and kind == "demo":
        folder = DEMOS / name
    elif colon and kind == "run" and "@" in name:
        raise TrainingError(
            f"{source} is the table of an earlier step, and the model is kept as it was at the "
            f"last one. Fine-tune run:{name.partition('@')[0]}."
        )
    else:
        folder = open_run(name if colon and kind == "run" else source).folder
    plain = bool(name) and not set(name) & set("/\\") if colon else True
    if not plain or not (folder / MODEL).is_file():
        raise TrainingError(
            f"{source} holds no model of posviz, and only those are fine-tuned here: a demo or a "
            f"run. Take the checkpoint home to fine-tune any other."
        )
    return folder


def source_settings(source: str) -> dict[str, Any]:
    """How the model was trained: the settings of its own run, fine-tunings of it included.

    Raises
    ------
    TrainingError
        As :func:`source_folder`; it was not trained by posviz, or its table was not learned.
    """
    folder = source_folder(source)
    try:
        settings = json.loads((folder / CONFIG).read_bytes())["posviz"]["training"]
    except (OSError, ValueError, KeyError, TypeError):
        settings = None
    if not isinstance(settings, Mapping):
        raise TrainingError(
            f"{source} says nothing of how it was trained, so there is no task to go on with. "
            f"Choose a demo or a run of posviz."
        )
    if settings.get("table", "learned") != "learned":
        raise TrainingError(
            f"{source} was trained with a table that is {settings['table']}, so there is none to "
            f"fine-tune. Choose a model with a learned table."
        )
    known = TrainConfig.__dataclass_fields__
    return {name: value for name, value in settings.items() if name in known}
