"""One training run of a server, from the queue to its end, and what became of it."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.training.config import TrainConfig

State = Literal["queued", "running", "done", "stopped", "failed"]

_HISTORY = 2000  # points of the loss curve that are kept


@dataclass(eq=False)
class Job:
    """One run; only :class:`posviz.training.jobs.Jobs` writes its fields.

    Parameters
    ----------
    id : str
        Cannot be guessed: whoever knows it may watch and stop the run.
    holders : set of str
        The visitor who started it, and whoever came with its id: another tab, or the same one
        after a refresh. Each may watch and stop it.
    config : TrainConfig
    out : Path
        The run folder.
    resume : bool
    state : {"queued", "running", "done", "stopped", "failed"}
    message : str or None
        Why it failed, in a sentence.
    progress : mapping
        The worker's last ``progress`` line; empty before the first.
    history : deque of (step, batch loss in nats)
    """

    id: str
    holders: set[str]
    config: TrainConfig
    out: Path
    resume: bool
    state: State = "queued"
    message: str | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    history: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    last_seen: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[str] | None = None
    stopping: bool = False

    @property
    def alive(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    def touch(self) -> None:
        """Say that somebody is watching."""
        self.last_seen = time.monotonic()


def outcome(
    job: Job, ending: dict[str, Any], code: int, errors: Sequence[str]
) -> tuple[State, str | None]:
    """State and message at the end of a worker, from its last word, exit code and error output."""
    event = ending.get("event")
    if event == "failed":
        return "failed", ending["message"]
    if event in ("done", "stopped"):
        return event, None
    if job.stopping:  # it took longer than the grace and was ended
        return "stopped", None
    cause = errors[-1].strip() if errors else f"exit code {code}"
    return "failed", (
        f"The training process ended by itself ({cause}). The snapshots so far are kept; "
        f"resume the run to go on."
    )
