"""What a command says: one JSON object, or plain text for a person, and complaints on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

from posviz.errors import PosvizError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Answer:
    """The result of a command in both forms.

    Parameters
    ----------
    data : mapping
        The stable keys, JSON types only; a value that does not exist is None, never NaN.
    text : str
        The same for a person, in plain lines.
    """

    data: Mapping[str, Any]
    text: str


def show(answer: Answer, *, as_json: bool) -> None:
    """Write the answer to stdout and nothing else there.

    Raises
    ------
    PosvizError
        What stdout leads to takes no more (a full disk). A reader that has seen enough, as
        `head` has, is no error.
    """
    text = json.dumps(answer.data, allow_nan=False) if as_json else printable(answer.text)
    if sys.stdout is None:  # started with stdout closed: there is nobody to tell
        return
    _any_encoding(sys.stdout)
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
    except OSError as err:
        _abandon_stdout()
        raise PosvizError(f"the answer cannot be written: {err.strerror or err}.") from err


def complain(message: str) -> None:
    """One message on stderr, under the program's name."""
    if sys.stderr is None:
        return
    _any_encoding(sys.stderr)
    with contextlib.suppress(OSError):
        sys.stderr.write(printable(f"posviz: {message}") + "\n")


def flush() -> None:
    """Empty what is left of stdout (argparse's help), or the interpreter complains at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _abandon_stdout()


def _abandon_stdout() -> None:
    """Let what is still to be flushed go nowhere."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


def _any_encoding(stream: TextIO) -> None:
    """Spell out what the terminal's encoding does not have, × in ASCII say."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    r"""The text with control characters spelled out, so that no file can drive the terminal.

    >>> printable("wpe\x1b[2J")
    'wpe\\x1b[2J'
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def columns(rows: Iterable[Sequence[str]], *, indent: str = "") -> str:
    """Rows of text under each other; the last column is as wide as it likes.

    >>> print(columns([("a", "1"), ("long", "2")]))
    a     1
    long  2
    """
    table = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join(indent + line for line in lines)


def number(value: float | None, digits: int = 4) -> str:
    """A number to `digits` significant digits, an integer whole, and a dash for what is not.

    >>> number(0.90388), number(1024), number(None)
    ('0.9039', '1024', '-')
    """
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"


def size(n_bytes: int) -> str:
    """A number of bytes in the unit that reads best, 1 kB being 1,000 bytes.

    >>> size(3_145_856), size(12)
    ('3.1 MB', '12 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"
