"""Tables of numbers as text: one position a line, values apart by tabs, commas or spaces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.cells import Style, is_value, no_number, read_cells
from posviz.sources.formats.tensors import Entry, TensorFile, excerpt
from posviz.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.sources.readers import Reader

_LIMIT = 128 << 20
_PIECE = 1 << 20
_MOST_VALUES = 1 << 16  # of a line: no model is wider
_MOST_LINES = 1 << 17
_MOST_NUMBERS = 1 << 22  # of the table: 4,096 positions of 1,024 dimensions; some take long to read
_LONGEST_LINE = 4 << 20  # characters
_MOST_WHOLE = 0.5  # share of rows; a table of whole numbers may begin with 0, 1, 2
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

Split = Callable[[str], list[str]]


def open_text(reader: Reader) -> TensorFile:
    """The table in a text file, in UTF-8 or what spreadsheets call Unicode text (UTF-16).

    Comments and headings above the numbers are left out, as is a line or column that only counts,
    and a first column of names where all lines have one. Decimal commas are read where nothing
    else can be meant.

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
    split: Split | None = None
    rows: list[NDArray[np.float32]] = []
    headings: list[str] = []
    style = Style()
    for number, line in _lines(reader):
        if number > _MOST_LINES:
            raise SourceError(
                f"{reader.name} has more than {_MOST_LINES:,} lines; no position table is as long. "
                f"Every line holds the values of one position."
            )
        if not line or line.isspace() or (line.startswith("#") and not rows):
            continue
        if split is None:
            split = _splitter(line)
            headings = _headings(split(line))
            if headings:
                continue
        width = len(rows[0]) + bool(style.names) if rows else len(headings) or None
        rows.append(_row(reader.name, number, line, split, width, style))
        if len(rows) * len(rows[0]) > _MOST_NUMBERS:
            raise SourceError(
                f"{reader.name} holds more than {_MOST_NUMBERS:,} numbers, and text takes long to "
                f"read. Save the table as .npy."
            )
    if not rows:
        raise SourceError(f"{reader.name} holds no lines with numbers.")
    if style.names and len(rows) == 1:  # one word says nothing of a column
        raise no_number(reader.name, style.line, 1, style.names[0])
    if style.comma is not None and not style.sure:
        raise no_number(reader.name, *style.comma)
    table, warnings = _without_labels(reader.name, np.stack(rows), headings)
    warnings = (*warnings, *_said_of(reader.name, style))
    entry = Entry("table", table.shape, "F32", table.nbytes, reader.name)
    return TensorFile("text", (entry,), lambda _: table, warnings=warnings, bare=True)


def _headings(cells: list[str]) -> list[str]:
    """The cells of a line that names the columns: none of them is a number but for the names.

    A spreadsheet leaves the first one empty above the numbers of its lines, and then the others
    may count the columns.
    """
    if len(cells) > _MOST_VALUES:
        return []
    numbers = [is_value(cell) for cell in cells]
    if not any(numbers) and any(char.isalpha() for cell in cells for char in cell):
        return cells
    counts = all(cell.strip().isdecimal() for cell in cells[1:])
    return cells if len(cells) > 1 and not cells[0].strip() and counts else []


def _without_labels(
    file: str, table: NDArray[np.float32], headings: list[str]
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """The table without a line or column that only counts, and the sentences that say so."""
    said = []
    if headings:
        named = ", ".join(map(excerpt, headings[:3])) + (", …" if len(headings) > 3 else "")
        said.append(
            f"The first line of {file} names the columns ({named}). It is no position and was "
            f"left out."
        )
    elif len(table) > 1 and _counts(table[0]) and not _whole(table[1:]):
        said.append(
            f"The first line of {file} only counts the columns. It is no position and was left out."
        )
        table = table[1:]
    if table.shape[1] > 1 and _counts(table[:, 0]) and not _whole(table[:, 1:]):
        said.append(
            f"The first column of {file} only counts the lines. It is no dimension and was left "
            f"out."
        )
        table = np.ascontiguousarray(table[:, 1:])
    return table, tuple(said)


def _counts(values: NDArray[np.float32]) -> bool:
    """Whether values are 0, 1, 2, … or 1, 2, 3, …, as spreadsheets number lines and columns."""
    start = values[0] if len(values) > 2 else -1
    return bool(start in (0, 1) and (values == np.arange(len(values)) + start).all())


def _whole(values: NDArray[np.float32]) -> bool:
    """Whether most rows hold whole numbers only, so that one that counts is one like the others."""
    with np.errstate(invalid="ignore"):
        return bool((values == np.round(values)).all(axis=1).mean() > _MOST_WHOLE)


def _lines(reader: Reader) -> Iterator[tuple[int, str]]:
    """Lines by number, from 1; never more than one of them, and one piece, in memory."""
    head = reader.read_at(0, min(reader.size, 4))
    coding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), "utf-8")
    decoder = codecs.getincrementaldecoder(coding)()
    left, number = "", 0
    for start in range(0, reader.size, _PIECE):
        raw = reader.read_at(start, min(_PIECE, reader.size - start))
        try:
            left += decoder.decode(raw, final=start + _PIECE >= reader.size)
        except UnicodeDecodeError as err:
            raise _no_text(reader.name) from err
        if "\x00" in left:
            raise _no_text(reader.name)
        *whole, left = re.split(r"\r\n|\n|\r(?!\Z)", left)
        for line in whole:
            number += 1
            yield number, line
        if len(left) > _LONGEST_LINE:
            raise SourceError(
                f"{reader.name}, line {number + 1} has more than {_LONGEST_LINE:,} characters; no "
                f"position table is as wide. Every line holds the values of one position."
            )
    yield number + 1, left.rstrip("\r")


def _no_text(name: str) -> SourceError:
    return SourceError(
        f"{name} is no text in UTF-8, nor UTF-16 with its mark. Save the table as .npy."
    )


def _said_of(file: str, style: Style) -> list[str]:
    """The sentences about names that were left out and commas that were read."""
    said = []
    if style.names:
        named = ", ".join(map(excerpt, style.names[:3])) + (", …" if len(style.names) > 3 else "")
        said.append(
            f"The first column of {file} names the lines ({named}). It is no dimension and was "
            f"left out."
        )
    if style.comma is not None:
        said.append(f"The decimal commas of {file} were read as points.")
    return said


def _row(
    file: str, number: int, line: str, split: Split, width: int | None, style: Style
) -> NDArray[np.float32]:
    cells = split(line)
    if width is None and len(cells) > _MOST_VALUES:
        raise SourceError(
            f"{file}, line {number}: {len(cells):,} values; a position has at most "
            f"{_MOST_VALUES:,} dimensions. Every line holds the values of one position."
        )
    if width is not None and len(cells) != width:
        raise SourceError(
            f"{file}, line {number}: {counted(len(cells), 'value')}, while the first line has "
            f"{width:,}. Every line must hold one position with the same number of values."
        )
    return read_cells(file, number, cells, style)


def _splitter(line: str) -> Split:
    for mark in ("\t", ";", ","):
        if mark in line:
            return lambda text: _cells(text, text.rstrip(mark).split(mark))
    return lambda text: _cells(text, text.split())


def _cells(text: str, words: list[str]) -> list[str]:
    """Cells without the quotes that some programs put around each."""
    if '"' not in text:
        return words
    return [word[1:-1] if len(word) > 1 and word[0] == '"' == word[-1] else word for word in words]
