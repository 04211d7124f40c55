"""``posviz inspect``: what is in a checkpoint, which tensor is its position table, and why."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from posviz.cli.command import Command, access, add_ref
from posviz.cli.output import Answer, columns, size
from posviz.wording import count, counted

if TYPE_CHECKING:
    import argparse

    from posviz.sources import Candidate, Checkpoint


def _run(options: argparse.Namespace) -> Answer:
    from posviz import sources

    with sources.open(options.ref, access=access()) as checkpoint:
        tables = checkpoint.tables
        if options.parameter is not None:
            picked = checkpoint.candidate(options.parameter)
            tables = (replace(picked, default=True),)
        data = {
            "ref": options.ref,
            "format": checkpoint.format,
            "model_type": checkpoint.model_type,
            "scheme": checkpoint.scheme,
            "message": checkpoint.message,
            "warnings": list(checkpoint.warnings),
            "notes": list(checkpoint.notes),
            "bytes_read": checkpoint.bytes_read,
            "requests": checkpoint.requests,
            "size": checkpoint.size,
            "tables": [asdict(table) for table in tables],
        }
        return Answer(data, _text(checkpoint, tables))


def _text(checkpoint: Checkpoint, tables: tuple[Candidate, ...]) -> str:
    read = size(checkpoint.bytes_read)
    if checkpoint.requests:
        read += f" in {checkpoint.requests} requests"
    facts = [
        ("format", checkpoint.format),
        ("model type", checkpoint.model_type or "not stated"),
        ("positions", checkpoint.scheme),
        ("read", f"{read} of {size(checkpoint.size)}"),
    ]
    parts = [checkpoint.ref, columns(facts, indent="  ")]
    parts += [_table(table) for table in tables]
    said = (checkpoint.message, *checkpoint.warnings, *checkpoint.notes)
    parts += [f"  {text}" for text in said if text]
    return "\n".join(parts)


def _table(table: Candidate) -> str:
    mark = "*" if table.default else " "
    shape = f"{counted(table.n_positions, 'position')} × {count(table.d_model)}"
    outside = [
        f"first position in row {table.row_offset}" if table.row_offset else "",
        f"grid {table.grid[0]} × {table.grid[1]}" if table.grid else "",
        f"{table.prefix_rows} prefix rows" if table.prefix_rows else "",
        f"{table.suffix_rows} suffix rows" if table.suffix_rows else "",
    ]
    layout = ", ".join(part for part in (shape, table.dtype, *outside) if part)
    return f"{mark} {table.parameter}  ({layout}; {table.file})\n    {table.reason}"


COMMAND = Command(
    "show what is in a checkpoint: which tensor is the position table, and why",
    add_ref,
    _run,
)
