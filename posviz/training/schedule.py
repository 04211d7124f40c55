"""When a snapshot is due: often at first, then ever more rarely, since tables form early."""

from __future__ import annotations

from collections.abc import Iterator


def next_due(step: int) -> int:
    """The step of the snapshot after the one at ``step``: 10 later at first, then 7 %."""
    return step + max(10, step * 7 // 100)


def scheduled_steps() -> Iterator[int]:
    """Steps at which a snapshot is due, from 0, without end."""
    step = 0
    while True:
        yield step
        step = next_due(step)
