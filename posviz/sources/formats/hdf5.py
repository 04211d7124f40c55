"""HDF5 weight files (Keras, TensorFlow's tf_model.h5), read as data and without the C library.

That library follows links into other files of the machine, and external and virtual
datasets, whatever file is opened. Here only what lies plainly in this one file is read:
groups, and datasets of numbers, in one piece or in chunks. Everything else has a name and is not
followed.

References
----------
HDF5 File Format Specification, version 3.0: superblocks 0 to 3, object headers 1 and 2.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.formats import zips
from posviz.sources.formats.dtypes import BITS
from posviz.sources.formats.hdf5_chunks import Allowance
from posviz.sources.formats.hdf5_datasets import Dataset, dataset
from posviz.sources.formats.hdf5_groups import Links, dense_links, symbol_links
from posviz.sources.formats.hdf5_headers import read_messages, superblock
from posviz.sources.formats.tensors import (
    MAX_NAME,
    Entry,
    TensorFile,
    check_entries,
    damaged,
)
from posviz.sources.readers import Part
from posviz.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.formats.hdf5_store import Store
    from posviz.sources.readers import Reader

_MOST_OBJECTS = 100_000
_MOST_DEPTH = 32
_LINK_INFO, _LINK, _SYMBOLS = 0x02, 0x06, 0x11


def open_hdf5(reader: Reader) -> TensorFile:
    """The datasets of an HDF5 file, by path.

    Raises
    ------
    SourceError
        Damaged, or nested and numerous beyond the bounds.
    """
    store, root = superblock(reader)
    entries: list[Entry] = []
    datasets: dict[str, Dataset] = {}
    allowance = Allowance()
    outside = 0
    seen: set[int] = set()
    waiting = [("", root, 0)]
    while waiting:
        path, address, depth = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        if len(seen) > _MOST_OBJECTS or depth > _MOST_DEPTH:
            raise damaged(reader.name, "it nests or holds too many groups")
        messages = read_messages(store, address)
        links, elsewhere = _links(store, messages)
        outside += elsewhere
        if len(path) > MAX_NAME or len(waiting) + len(links) > _MOST_OBJECTS:
            raise damaged(reader.name, "it nests or holds too many groups")
        waiting += [
            (f"{path}/{name}" if path else name, target, depth + 1)
            for name, target in sorted(links.items(), reverse=True)
            if target not in seen
        ]
        found = dataset(store, messages, path, allowance)
        if found is not None:
            size = prod(found.shape) * BITS[found.dtype] // 8
            entries.append(Entry(path, found.shape, found.dtype, size, reader.name))
            check_entries(reader.name, entries[-1:])
            datasets[path] = found

    def read_span(entry: Entry, first: int, last: int) -> NDArray[np.float32]:
        return datasets[entry.name].read(first, last)

    def read_entry(entry: Entry) -> NDArray[np.float32]:
        shape = entry.shape or ()
        return read_span(entry, 0, prod(shape)).reshape(shape)

    said = []
    if outside:
        leading = counted(outside, "link")
        said.append(f"{reader.name} holds {leading} that may lead out of it; none was followed.")
    return TensorFile(
        "hdf5",
        tuple(entries),
        read_entry,
        warnings=tuple(said),
        read_span=read_span,
        strips=False,
    )


def open_keras(reader: Reader) -> TensorFile:
    """The weights in a .keras archive, which holds them as HDF5.

    Raises
    ------
    SourceError
        The archive holds no weights, or holds them compressed.
    """
    member = zips.directory(reader).get("model.weights.h5")
    if member is None or not member.is_plain:
        raise SourceError(
            f"{reader.name} holds no model.weights.h5 that could be read in place. Save the model "
            f"again, or only its weights with save_weights."
        )
    return open_hdf5(Part(reader, zips.data_start(reader, member), member.size))


def _links(store: Store, messages: list[tuple[int, bytes]]) -> tuple[Links, int]:
    """What a group holds, and how many of its links lead out of the file."""
    links: Links = {}
    outside = 0
    for kind, body in messages:
        if kind == _SYMBOLS:
            links |= symbol_links(
                store, store.address(body, 0), store.address(body, store.offset_size)
            )
        elif kind == _LINK:
            name, target = store.link(body)
            if target is not None:
                links[name] = target
            else:
                outside += 1
        elif kind == _LINK_INFO:
            dense, elsewhere = dense_links(store, body)
            links |= dense
            outside += elsewhere
    return links, outside
