"""``posviz analyze``: every number of one table, each beside its nulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.cli.command import Command, access, add_ref
from posviz.cli.output import Answer, columns, number
from posviz.wording import count, counted

if TYPE_CHECKING:
    import argparse

    from posviz.analysis.summary import Analysis


def _configure(options: argparse.ArgumentParser) -> None:
    add_ref(options)
    options.add_argument(
        "--exclude-special", action="store_true", help="leave out the rows listed as special"
    )


def _run(options: argparse.Namespace) -> Answer:
    from posviz import sources
    from posviz.analysis.summary import analyze

    table = sources.load(options.ref, parameter=options.parameter, access=access())
    analysis = analyze(table, exclude_special=options.exclude_special)
    # The person's own words for the table, whatever the sources made of them.
    return Answer({**analysis.as_dict(), "ref": options.ref}, _text(options.ref, analysis))


def _text(ref: str, analysis: Analysis) -> str:
    nulls = analysis.nulls.values()
    rows = [
        (name, number(value), *(number(null.scalars.get(name)) for null in nulls))
        for name, value in analysis.scalars().items()
    ]
    drawn = (f"{null.key} ({null.repeats})" if null.repeats > 1 else null.key for null in nulls)
    shape = f"{counted(analysis.n_positions, 'position')} × {count(analysis.d_model)}"
    parts = [
        f"{ref}: {shape}, {counted(analysis.rows_used, 'row')} used",
        columns([("", "table", *drawn), *rows], indent="  "),
    ]
    parts += [
        f"Row {row.position} is special (norm {number(row.norm)}): {row.reason}"
        for row in analysis.special_rows
    ]
    return "\n".join([*parts, *(sentence.text for sentence in analysis.verdict)])


COMMAND = Command("measure one table, each number beside its nulls", _configure, _run)
