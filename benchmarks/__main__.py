"""``python -m benchmarks``: run the measurements and print them as one Markdown table."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import checkpoint, first_chart, imports, inside, numbers, opening, repaint, training
from benchmarks.measure import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.measure import Row

MEASUREMENTS: dict[str, Callable[[], Iterator[Row]]] = {
    "opening": opening.rows,
    "checkpoint": checkpoint.rows,
    "inside": inside.rows,
    "imports": imports.rows,
    "numbers": numbers.rows,
    "first-chart": first_chart.rows,
    "repaint": repaint.rows,
    "training": training.rows,
}
RESULTS = Path(__file__).with_name("results.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
    options = parser.parse_args()
    unknown = set(options.names) - set(MEASUREMENTS)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")

    found: list[Row] = []
    for name in options.names or MEASUREMENTS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        found.extend(MEASUREMENTS[name]())
    text = f"{markdown(found)}\n\n{_where()}\n"
    print(text, end="")
    if options.write:
        RESULTS.write_text(f"# Measured\n\n{text}\n{_HOW}", encoding="utf-8")


def _where() -> str:
    """The machine and the versions that the figures belong to."""
    libraries = ", ".join(
        f"{name} {version(name)}"
        for name in ("streamlit", "plotly", "numpy", "torch", "transformers")
    )
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}, {libraries}."
    )


_HOW = """
Medians; both sides of a line are measured in the same run and take turns. The ratio is posviz
over the other: below 1 is faster or smaller. `make bench` measures again on your machine.
"""

if __name__ == "__main__":
    main()
