"""Experiments worth a click: what to change in a run, and what to look for when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Experiment:
    """One change against the default run.

    Parameters
    ----------
    label : str
        For a button.
    question : str
        What the two runs, seen side by side, answer.
    settings : mapping
        Settings of TrainConfig; everything else is as in the task's default run.
    """

    label: str
    question: str
    settings: Mapping[str, Any]


EXPERIMENTS: dict[str, Experiment] = {
    "default": Experiment(
        "The default run",
        "Random rows become an ordered curve: the run to hold all others against.",
        {"task": "sticky-mlm"},
    ),
    "large-start": Experiment(
        "A large initial scale",
        "Does a table that starts large become a curve? The task is solved as well, and the curve "
        "stays hidden among the random directions that nothing took away.",
        {"task": "sticky-mlm", "table_scale": 0.3},
    ),
    "small-start": Experiment(
        "A small initial scale",
        "How smooth is a table that starts near zero? What looks like jitter along a learned "
        "curve is mostly its own beginning.",
        {"task": "sticky-mlm", "table_scale": 0.002},
    ),
    "weight-decay": Experiment(
        "Strong weight decay",
        "What does decay take away? Rows grow shorter than in the default run, and the loss "
        "pays for it.",
        {"task": "sticky-mlm", "weight_decay": 1.0},
    ),
    "copy": Experiment(
        "Another task: copy from five back",
        "Is a smooth table needed? This task is solved almost perfectly by one that never "
        "becomes an ordered curve.",
        {"task": "copy"},
    ),
    "short-sequences": Experiment(
        "Sequences half as long as the table",
        "What of the rows that no sequence reaches? They get no gradient: their direction "
        "stays random, and only decay touches them.",
        {"task": "sticky-mlm", "sequence_length": 32},
    ),
    "sinusoidal": Experiment(
        "Sinusoidal instead of learned",
        "Does the model need to learn its table? Fixed waves serve this task as well as the "
        "learned curve does.",
        {"task": "sticky-mlm", "table": "sinusoidal"},
    ),
    "none": Experiment(
        "No positions at all",
        "What is a position table worth? Without one a model that sees both sides cannot tell "
        "a near letter from a far one, and its loss stays high.",
        {"task": "sticky-mlm", "table": "none"},
    ),
}
