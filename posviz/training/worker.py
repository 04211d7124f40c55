"""A training run in its own process: ``python -m posviz.training.worker``.

The parent writes one line of JSON to standard input, ``{"config": …, "out": …, "resume": …}``,
and keeps it open; when it closes, by a stop or because the parent is gone, the run keeps a last
snapshot and ends. Each line of JSON on standard output has an ``event``: ``progress`` with the
numbers of :class:`posviz.training.engine.Progress` (``metrics`` when a snapshot was written),
then ``done``, ``stopped`` or ``failed`` with a ``message``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from posviz.errors import PosvizError

_BETWEEN_LINES = 0.1  # seconds; a page that redraws twice a second needs no more


def _say(event: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **values}, allow_nan=False) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Train as the parent asks, and say how it goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent
    if hasattr(os, "nice"):
        os.nice(10)  # the pages stay quick
    order = json.loads(sys.stdin.readline())
    stopped = threading.Event()

    def watch() -> None:
        # The bare descriptor: a thread inside sys.stdin's lock would break the interpreter's exit.
        while os.read(0, 1024):
            pass
        stopped.set()

    threading.Thread(target=watch, daemon=True).start()
    try:
        _train(order, stopped)
    except PosvizError as err:
        _say("failed", message=str(err))
    except BrokenPipeError:  # the parent is gone; the run folder has everything
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _train(order: dict[str, Any], stopped: threading.Event) -> None:
    import torch

    from posviz.training.config import TrainConfig
    from posviz.training.engine import train

    torch.set_num_threads(1)  # one core for training, and the same bits on every machine
    config = TrainConfig.from_dict(order["config"])
    last = 0.0
    for now in train(config, order["out"], resume=order["resume"], stop=stopped.is_set):
        if now.metrics is None and time.monotonic() - last < _BETWEEN_LINES:
            continue
        last = time.monotonic()
        _say(
            "progress",
            step=now.step,
            steps=now.steps,
            batch_loss=now.batch_loss,
            steps_per_second=now.steps_per_second,
            seconds_left=now.seconds_left,
            seconds=now.seconds,
            metrics=now.metrics,
        )
    _say("stopped" if now.step < now.steps else "done")


if __name__ == "__main__":
    main()
