"""Tables of numbers as text: one position a line, values apart by tabs, commas or spaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.tensors import Entry, TensorFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_LIMIT = 256 << 20
_SHOWN = 40  # characters of a word that an error repeats


def open_text(reader: Reader) -> TensorFile:
    """The table in a text file.

    Raises
    ------
    SourceError
        A cell that is no number, or lines of different lengths; line and column are named.
    """
    if reader.size > _LIMIT:
        raise SourceError(
            f"{reader.name} has {reader.size:,} bytes of text; at most {_LIMIT:,} are read. Save "
            f"the table as .npy."
        )
    try:
        text = reader.read_at(0, reader.size).decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise SourceError(f"{reader.name} is no text in UTF-8. Save the table as .npy.") from err
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise SourceError(f"{reader.name} holds no lines with numbers.")
    split = _splitter(lines[0][1])
    width = len(split(lines[0][1]))
    rows = np.empty((len(lines), width), np.float32)
    for row, (number, line) in enumerate(lines):
        cells = split(line)
        if len(cells) != width:
            raise SourceError(
                f"{reader.name}, line {number}: {len(cells)} values, while the first line has "
                f"{width}. Every line must hold one position with the same number of values."
            )
        rows[row] = _numbers(reader.name, number, cells)
    entry = Entry("table", rows.shape, "F32", rows.nbytes, reader.name)
    return TensorFile("text", (entry,), lambda _: rows, bare=True)


def _numbers(name: str, line: int, cells: list[str]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(cells, dtype=np.float64).astype(np.float32)
    except ValueError as err:
        column = next(index for index, cell in enumerate(cells, 1) if not _is_number(cell))
        shown = cells[column - 1].strip()[:_SHOWN]
        raise SourceError(
            f"{name}, line {line}, column {column}: {shown!r} is no number. Leave out headings "
            f"and labels; every line holds the values of one position."
        ) from err


def _is_number(cell: str) -> bool:
    try:
        np.array([cell], dtype=np.float64)
    except ValueError:
        return False
    return True


def _splitter(line: str) -> _Split:
    for mark in ("\t", ";", ","):
        if mark in line:
            return lambda text: text.rstrip(mark + "\r\n").split(mark)
    return lambda text: re.split(r"\s+", text.strip())


if TYPE_CHECKING:
    from collections.abc import Callable

    _Split = Callable[[str], list[str]]
