"""How far a run is, in words and as a share; within a step too, where a step takes long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.training.job import Job


def share(job: Job) -> float:
    """From 0 to 1: the steps that were taken, with what of the next is read and learned."""
    done, now = float(job.progress.get("step", 0)), job.reading
    if now and not now["measures"]:
        done = float(now["step"] - 1 + (now["first"] - 1) / now["of"])
    return min(done / max(job.config.steps, 1), 1.0)


def told(job: Job) -> str:
    """Steps, speed and time left of a run that has begun; of a slow step, what it reads now."""
    now, part = job.progress, _part(job.reading)
    if not now:
        return f"Starting: {part or 'the training process loads its library'}."
    parts = [f"Step {now['step']:,} of {now['steps']:,}"]
    if speed := now.get("steps_per_second"):
        parts += [f"{speed:.{0 if speed >= 10 else 1}f} steps a second"]
    if (left := now.get("seconds_left")) is not None:
        parts += [f"{math.ceil(left)} s left" if left < 120 else f"{left / 60:.0f} min left"]
    return " · ".join(filter(None, [*parts, part]))


def _part(now: Mapping[str, Any]) -> str:
    """What a step that reads its sequences in parts reads now; empty for one that does not."""
    if not now:
        return ""
    first, last, of = now["first"], now["last"], now["of"]
    which = f"sequence {first:,}" if first == last else f"sequences {first:,} to {last:,}"
    does = "the loss is measured on" if now["measures"] else f"step {now['step']:,} reads"
    return f"{does} {which} of {of:,}"
