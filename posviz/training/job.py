"""One training run of a server, from the queue to its end, and what became of it."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from posviz.training.config import Schedule

State = Literal["queued", "running", "done", "stopped", "failed"]

_HISTORY = 2000  # points of the loss curve that are kept


@dataclass(eq=False)
class Job:
    """One run; only :class:`posviz.training.jobs.Jobs` writes its fields.

    Parameters
    ----------
    id : str
        Cannot be guessed: whoever knows it may watch the run.
    owner : str
        The visitor who started it, in however many tabs; a secret, unlike the id.
    config : TrainConfig or PretrainedConfig
    out : Path
        The run folder.
    resume : bool
    state : {"queued", "running", "done", "stopped", "failed"}
    message : str or None
        Why it failed, or why it was stopped by none of its visitors, in a sentence.
    progress : mapping
        The worker's last ``progress`` line; empty before the first.
    reading : mapping
        Its last ``reading`` line since then; empty without one.
    history : deque of (step, batch loss in nats)
    ending : mapping
        The worker's last word; empty while it has none.
    last_seen : float
        When its owner was last known to be here, in seconds of the monotonic clock.
    why : str or None
        The message to come, of a run that is being stopped.
    """

    id: str
    owner: str
    config: Schedule
    out: Path
    resume: bool
    state: State = "queued"
    message: str | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    history: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    last_seen: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[str] | None = None
    stopping: bool = False
    why: str | None = None
    ending: dict[str, Any] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    def touch(self) -> None:
        """Say that somebody is watching."""
        self.last_seen = time.monotonic()

    def hear(self, event: dict[str, Any]) -> None:
        """Take up what the worker says."""
        if event["event"] == "reading":
            self.reading = event
            return
        if event["event"] != "progress":
            self.ending = event
            return
        if event["batch_loss"] is not None:
            self.history.append((event["step"], event["batch_loss"]))
        self.progress, self.reading = event, {}

    def end(self, code: int, cause: str) -> None:
        """Settle what became of the run, now that its worker has ended: see ``follow``."""
        self.process = None
        said = self.ending.get("event")
        if said == "done":
            self.state = "done"
        elif said == "failed":
            self.state, self.message = "failed", self.ending["message"]
        elif said == "stopped" or self.stopping:  # the latter: ended, since it took too long
            self.state, self.message = "stopped", self.why
        else:
            self.state = "failed"
            self.message = (
                f"The training process ended by itself ({cause}). The snapshots so far are kept; "
                f"resume the run to go on."
            )
