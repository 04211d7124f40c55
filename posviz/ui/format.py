"""What the dashboard writes besides numbers, whose ways stand in :mod:`posviz.wording`."""

from __future__ import annotations

from posviz.wording import ABSENT, count, counted, decimal, listed, percent, significant

__all__ = [
    "ABSENT",
    "count",
    "counted",
    "data_size",
    "decimal",
    "listed",
    "literal",
    "percent",
    "significant",
]


def data_size(size: int) -> str:
    """Bytes in decimal units, as files are advertised: ``3.15 MB``."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size:,} bytes"


def literal(text: str) -> str:
    """The text with Markdown's own characters taken literally: file names are not ours.

    What does not print (control characters, halves of a character) is shown as �.
    """
    return "".join(map(_literal, text))


def _literal(char: str) -> str:
    if char in "\\`*_{}[]()#+!|<>~$:":
        return f"\\{char}"
    return char if char.isprintable() or char in "\n\u00a0\u2009\u202f" else "�"
