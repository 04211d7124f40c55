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
    """The text with Markdown's own characters taken literally: file names are not ours."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|<>~$:" else char for char in text)
