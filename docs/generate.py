"""Writes the table of all numbers in methods.md from the one registry: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

METHODS = Path(__file__).with_name("methods.md")
START = "<!-- from posviz/analysis/definitions.py; make docs writes it again -->\n"
HEAD = (
    "number", "key", "formula", "centred", "range", "how to read it", "source",
    "random", "sinusoidal", "GPT-2",
)  # fmt: skip


def table() -> str:
    """Every definition as a line of a Markdown table, with its values on three tables."""
    from posviz.analysis.definitions import DEFINITIONS

    lines = [HEAD, ("---",) * len(HEAD)]
    for number in DEFINITIONS.values():
        values = number.values
        shown = (values.random, values.sinusoidal, values.trained) if values else (None,) * 3
        centred = {True: "yes", False: "no", None: "does not matter"}[number.centred]
        source = f"`{number.source}`" if number.source.endswith(".py") else number.source
        numbers = ("" if value is None else f"{value:g}" for value in shown)
        words = (number.formula, centred, number.range, number.reading, source)
        lines.append((number.label, f"`{number.key}`", *words, *numbers))
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "".join("| " + " | ".join(line) + " |\n" for line in escaped)


def written() -> str:
    """methods.md as it should be: what stands before the table, and the table."""
    before, found, _ = METHODS.read_text(encoding="utf-8").partition(START)
    assert found, f"{METHODS.name} has lost the line that says where the table begins"
    return before + START + table()


if __name__ == "__main__":
    sys.path.insert(0, str(METHODS.parents[1]))
    METHODS.write_text(written(), encoding="utf-8")
