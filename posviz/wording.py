"""Numbers as a person reads them: one way for sentences, figures and the dashboard.

Whole numbers have commas, negative ones a true minus sign, shares a space before the percent
sign, and what does not exist is a dash.
"""

from __future__ import annotations

from collections.abc import Sequence

ABSENT = "–"


def percent(share: float | None, *, digits: int = 1) -> str:
    """A share of one as a percentage: 0.904 is ``90.4 %``."""
    return ABSENT if share is None else signed(f"{100 * share:.{digits}f} %")


def decimal(value: float | None, *, digits: int = 3) -> str:
    """A number with a fixed count of decimals: ``−0.866``; never a minus before zero."""
    if value is None:
        return ABSENT
    text = f"{value:,.{digits}f}"
    zero = text.lstrip("-").strip("0.") == ""
    return text.lstrip("-") if zero else signed(text)


def significant(value: float | int | None, *, figures: int = 3) -> str:
    """A number with so many figures that count: ``0.00312``, ``−0.391``, ``5,100``."""
    if value is None:
        return ABSENT
    if value and abs(value) >= 10**figures and abs(value) < 1e15:
        return signed(f"{float(f'{value:.{figures}g}'):,.0f}")
    return signed(f"{value:.{figures}g}")


def count(value: float | int | None) -> str:
    """A whole number with commas: ``1,024``."""
    return ABSENT if value is None else signed(f"{value:,.0f}")


def counted(number: int, noun: str) -> str:
    """A count with its noun, whose plural ends in s: ``1 row``, ``1,024 rows``."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def listed(items: Sequence[int], *, most: int = 6) -> str:
    """A few whole numbers in words: ``0 and 1,023``, or ``1, 2, 3 and 40 more``."""
    words = [count(item) for item in items[:most]]
    if len(items) > most:
        return f"{', '.join(words)} and {count(len(items) - most)} more"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))


def signed(text: str) -> str:
    """The text of a number with a true minus sign."""
    return text.replace("-", "−")
