"""``posviz train``: train a small transformer on a small task and keep its table as it forms."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.cli.command import Command, LazyKeys
from posviz.cli.output import Answer, columns, complain, number
from posviz.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from posviz.training.config import TrainConfig
    from posviz.training.engine import Progress
    from posviz.training.finetune import FineTuneConfig

_SETTINGS: dict[str, tuple[type, str, str]] = {  # option: type, placeholder, help
    "steps": (int, "N", "optimiser steps in all (default: those of the task's own run)"),
    "seed": (int, "S", "of the initial weights and of every batch (default 0)"),
    "n-positions": (int, "L", "rows of the position table"),
    "d-model": (int, "D", "dimensions of the position table"),
    "sequence-length": (int, "K", "positions a training sequence fills, at most L"),
    "learning-rate": (float, "R", "of AdamW"),
    "weight-decay": (float, "W", "of AdamW"),
    "table-scale": (float, "S", "standard deviation of the initial position table"),
    "token-scale": (float, "S", "standard deviation of the initial token table"),
    "mask": (float, "F", "share of symbols that a masked task hides"),
    "lag": (int, "K", "how many places back copy looks"),
    "text": (str, "FILE", "a text in UTF-8 for the character tasks (default: Python's own docs)"),
}


_FINE_TUNING = ("steps", "seed", "learning_rate", "weight_decay", "mask")  # what may be chosen


def _methods() -> Collection[str]:
    from posviz.interpolation import METHODS

    return METHODS


def _moving() -> Collection[str]:
    from posviz.training.finetune import MOVING

    return MOVING


def _tasks() -> Collection[str]:
    from posviz.training.tasks import TASKS

    return TASKS


def _tables() -> Collection[str]:
    from posviz.training.positions import TABLE_KINDS

    return TABLE_KINDS


def _configure(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--task",
        metavar="T",
        choices=LazyKeys(_tasks),
        help="what to learn: %(choices)s (default sticky-mlm)",
    )
    for name, (kind, placeholder, told) in _SETTINGS.items():
        options.add_argument(f"--{name}", metavar=placeholder, type=kind, help=told)
    options.add_argument(
        "--table",
        metavar="KIND",
        choices=LazyKeys(_tables),
        help="what fills the position table: %(choices)s (default learned)",
    )
    options.add_argument(
        "--from",
        dest="source",
        metavar="REF",
        help="fine-tune the table of a trained model, demo:NAME or run:NAME, at another length",
    )
    options.add_argument("--length", metavar="N", type=int, help="with --from: positions")
    options.add_argument(
        "--method",
        metavar="M",
        choices=LazyKeys(_methods),
        help="with --from: how new rows are made before they learn: %(choices)s (default linear)",
    )
    options.add_argument(
        "--only",
        dest="moving",
        metavar="ROWS",
        choices=LazyKeys(_moving),
        help="with --from: which rows may move: %(choices)s (default new)",
    )
    options.add_argument(
        "--resume", action="store_true", help="go on with the run in DIR, to N steps in all"
    )
    options.add_argument(
        "-o",
        "--out",
        metavar="DIR",
        type=Path,
        help="folder of the run (default: a new one where run:NAME finds it)",
    )


def _run(options: argparse.Namespace) -> Answer:
    import torch

    from posviz.training.engine import configure, summary, train
    from posviz.training.shelf import discard_empty, new_run_folder

    if options.resume and options.out is None:
        raise SettingError("--resume goes on with the run in a folder; name it with -o DIR.")
    torch.set_num_threads(1)  # the same bits on every machine; a small model gains nothing by more
    names = ["task", "table", *(name.replace("-", "_") for name in _SETTINGS)]
    given = {name: getattr(options, name) for name in names}
    if options.source is not None:
        config: TrainConfig = _fine_tuning(options, given)
    elif options.length is not None or options.method or options.moving:
        raise SettingError("--length, --method and --only belong to --from REF; give that too.")
    else:
        config = configure(options.out or "", resume=options.resume, **given)
    out = options.out or new_run_folder(_stem(config))
    try:
        with _stoppable() as stop:
            for now in train(config, out, resume=options.resume, stop=stop):
                if now.metrics is not None and not options.json:
                    complain(_line(now))
    finally:
        discard_empty(out)
    if now.step < config.steps:
        complain(f"step {now.step} is kept in {out}; --resume goes on from there.")
        raise KeyboardInterrupt
    told = summary(now, out)
    return Answer(told, _text(told))


def _fine_tuning(options: argparse.Namespace, given: dict[str, Any]) -> FineTuneConfig:
    """The run that ``--from`` asks for."""
    from posviz.training.finetune import fine_tune_config

    fixed = [name for name, value in given.items() if value is not None]
    fixed = [f"--{name.replace('_', '-')}" for name in fixed if name not in _FINE_TUNING]
    if fixed or options.resume:
        raise SettingError(
            f"--from goes on with a trained model, whose task and sizes stay; leave out "
            f"{', '.join(fixed) or '--resume'}."
        )
    if options.length is None:
        raise SettingError("--from needs --length N, the positions of the new table.")
    chosen = {name: given[name] for name in _FINE_TUNING}
    return fine_tune_config(
        options.source, options.length, method=options.method, moving=options.moving, **chosen
    )


def _stem(config: TrainConfig) -> str:
    from posviz.training.finetune import FineTuneConfig, run_name

    return run_name(config) if isinstance(config, FineTuneConfig) else config.task


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the step it falls in is finished and kept. A second one ends."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _line(now: Progress) -> str:
    loss = number((now.metrics or {}).get("loss"))
    left = "" if not now.seconds_left else f", {now.seconds_left:.0f} s left"
    speed = "" if now.steps_per_second is None else f", {now.steps_per_second:.0f} steps/s"
    return f"step {now.step} of {now.steps}, loss {loss}{speed}{left}"


def _text(told: dict[str, Any]) -> str:
    rows = [
        (name, _ranges(value) if isinstance(value, list) else number(value))
        for name, value in told.items()
        if name not in ("out", "step")
    ]
    return f"{told['out']}\n{columns(rows, indent='  ')}"


def _ranges(rows: list[list[int]]) -> str:
    """Stretches of rows in words: ``0, 48-63``, or ``none``."""
    words = [str(first) if first == last else f"{first}-{last}" for first, last in rows]
    return ", ".join(words) or "none"


COMMAND = Command("train a small model and keep its position table as it forms", _configure, _run)
