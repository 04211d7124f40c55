"""Work in a process of its own: one order goes in, a line of JSON comes out for each event.

Both ends are here. A server calls :func:`start`, then :func:`follow`, and :func:`end` to stop it;
the worker calls :func:`take_order`, :func:`say` for each event, and :func:`leave`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ERRORS = 20  # last lines of a worker's error output that are kept
_NICE = 10  # a worker gives way to the pages


def share_cores() -> None:
    """Have PyTorch's threads sleep while they wait, in this process and all that it starts.

    They spin otherwise, and a browser, another visitor or the pages share the cores: on two busy
    ones, two threads then took twice to four times as long as one. Read when PyTorch is first
    imported; whoever runs the server may have set ``OMP_WAIT_POLICY`` otherwise.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def start(command: Sequence[str], order: Mapping[str, Any]) -> subprocess.Popen[str]:
    """A worker that has been given its order; closing its standard input asks it to stop.

    Raises
    ------
    OSError
        The process cannot be started, or is gone before it has its order.
    """
    share_cores()
    process = subprocess.Popen(  # noqa: S603 our own module, nothing typed by anybody
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    return process


def follow(
    process: subprocess.Popen[str], heard: Callable[[dict[str, Any]], None]
) -> tuple[int, str]:
    """Hand each event of a worker to ``heard`` until it has ended.

    Returns
    -------
    code : int
        Its exit code, negative for a signal.
    cause : str
        The last line of its error output, else its exit code in words.
    """
    errors: deque[str] = deque(maxlen=_ERRORS)
    assert process.stdout is not None
    assert process.stderr is not None
    reader = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
    reader.start()
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:  # cut off by a kill
            continue
        heard(event)
    code = process.wait()
    reader.join()
    for stream in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError, AttributeError):
            stream.close()  # type: ignore[union-attr]
    return code, errors[-1].strip() if errors else f"exit code {code}"


def end(process: subprocess.Popen[str], patience: float) -> None:
    """Ask a worker to leave, and kill it if it has not after so many seconds."""
    with suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()


def take_order(stop: Callable[[], None]) -> dict[str, Any]:
    """In a worker: what the parent asks for; ``stop`` is called when it wants no more, or is gone.

    The process gives way to all others from here on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent
    if hasattr(os, "nice"):
        os.nice(_NICE)
    order: dict[str, Any] = json.loads(sys.stdin.readline())

    def watch() -> None:
        # The bare descriptor: a thread inside sys.stdin's lock would break the interpreter's exit.
        while os.read(0, 1024):
            pass
        stop()

    threading.Thread(target=watch, daemon=True).start()
    return order


def say(event: str, **values: Any) -> None:
    """In a worker: tell the parent of an event; BrokenPipeError when it is gone."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def leave() -> NoReturn:
    """In a worker: end at once. Taking torch down in good order takes longer than a stop may."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
