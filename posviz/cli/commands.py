"""The commands there are. Adding one is a module with its `COMMAND` and a line in COMMANDS."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from posviz.cli import analyze, compare, extend, inspect, presets, train

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.cli.command import Command

COMMANDS: dict[str, Command] = {
    "inspect": inspect.COMMAND,
    "analyze": analyze.COMMAND,
    "compare": compare.COMMAND,
    "extend": extend.COMMAND,
    "train": train.COMMAND,
    "presets": presets.COMMAND,
}


def parser() -> argparse.ArgumentParser:
    """The grammar of the whole command line."""
    root = argparse.ArgumentParser(
        prog="posviz",
        description="A microscope for position-embedding tables: find, measure, stretch.",
        epilog="REF is a path, hub:OWNER/NAME, a preset such as gpt2, demo:gpt-mini, "
        "sinusoidal:512x64 or random:512x64. Start the dashboard with: streamlit run app.py",
        allow_abbrev=False,
    )
    choose = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        options = choose.add_parser(
            name, help=command.summary, description=command.summary, allow_abbrev=False
        )
        command.configure(options)
        options.add_argument(
            "--json", action="store_true", help="print one JSON object and nothing else"
        )
    return root


def parse(argv: Sequence[str] | None) -> tuple[Command, argparse.Namespace]:
    """The command chosen and its options; wrong usage ends the program with code 2."""
    options = parser().parse_args(argv)
    return COMMANDS[options.command], options
