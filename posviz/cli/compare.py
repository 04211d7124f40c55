"""``posviz compare``: whether two tables hold the same structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.cli.command import REF, Command, access
from posviz.cli.output import Answer, columns, number
from posviz.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from posviz.analysis.compare import Comparison


def _configure(options: argparse.ArgumentParser) -> None:
    for name in ("ref", "ref_b"):
        options.add_argument(name, metavar="REF", help=REF)
    options.add_argument(
        "--parameter",
        metavar="NAME",
        action="append",
        default=[],
        help="which table, where there are several; given twice, one for each REF",
    )


def _run(options: argparse.Namespace) -> Answer:
    from posviz import sources
    from posviz.analysis.compare import compare

    names = options.parameter or [None]
    if len(names) > 2:
        raise SettingError("--parameter is given at most twice, once for each table.")
    a = sources.load(options.ref, parameter=names[0], access=access())
    b = sources.load(options.ref_b, parameter=names[-1], access=access())
    result = compare(a, b)
    refs = {"ref": options.ref, "ref_b": options.ref_b}
    return Answer({**refs, **result.as_dict()}, _text(options.ref, options.ref_b, result))


def _text(ref: str, ref_b: str, result: Comparison) -> str:
    angles = result.principal_angles
    alike = [
        ("cka", number(result.cka), f"shuffled rows reach {number(result.cka_null)}"),
        ("procrustes", number(result.procrustes), "0 is the same shape"),
        (
            "principal angles",
            "-" if angles is None else ", ".join(f"{angle:.0f}°" for angle in angles),
            "the widths differ" if angles is None else "0° is a shared direction",
        ),
    ]
    rows = [(name, number(value), number(result.b.get(name))) for name, value in result.a.items()]
    return "\n".join(
        [
            f"{ref} and {ref_b}: {result.rows_compared} positions compared",
            columns(alike, indent="  "),
            columns([("", ref, ref_b), *rows], indent="  "),
        ]
    )


COMMAND = Command("compare two tables, position by position", _configure, _run)
