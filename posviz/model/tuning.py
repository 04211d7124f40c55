"""What the fine-tuning of any model's table is told, without loading what trains it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.model.places import folder_of, is_ours, read_json
from posviz.runfolder import CONFIG
from posviz.sources import PRESETS, Access, load, plain
from posviz.sources.runs import lender_of
from posviz.training.finetune import FineTuneConfig, fine_tune_config
from posviz.training.pretrained import PretrainedConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PACE, _SLOWEST = 0.05, 1e-4  # of a row's size in a step, and the least learning rate


def tuning_config(
    source: str, length: int, *, access: Access | None = None, **settings: Any
) -> FineTuneConfig | PretrainedConfig:
    """The run that fine-tunes a model's table at another length, whosever model it is.

    Parameters
    ----------
    source : str
        A demo, a run, a folder of a model, or a Hub model that lies on this machine.
    length : int
        Positions of the new table.
    access : Access or None
    settings
        Of :class:`FineTuneConfig` or :class:`PretrainedConfig`; None counts as not given.

    Raises
    ------
    TrainingError
        A setting is out of range, or a model of posviz cannot be fine-tuned.
    ModelError, SourceError
        There is no whole model.
    """
    source = plain(source)
    lender = lender_of(source)
    if lender is None and _of_posviz(source, access):
        return fine_tune_config(source, length, **settings)
    given = {name: value for name, value in settings.items() if value is not None}
    if "text" in given:
        given["text"] = str(Path(given["text"]).absolute())
    if lender is None:
        source = lender = _anywhere(source, access)
    folder_of(lender, access)  # refuses what is no model, before anything is made
    table = load(source, access=access)
    given.setdefault("learning_rate", usual_rate(table.weights))
    return PretrainedConfig(
        source=source, lender=lender, fingerprint=table.fingerprint, n_positions=length, **given
    )


def usual_rate(rows: NDArray[np.float32]) -> float:
    """A learning rate at which a number of a usual row may move by 5 % of its size in a step.

    AdamW steps by about the rate, whatever the gradient, and tables differ tenfold in size.

    Parameters
    ----------
    rows : array of shape (n_positions, d_model)
    """
    size = float(np.median(np.sqrt(np.square(rows, dtype=np.float64).mean(axis=1))))
    return float(f"{_PACE * size:.1g}") if _PACE * size > _SLOWEST else _SLOWEST


def _of_posviz(source: str, access: Access | None) -> bool:
    if source.partition(":")[0] in ("demo", "run"):
        return True
    folder = folder_of(source, access)
    return is_ours(folder, read_json(folder / CONFIG))


def _anywhere(source: str, access: Access | None) -> str:
    """A reference that means the same wherever posviz is started."""
    if source.startswith("hub:") or source in PRESETS:
        return source
    return str((access or Access()).absolute(source))
