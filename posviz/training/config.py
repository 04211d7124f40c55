"""Everything a training run can be told, checked before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from posviz.errors import TrainingError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")

LARGEST = 1 << 16  # rows, dimensions, layers: beyond it a slip of the keyboard, not a small model
MASKS = (0.01, 0.99)  # least and largest share of the tokens that a masked model has to guess


class Schedule(Protocol):
    """What every run is told, whatever it trains."""

    @property
    def steps(self) -> int:
        """Optimiser steps in all."""
        ...

    @property
    def seed(self) -> int:
        """Of every batch."""
        ...

    @property
    def n_positions(self) -> int:
        """Rows of the position table."""
        ...

    @property
    def batch_size(self) -> int:
        """Sequences a step."""
        ...

    @property
    def learning_rate(self) -> float:
        """Of AdamW, reached after :attr:`warm_up` steps."""
        ...

    @property
    def weight_decay(self) -> float:
        """Of AdamW."""
        ...

    @property
    def warm_up(self) -> int:
        """Steps until the full learning rate."""
        ...

    @property
    def text(self) -> str | None:
        """Path of a text of somebody's own."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name, ready for JSON."""
        ...


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """One training run, complete: the same configuration and thread count give the same bits.

    Parameters
    ----------
    task : key of TASKS
    steps : int
        Optimiser steps in all. Nothing else depends on it, so a longer run passes through the
        states of a shorter one.
    seed : int
        Of the initial weights and of every batch.
    n_positions, d_model, n_layers, n_heads : int
        Rows and dimensions of the position table; blocks, and attention heads in each.
    sequence_length : int
        Positions a training sequence fills; at most ``n_positions``. Rows beyond are never seen.
    batch_size : int
        Sequences a step.
    learning_rate, weight_decay : float
        Of AdamW. The rate climbs over ``warm_up`` steps and then stays.
    warm_up : int
        Steps until the full learning rate.
    token_scale, table_scale, weight_scale : float
        Standard deviations of the initial token table, position table and linear layers.
    mask : float
        Share of symbols a masked task hides, strictly between 0 and 1.
    lag : int
        How many places back ``copy`` looks.
    text : str or None
        Path of a text for the character tasks; None is the standard library's documentation.
    table : key of TABLE_KINDS
        ``learned``, ``sinusoidal``, ``frozen`` or ``none``.

    Raises
    ------
    TrainingError
        A value outside what can be trained, each in one sentence.
    """

    task: str
    steps: int
    seed: int = 0
    n_positions: int = 64
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    sequence_length: int = 64
    batch_size: int = 32
    learning_rate: float = 5e-3
    weight_decay: float = 0.01
    warm_up: int = 50
    token_scale: float = 0.02
    table_scale: float = 0.02
    weight_scale: float = 0.02
    mask: float = 0.5
    lag: int = 5
    text: str | None = None
    table: str = "learned"

    def __post_init__(self) -> None:
        from posviz.training.positions import TABLE_KINDS
        from posviz.training.tasks import TASKS

        check_choice("task", self.task, TASKS)
        check_choice("table", self.table, TABLE_KINDS)
        for name in ("n_positions", "d_model", "n_layers", "n_heads"):
            check_between(name, getattr(self, name), 1, LARGEST)
        check_between("sequence_length", self.sequence_length, 2, self.n_positions)
        check_schedule(self)
        for name in ("token_scale", "weight_scale"):
            check_between(name, getattr(self, name), 1e-12, 1e6)
        check_between("table_scale", self.table_scale, 0.0, 1e6)
        check_between("mask", self.mask, *MASKS)
        if self.d_model % self.n_heads:
            raise TrainingError(
                f"d_model is shared evenly among the attention heads; {self.d_model} does not "
                f"divide by {self.n_heads}. Choose a multiple of {self.n_heads}."
            )

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> TrainConfig:
        """Settings as a run folder keeps them; names this version does not know are refused."""
        if cls is TrainConfig and "source" in settings:
            from posviz.training.finetune import FineTuneConfig

            return FineTuneConfig.from_dict(settings)
        return kept(cls, settings)


def kept(kind: type[Config], settings: Mapping[str, Any]) -> Config:
    """A configuration of a kind from what a run folder keeps.

    Raises
    ------
    TrainingError
        A name that this version does not know, or too few of them.
    """
    unknown = sorted(set(settings) - {field.name for field in fields(kind)})
    if unknown:
        raise TrainingError(
            f"The run has settings this version does not know: {', '.join(unknown)}. "
            f"Open it with the version of posviz that made it."
        )
    try:
        return kind(**settings)
    except TypeError as err:
        raise TrainingError("The run's settings are incomplete. Train it again.") from err


def default_config(task: str = "sticky-mlm", **settings: Any) -> TrainConfig:
    """The task's default run, with what the caller sets in place of its defaults.

    Settings given as None count as not given. ``sequence_length`` follows ``n_positions`` unless
    one of them is set otherwise.

    Raises
    ------
    TrainingError
        As :class:`TrainConfig`.
    """
    from posviz.training.tasks import TASKS

    check_choice("task", task, TASKS)
    given = {name: value for name, value in settings.items() if value is not None}
    merged = {**TASKS[task].defaults, **given}
    merged.setdefault("n_positions", TrainConfig.n_positions)
    if "sequence_length" not in given:
        merged["sequence_length"] = merged["n_positions"]
    return TrainConfig(task=task, **merged)


def check_schedule(config: Schedule) -> None:
    """Refuse what no run can be told, whatever its model; raises TrainingError."""
    check_between("batch_size", config.batch_size, 1, LARGEST)
    check_between("steps", config.steps, 0, 10**9)
    check_between("warm_up", config.warm_up, 0, 10**9)
    check_between("seed", config.seed, 0, 2**63 - 1)
    check_between("learning_rate", config.learning_rate, 1e-12, 1e6)
    check_between("weight_decay", config.weight_decay, 0.0, 1e6)


def check_choice(name: str, value: str, choices: Mapping[str, object]) -> None:
    """Refuse a setting that is none of its choices; raises TrainingError."""
    if value not in choices:
        raise TrainingError(f"{name} is one of {', '.join(choices)}; {value!r} is none of them.")


def check_between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a setting out of its range; raises TrainingError."""
    # NaN fails both comparisons, so it lands here as well.
    if not low <= value <= high:
        option = name.replace("_", "-")
        raise TrainingError(f"{option} lies between {low:g} and {high:g}; {value:g} was given.")
