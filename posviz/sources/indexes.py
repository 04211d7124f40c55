"""The index of a sharded model: which file holds which tensor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.errors import DamagedError, SourceError
from posviz.sources.formats import jsons
from posviz.sources.formats.tensors import check_name, damaged, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from posviz.sources.readers import Reader

INDEX_LIMIT = 32 << 20
_MOST_ENTRIES = 400_000  # tensors of all shards together


def read_index(reader: Reader) -> dict[str, str]:
    """The weight map of an index file, from tensor names to base names of files.

    Raises
    ------
    DamagedError
        Not an index, or too large to be one.
    SourceError
        One that points outside its folder.
    """
    if reader.size > INDEX_LIMIT:
        raise DamagedError(f"{reader.name} has {reader.size:,} bytes; an index is far smaller.")
    raw = reader.read_at(0, reader.size)
    index = jsons.parse(raw, reader.name, most_marks=_MOST_ENTRIES)
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        raise damaged(reader.name, "it holds no weight_map")
    if reader.name.lower().endswith(".weights.json"):
        weight_map = dict(_of_keras(weight_map))
    for tensor, file in weight_map.items():
        check_name(reader.name, tensor)
        if not isinstance(file, str):
            raise damaged(reader.name, f"it names {excerpt(file)} in place of a file")
        if not re.fullmatch(r"[\w][\w.+-]{0,254}", file):
            raise SourceError(
                f"{reader.name} names the file {excerpt(file)}; an index may only name files "
                f"beside it. It was not followed."
            )
    return weight_map


def _of_keras(weight_map: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Keras names the layers, each with its file or files; numbered variables are in them."""
    for layer, named in weight_map.items():
        for number, file in enumerate(named if isinstance(named, list) else [named]):
            yield f"{layer.removeprefix('/')}/{number}", file
