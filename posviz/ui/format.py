"""Numbers as a person reads them: one way for the whole dashboard."""

from __future__ import annotations

from collections.abc import Sequence

ABSENT = "–"


def percent(share: float | None, *, digits: int = 1) -> str:
    """A share of one as a percentage with a thin space: 0.904 is ``90.4 %``."""
    return ABSENT if share is None else f"{100 * share:.{digits}f} %"


def decimal(value: float | None, *, digits: int = 3) -> str:
    """A number with a fixed count of decimals and a true minus sign."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    zero = text.lstrip("-").strip("0.") == ""
    return text.lstrip("-") if zero else text.replace("-", "−")


def count(value: int | None) -> str:
    """A whole number with commas: ``1,024``."""
    return ABSENT if value is None else f"{value:,}"


def data_size(size: int) -> str:
    """Bytes in decimal units, as files are advertised: ``3.15 MB``."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size:,} bytes"


def listed(items: Sequence[int], *, most: int = 6) -> str:
    """A few whole numbers in words: ``0 and 1023``, or ``1, 2, 3 and 40 more``."""
    words = [str(item) for item in items[:most]]
    if len(items) > most:
        return f"{', '.join(words)} and {len(items) - most} more"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))


def literal(text: str) -> str:
    """The text with Markdown's own characters taken literally: file names are not ours."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|<>~$:" else char for char in text)
