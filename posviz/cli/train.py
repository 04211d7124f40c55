"""``posviz train``: train a small transformer on a small task and keep its table as it forms."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.cli.command import Command, LazyKeys, access, grids, methods
from posviz.cli.output import Answer, columns, complain, number
from posviz.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from posviz.training.config import TrainConfig
    from posviz.training.engine import Progress
    from posviz.training.finetune import FineTuneConfig
    from posviz.training.pretrained import PretrainedConfig

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


_FINE_TUNING = ("steps", "seed", "learning_rate", "weight_decay", "mask", "text")  # may be chosen
_LAST_SNAPSHOT = 1.5  # seconds that a stop waits for the step under way


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
        help="fine-tune the table of a model at another length: demo:NAME, run:NAME, or the "
        "folder of a causal or masked model that transformers opens",
    )
    options.add_argument("--length", metavar="N", type=int, help="with --from: positions")
    options.add_argument(
        "--method",
        metavar="M",
        choices=LazyKeys(methods),
        help="with --from: how new rows are made before they learn: %(choices)s (default linear)",
    )
    options.add_argument(
        "--grid",
        metavar="G",
        choices=LazyKeys(grids),
        help="with --from: where new positions lie among the old: %(choices)s "
        "(default align-corners)",
    )
    options.add_argument(
        "--keep", metavar="ROWS", help="with --from: positions kept as they are: 0, special"
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

    from posviz.model.tuner import trainer_of
    from posviz.training.engine import configure, summary, train
    from posviz.training.pretrained import PretrainedConfig
    from posviz.training.shelf import discard_empty, new_run_folder

    if options.resume and options.out is None:
        raise SettingError("--resume goes on with the run in a folder; name it with -o DIR.")
    names = ["task", "table", *(name.replace("-", "_") for name in _SETTINGS)]
    given = {name: getattr(options, name) for name in names}
    if options.source is not None:
        config: TrainConfig | PretrainedConfig = _fine_tuning(options, given)
    elif any(value is not None for value in (options.length, options.method, options.moving,
                                             options.grid, options.keep)):  # fmt: skip
        raise SettingError(
            "--length, --method, --grid, --keep and --only belong to --from REF; give that too."
        )
    else:
        config = configure(options.out or "", resume=options.resume, **given)
    if not isinstance(config, PretrainedConfig):
        torch.set_num_threads(1)  # the same bits everywhere; a small model gains nothing by more
    out = options.out or new_run_folder(_stem(config))
    make = partial(trainer_of, access=access())
    try:
        with _stoppable(out) as stop:
            for now in train(config, out, resume=options.resume, stop=stop, make=make):
                if now.metrics is not None and not options.json:
                    complain(_line(now))
    finally:
        discard_empty(out)
    if now.step < config.steps:
        complain(f"step {now.step} is kept in {out}; --resume goes on from there.")
        raise KeyboardInterrupt
    told = summary(now, out)
    return Answer(told, _text(told))


def _fine_tuning(
    options: argparse.Namespace, given: dict[str, Any]
) -> FineTuneConfig | PretrainedConfig:
    """The run that ``--from`` asks for."""
    from posviz.model.tuning import tuning_config
    from posviz.training.finetune import FineTuneConfig

    chosen = {name: given[name] for name in _FINE_TUNING}
    fixed = [name for name, value in given.items() if value is not None and name not in chosen]
    if fixed or options.resume:
        raise _left_out([*fixed, *(["resume"] if options.resume else [])])
    if options.length is None:
        raise SettingError("--from needs --length N, the positions of the new table.")
    config = tuning_config(
        options.source, options.length, access=access(), method=options.method, grid=options.grid,
        keep=options.keep, moving=options.moving, **chosen,
    )  # fmt: skip
    if isinstance(config, FineTuneConfig) and given["text"] is not None:
        raise _left_out(["text"])
    return config


def _left_out(names: list[str]) -> SettingError:
    options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    return SettingError(
        f"--from goes on with a trained model, whose task and sizes stay; leave out {options}."
    )


def _stem(config: TrainConfig | PretrainedConfig) -> str:
    from posviz.training.finetune import FineTuneConfig, run_name
    from posviz.training.pretrained import PretrainedConfig

    if isinstance(config, FineTuneConfig | PretrainedConfig):
        return run_name(config.source, config.n_positions)
    return config.task


@contextmanager
def _stoppable(out: Path) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the step it falls in is kept, unless it takes too long.

    A step of a large model is one call into torch that nothing interrupts, so the process ends
    without it; the folder of the run is whole at every moment.
    """
    asked: list[threading.Timer] = []

    def end() -> None:
        from posviz.training.shelf import discard_empty

        discard_empty(out)
        if out.exists():
            complain(f"what was kept before this step is in {out}; --resume goes on from there.")
        os._exit(130)

    def ask(*_: object) -> None:
        asked.append(threading.Timer(_LAST_SNAPSHOT, end))
        asked[-1].daemon = True
        asked[-1].start()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: bool(asked)
    finally:
        for timer in asked:
            timer.cancel()
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
