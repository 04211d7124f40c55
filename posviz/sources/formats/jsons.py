"""JSON out of a checkpoint: text that is small, and stays small once it is read."""

from __future__ import annotations

import json
from typing import Any

from posviz.sources.formats.tensors import damaged

MOST_MARKS = 250_000
_MARKS = (b",", b"{", b"[")  # each is a byte, and a text of fewer bytes is not looked through


def parse(
    raw: bytes,
    name: str,
    *,
    what: str = "it",
    most_marks: int = MOST_MARKS,
    strict: bool = False,
) -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    raw : bytes
    name : str
        The file, for messages.
    what : str
        What of the file is read, as a sentence begins with it.
    most_marks : int
        Commas and opening braces there may be: three bytes of text can cost eighty of memory.
    strict : bool
        Whether it is JSON to the letter, as the header of a safetensors file: UTF-8, with neither
        NaN nor Infinity.

    Raises
    ------
    SourceError
        Not JSON, or larger in memory than anything of its kind.
    """
    if len(raw) > most_marks and (marks := sum(map(raw.count, _MARKS))) > most_marks:
        raise damaged(name, f"{what} holds some {marks:,} values, more than any model has")
    try:
        if not strict:
            return json.loads(raw)
        import orjson  # three times as fast, and as strict as the format's own library

        return orjson.loads(raw)
    except (ValueError, RecursionError) as err:
        raise damaged(name, f"{what} is not valid JSON") from err
