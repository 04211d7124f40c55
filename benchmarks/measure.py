"""The few tools that every measurement shares: medians, fresh processes, one row of the table."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROJECT = Path(__file__).resolve().parents[1]
_NOT_COMPILED = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Row:
    """One line of the table: posviz, what it is held against, and what was to be reached.

    Parameters
    ----------
    what : str
    ours : float
        In `unit`; smaller is better.
    beside : str
        What posviz is held against.
    theirs : float
        In `unit`, measured in the same run.
    unit : str
    reach : str
        The target in words, empty without one.
    """

    what: str
    ours: float
    beside: str
    theirs: float
    unit: str = "ms"
    reach: str = ""

    def cells(self) -> tuple[str, ...]:
        """The line as text: both figures and how many times the other posviz takes."""
        ratio = f"{self.ours / self.theirs:.2g} ×" if self.theirs else ""
        theirs = f"{self.theirs:,.4g} {self.unit}" if self.theirs else ""
        return (self.what, f"{self.ours:,.4g} {self.unit}", self.beside, theirs, ratio, self.reach)


def milliseconds(
    functions: Sequence[Callable[[], Any]], *, rounds: int = 4, in_a_row: int = 3
) -> list[float]:
    """Median wall time of each function.

    They take turns, so that a busy moment of the machine falls on all of them, each a few times
    in a row, so that one does not run on caches that the other has emptied. A round before the
    clock starts warms up; the garbage collector rests, as in ``timeit``.
    """
    times: list[list[float]] = [[] for _ in functions]
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for function, taken in zip(functions, times, strict=True):
                for _ in range(in_a_row if turn else 1):
                    start = time.perf_counter()
                    function()
                    if turn:
                        taken.append(1000 * (time.perf_counter() - start))
    finally:
        gc.enable()
    return [statistics.median(taken) for taken in times]


@dataclass(frozen=True)
class Fresh:
    """A program run in a process of its own: wall time, imports included, and peak memory."""

    milliseconds: float
    mebibytes: float
    answer: Any


# ru_maxrss is kilobytes on Linux, bytes on macOS. On Linux it starts from the parent's size,
# kept over exec, so the kernel's own high-water mark of this process is read where there is one.
_EPILOGUE = """
import json as _json, pathlib as _path, resource as _res, sys as _sys
_status = _path.Path("/proc/self/status")
if _status.exists():
    _lines = dict(l.split(":", 1) for l in _status.read_text().splitlines() if ":" in l)
    _peak = int(_lines["VmHWM"].split()[0]) / 1024
else:
    _peak = _res.getrusage(_res.RUSAGE_SELF).ru_maxrss / 2**20
print(_json.dumps([_peak, globals().get("answer")]))
"""


def fresh(program: str, *, repeats: int = 5) -> Fresh:
    """Run a program `repeats` times, each in a new process; medians.

    Once more before, uncounted: Python then keeps our modules compiled, as an installer did with
    those of the libraries. The program may leave something JSON can hold in a global named
    ``answer``.
    """
    times, peaks, answer = [], [], None
    compiled = {key: value for key, value in os.environ.items() if key != _NOT_COMPILED}
    for _ in range(repeats + 1):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", program + _EPILOGUE],
            cwd=PROJECT,
            env=compiled,
            capture_output=True,
            text=True,
            check=False,
        )
        times.append(1000 * (time.perf_counter() - start))
        if done.returncode:
            raise RuntimeError(done.stderr)
        peak, answer = json.loads(done.stdout.splitlines()[-1])
        peaks.append(peak)
    return Fresh(statistics.median(times[1:]), statistics.median(peaks[1:]), answer)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ("measured", "posviz", "beside it", "", "ratio", "to reach")
    lines = [head, ("---",) * len(head), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
