"""``posviz presets``: the short names of well-known Hub models."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from posviz.cli.command import Command
from posviz.cli.output import Answer, columns

if TYPE_CHECKING:
    import argparse


def _configure(options: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def _run(options: argparse.Namespace) -> Answer:
    from posviz.sources import PRESETS

    rows = [
        (preset.name, f"{preset.n_positions} × {preset.d_model}", preset.family, preset.ref)
        for preset in PRESETS.values()
    ]
    listed = columns([("name", "table", "family", "opens"), *rows])
    return Answer({"presets": [asdict(preset) for preset in PRESETS.values()]}, listed)


COMMAND = Command("list the short names of well-known models", _configure, _run)
