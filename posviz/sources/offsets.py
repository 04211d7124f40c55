"""Leading rows of a table that no position uses: by family and config, else by the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.sources import configs, ownnames

if TYPE_CHECKING:
    from posviz.sources import values
    from posviz.sources.suspects import Suspect


def leading_rows(suspect: Suspect, look: values.Look | None) -> tuple[int, str | None]:
    """Leading rows that no position uses, and why they are there.

    Parameters
    ----------
    suspect : Suspect
    look : Look or None
        What its numbers show, if they were looked at.
    """
    offset, why = 0, None
    if suspect.known is not None:
        rule, _, default = suspect.known.offset.partition(":")
        if rule == "pad+1":
            stated = configs.value(suspect.chain, "pad_token_id")
            pad = int(default or 1)
            if type(stated) is int and 0 <= stated < suspect.n_rows - 1:
                pad = stated
            offset, why = pad + 1, f"positions count from pad_token_id + 1 = {pad + 1}"
        else:
            offset = int(rule)
            why = f"{suspect.known.family} adds {offset} to every position" if offset else None
    elif suspect.tower != "vision" and look is not None:
        offset, why = _guessed(suspect, look)
    return (offset, why) if offset < suspect.n_rows else (0, None)


def _guessed(suspect: Suspect, look: values.Look) -> tuple[int, str | None]:
    """Without a config: a few rows over a round number, and a zero padding row or OPT's name."""
    rows, name = suspect.n_rows, suspect.parts[0].name
    if len(suspect.parts[0].shape or ()) != 2 or _is_round(rows):
        return 0, None
    for offset in (2, 1):
        usable = rows - offset
        if usable < 64 or not _is_round(usable):
            continue
        padding = offset - 1
        certain = padding or (len(look.zero_rows) == 1 and ownnames.speaks_of_positions(name))
        if padding in look.zero_rows and certain:
            return offset, f"row {padding} is a padding row of zeros before {usable:,} positions"
        if offset == 2 and "embed_positions" in name:
            return 2, f"no config says so, but {usable:,} + 2 rows is how BART and OPT count"
    return 0, None


def _is_round(length: int) -> bool:
    """Whether people choose such a length."""
    return length % 8 == 0 or length % 100 == 0
