"""The cells of a line of text: numbers, decimal commas, and names of lines before them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.tensors import excerpt

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN = 40  # characters of a word that an error repeats
_NAMES = 4  # of lines, that are kept to be told
_DECIMAL = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
# 1,234 may be a thousand and more; no thousands are written like these.
_NO_THOUSANDS = re.compile(r"[+-]?(?:0?,\d|0\d*,|\d{4,},|\d+,(?:\d{1,2}|\d{4,})(?!\d))")
_LIKE_NUMBERS = re.compile(r"[\s\d.,'+-]*\d[\s.,'+-]*")  # 1.234,5


@dataclass
class Style:
    """How the lines of a file are written, as far as they have shown it.

    Parameters
    ----------
    names : list of str or None
        What the first lines begin with where it is no number; None before the first of numbers.
    line : int
        The first line of numbers.
    points : bool
        Whether some number has a decimal point.
    comma : (int, int, str) or None
        Line, column and text of the first number with a comma.
    sure : bool
        Whether one of those commas cannot stand between thousands.
    """

    names: list[str] | None = None
    line: int = 0
    points: bool = False
    comma: tuple[int, int, str] | None = None
    sure: bool = False


def read_cells(file: str, number: int, cells: list[str], style: Style) -> NDArray[np.float32]:
    """The numbers of a line, without the name before them where all lines have one.

    Parameters
    ----------
    file, number : str, int
        For messages: the file, and the line from 1.
    cells : list of str
    style : Style
        What the lines before have shown; this one is added.

    Returns
    -------
    array of shape (d_model,)

    Raises
    ------
    SourceError
        A cell is no number, or the line is not written as those before.
    """
    named = len(cells) > 1 and _is_name(cells[0])
    if style.names is None:
        style.line = number
        style.names = [cells[0].strip()] if named and all(map(is_value, cells[1:])) else []
    elif style.names and not named:
        raise SourceError(
            f"{file}, line {number}, column 1: {excerpt(cells[0].strip()[:_SHOWN])} is no name, "
            f"while the lines above begin with one. Name every line, or none."
        )
    elif style.names and len(style.names) < _NAMES:
        style.names.append(cells[0].strip())
    return _numbers(file, number, cells, bool(style.names), style)


def _numbers(
    name: str, line: int, cells: list[str], first: int, style: Style
) -> NDArray[np.float32]:
    """The cells of a line from the column `first` on."""
    text = "\t".join(cells[first:])
    style.points |= "." in text
    if "," in text and not style.points:
        if style.comma is None:
            column = next(
                index for index, cell in enumerate(cells) if index >= first and "," in cell
            )
            style.comma = (line, column + 1, cells[column])
        style.sure |= any(_NO_THOUSANDS.match(cell.strip()) for cell in cells[first:])
        text = text.replace(",", ".")
    try:
        if "_" in text or (style.comma is not None and style.points):  # Python reads 5_2 as 52
            raise ValueError
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(text.split("\t"), dtype=np.float64).astype(np.float32)
    except ValueError as err:
        for column, cell in enumerate(cells[first:], first + 1):
            if not (_is_number(cell) or (style.comma and not style.points and is_value(cell))):
                raise no_number(name, line, column, cell) from err
        assert style.comma is not None  # beside points, which is all that is left
        raise no_number(name, *style.comma) from err


def no_number(name: str, line: int, column: int, cell: str) -> SourceError:
    """The sentence for a cell that is no number; the column counts from 1."""
    cell = cell.strip()[:_SHOWN]
    hint = "Leave out headings and labels; every line holds the values of one position."
    if not cell:
        hint = "Every cell of a line needs a number."
    elif _DECIMAL.fullmatch(cell):
        hint = "Write decimals with a point."
    return SourceError(
        f"{name}, line {line}, column {column}: {excerpt(cell)} is no number. {hint}"
    )


def is_value(cell: str) -> bool:
    """Whether a cell is a number, or would be one with a point in place of its comma."""
    return _is_number(cell) or _DECIMAL.fullmatch(cell) is not None


def _is_name(cell: str) -> bool:
    return bool(cell.strip()) and not is_value(cell) and not _LIKE_NUMBERS.fullmatch(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
