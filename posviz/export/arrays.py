"""A table as one file of numbers, in its stored layout, with its history where there is room."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from posviz.errors import SettingError
from posviz.export.files import atomic

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.table import PositionTable

PARAMETER = "position_embeddings.weight"  # the tensor's name where the table never had one


@dataclass(frozen=True)
class ArrayFormat:
    """One way to write a table.

    Parameters
    ----------
    key : str
        The ending of the file, dot included.
    label : str
        What a menu shows.
    explanation : str
        One sentence: what the file keeps.
    encode : function (PositionTable) -> bytes
    """

    key: str
    label: str
    explanation: str
    encode: Callable[[PositionTable], bytes]


def save_table(
    table: PositionTable, target: str | Path | BinaryIO, *, ending: str | None = None
) -> None:
    """Write all stored rows of `table`, offset rows included, as float32.

    Parameters
    ----------
    table : PositionTable
    target : path or binary file
        A path is written atomically. It decides the format by its ending.
    ending : key of ARRAY_FORMATS, optional
        Needed for a binary file; for a path, what stands in place of its own ending.

    Raises
    ------
    SettingError
        An ending that is not in ARRAY_FORMATS, or a place that cannot be written.
    """
    if isinstance(target, (str, Path)):
        path = Path(target)
        content = array_format(ending or path.suffix).encode(table)
        with atomic(path) as file:
            file.write(content)
    else:
        target.write(array_format(ending or "").encode(table))


def array_format(ending: str) -> ArrayFormat:
    """The format of files with this ending, whatever its case.

    Raises
    ------
    SettingError
        No format has it; the text names those there are.
    """
    try:
        return ARRAY_FORMATS[ending.lower()]
    except KeyError:
        found = f"not in {ending}" if ending else "and this one has no ending"
        raise SettingError(
            f"A table is saved in a file that ends in {' or '.join(ARRAY_FORMATS)}, {found}."
        ) from None


def header(table: PositionTable) -> dict[str, str]:
    """What a safetensors header says about `table`: its provenance, and how its rows lie.

    The layout goes with the numbers because shape alone does not tell which row is the
    first position.
    """
    layout = {
        "posviz.name": table.name,
        "posviz.kind": table.kind,
        "posviz.row_offset": str(table.row_offset),
        "posviz.prefix_rows": str(table.prefix_rows),
        "posviz.suffix_rows": str(table.suffix_rows),
    }
    if table.grid is not None:
        layout["posviz.grid"] = f"{table.grid[0]}x{table.grid[1]}"
    return {"format": "pt", **table.provenance.header(), **layout}


def _npy(table: PositionTable) -> bytes:
    buffer = BytesIO()
    np.lib.format.write_array(buffer, table.raw, allow_pickle=False)
    return buffer.getvalue()


def _safetensors(table: PositionTable) -> bytes:
    """One tensor as a safetensors file, the same bytes every time.

    Written here because the library orders the header's text pairs anew on each call, and
    a file that is cited by its checksum must not change from one export to the next.
    """
    stored = table.provenance.parameter
    # A table stored in parts ("a+b") has been put together, so neither name fits it any more.
    parameter = stored if stored and "+" not in stored else PARAMETER
    entry = {"dtype": "F32", "shape": table.raw.shape, "data_offsets": [0, table.raw.nbytes]}
    text = json.dumps({"__metadata__": header(table), parameter: entry}).encode()
    text += b" " * (-len(text) % 8)  # the numbers start on a multiple of eight
    return len(text).to_bytes(8, "little") + text + table.raw.astype("<f4", copy=False).tobytes()


ARRAY_FORMATS: dict[str, ArrayFormat] = {
    form.key: form
    for form in (
        ArrayFormat(
            ".safetensors",
            "safetensors",
            "The stored rows as float32, with the table's history and layout in the header.",
            _safetensors,
        ),
        ArrayFormat(
            ".npy",
            "NumPy array",
            "The stored rows as float32 and nothing else; row 0 of the file is stored row 0.",
            _npy,
        ),
    )
}
