"""Fine-tuning the table of somebody else's model: what the run is told, checked beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from posviz.training.config import (
    LARGEST,
    MASKS,
    TrainConfig,
    check_between,
    check_schedule,
    kept,
)
from posviz.training.finetune import check_stretch

STEPS = 20  # a model of a hundred million weights takes seconds to minutes for each
TOKENS = 4096  # that a step reads, where one sequence is not longer
HIDDEN = 0.15  # share of the tokens that a masked model has to guess, as BERT was trained


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig:
    """A run that trains the stretched table of a model that transformers opens, and nothing else.

    Parameters
    ----------
    source : str
        The reference of the table to begin with: the model itself, or an earlier run of it.
    lender : str
        The reference of the model; a path is absolute, so that it opens from anywhere.
    fingerprint : str
        Of the table to begin with: another one in its place later is refused.
    n_positions : int
        Of the new table; every sequence fills it.
    steps, seed, learning_rate, weight_decay, warm_up
        As in :class:`TrainConfig`. Frozen rows do not decay. The usual learning rate follows from
        the size of the table: :func:`posviz.model.tuning.usual_rate`.
    batch_size : int
        Sequences a step, read one after the other; 0 for about TOKENS tokens.
    mask : float
        Share of the tokens that a masked model has to guess.
    text : str or None
        Path of a text; None is the standard library's documentation.
    method, grid, keep : str
        As :func:`posviz.interpolation.extend`.
    moving : key of MOVING

    Raises
    ------
    TrainingError
        A value outside what can be trained, each in one sentence.
    """

    source: str
    lender: str
    fingerprint: str
    n_positions: int
    steps: int = STEPS
    seed: int = 0
    batch_size: int = 0
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warm_up: int = 1
    mask: float = HIDDEN
    text: str | None = None
    method: str = "linear"
    grid: str = "align-corners"
    keep: str = ""
    moving: str = "new"

    def __post_init__(self) -> None:
        check_between("length", self.n_positions, 2, LARGEST)
        if self.batch_size == 0:
            object.__setattr__(self, "batch_size", max(TOKENS // self.n_positions, 1))
        check_schedule(self)
        check_between("mask", self.mask, *MASKS)
        check_stretch(self)

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> PretrainedConfig:
        """Settings as a run folder keeps them; names this version does not know are refused."""
        return kept(cls, settings)


def config_of(settings: Mapping[str, Any]) -> TrainConfig | PretrainedConfig:
    """The configuration that a run folder or an order keeps.

    Raises
    ------
    TrainingError
        It is not whole, or of another version of posviz.
    """
    kind = PretrainedConfig if "lender" in settings else TrainConfig
    return kind.from_dict(settings)
