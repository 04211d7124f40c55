"""A training run in its own process: ``python -m posviz.training.worker``.

The parent writes one line of JSON to standard input, ``{"config": …, "out": …, "resume": …}``,
and keeps it open; when it closes, by a stop or because the parent is gone, the run keeps a last
snapshot and ends. Each line of JSON on standard output has an ``event``: ``progress`` with the
numbers of :class:`posviz.training.engine.Progress` (``metrics`` when a snapshot was written), and
within a step that reads its sequences in parts ``reading`` with which of them come next; then
``done``, ``stopped`` or ``failed`` with a ``message``.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from posviz.errors import PosvizError
from posviz.processes import leave, say, take_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.training.loop import Trainer

_NO_ROOM = (
    "This machine has too little memory for the model at this length. Choose a shorter length, or "
    "a smaller model."
)
_BETWEEN_LINES = 0.1  # seconds; a page that redraws twice a second needs no more


def main(make: Callable[[Any], Trainer] | None = None) -> None:
    """Train as the parent asks, and say how it goes.

    Parameters
    ----------
    make : function (configuration) -> Trainer, or None
        As of :func:`posviz.training.engine.train`; None for models of posviz.
    """
    stopped = threading.Event()
    order = take_order(stopped.set)
    try:
        _train(order, stopped, make)
    except PosvizError as err:
        say("failed", message=str(err))
    except MemoryError:
        say("failed", message=_NO_ROOM)
    except BrokenPipeError:  # the parent is gone; the run folder has everything
        pass
    leave()


def _train(
    order: dict[str, Any], stopped: threading.Event, make: Callable[[Any], Trainer] | None
) -> None:
    import torch

    from posviz.training.engine import train
    from posviz.training.finetuner import trainer_of
    from posviz.training.pretrained import PretrainedConfig, config_of

    config = config_of(order["config"])
    if not isinstance(config, PretrainedConfig):
        torch.set_num_threads(1)  # one core for training, and the same bits on every machine
    last, out, resume = 0.0, order["out"], order["resume"]
    hears = partial(say, "reading")
    for now in train(
        config, out, resume=resume, stop=stopped.is_set, make=make or trainer_of, reading=hears
    ):
        if now.metrics is None and time.monotonic() - last < _BETWEEN_LINES:
            continue
        last = time.monotonic()
        say(
            "progress",
            step=now.step,
            steps=now.steps,
            batch_loss=now.batch_loss,
            steps_per_second=now.steps_per_second,
            seconds_left=now.seconds_left,
            seconds=now.seconds,
            metrics=now.metrics,
        )
    say("stopped" if now.step < now.steps else "done")


if __name__ == "__main__":
    main()
