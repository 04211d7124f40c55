"""Numbers of an HDF5 dataset that is stored in chunks: only those chunks that a part lies in."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError
from posviz.sources.formats.hdf5_filters import BrokenError, unpack
from posviz.sources.formats.hdf5_index import Chunk, Place, find_chunks
from posviz.sources.formats.hdf5_store import Store
from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from posviz.sources.formats.hdf5_filters import Filter
    from posviz.sources.formats.hdf5_index import Layout
    from posviz.sources.readers import Reader

MOST_CHUNKS = 1 << 15
_MOST_CHUNK_BYTES = 64 << 20
_MOST_BYTES = 1 << 30  # of what is read at once, as float32
_MOST_RATIO = 50  # weights hardly shrink; a bomb shrinks a thousandfold
_GAP = 16 << 10  # bytes between two chunks that are read together
_MOST_AT_ONCE = 4 << 20  # bytes of all that are
_KEPT = 64 << 20  # bytes of unpacked chunks, as float32


@dataclass
class Allowance:
    """What one file may still make us do, whatever it says of itself; and what was last unpacked.

    Parameters
    ----------
    unbacked : int
        Bytes that may come out of chunks which hold hardly anything, or were never written.
    lost : int
        Bytes that may be unpacked in vain, before a chunk that is broken.
    chunks : int
        Chunks that may be listed.
    recent : (str, dict)
        The dataset that was read last, and its chunks: the next row often lies in the same.
    """

    unbacked: int = 64 << 20
    lost: int = 512 << 20
    chunks: int = 4 * MOST_CHUNKS
    recent: tuple[str, dict[Place, NDArray[np.float32]]] = field(default=("", {}), repr=False)


@dataclass
class Chunked:
    """A dataset in chunks.

    Parameters
    ----------
    store : Store
    title : str
        The dataset and its file, for messages.
    shape : tuple of int
    layout : Layout
    steps : tuple of Filter
        What each chunk went through.
    numbers : function
        From stored bytes to float32 values, flat.
    fill : float
        The value of chunks that were never written.
    allowance : Allowance
        Shared by the datasets of a file.
    """

    store: Store
    title: str
    shape: Place
    layout: Layout
    steps: tuple[Filter, ...]
    numbers: Callable[[bytes], NDArray[np.float32]]
    fill: float
    allowance: Allowance
    _index: dict[Place, Chunk] | None = field(default=None, repr=False)
    _is_counted: bool = field(default=False, repr=False)
    _paid: set[Place] = field(default_factory=set, repr=False)

    def read(self, first: int, last: int) -> NDArray[np.float32]:
        """Elements from the first to before the last, row by row.

        Raises
        ------
        SourceError
            A chunk is broken, or they are more than a file of that size can hold.
        """
        if last <= first:
            return np.empty(0, np.float32)
        box = _box(self.shape, first, last)
        size = 4 * prod(stop - start for start, stop in box)
        if size > _MOST_BYTES:
            raise SourceError(
                f"{self.title} would take {size >> 20:,} MiB as float32; at most "
                f"{_MOST_BYTES >> 20:,} MiB are read at once."
            )
        index = self._chunks()
        spans = [
            range(start // step, (stop - 1) // step + 1)
            for (start, stop), step in zip(box, self.layout.chunk, strict=True)
        ]
        wanted = list(product(*spans))
        self._pay(wanted, index)
        values = np.full([stop - start for start, stop in box], self.fill, np.float32)
        recent: dict[Place, NDArray[np.float32]] = {}
        roomy = 4 * len(wanted) * prod(self.layout.chunk) <= _KEPT
        for place, chunk in self._unpacked([place for place in wanted if place in index], index):
            inside, outside = [], []
            for at, step, (start, stop) in zip(place, self.layout.chunk, box, strict=True):
                low, high = max(at * step, start), min((at + 1) * step, stop)
                inside.append(slice(low - at * step, high - at * step))
                outside.append(slice(low - start, high - start))
            values[tuple(outside)] = chunk[tuple(inside)]
            if roomy:
                recent[place] = chunk
        self.allowance.recent = self.title, recent
        begin = first - int(np.ravel_multi_index([start for start, _ in box], self.shape))
        return values.reshape(-1)[begin : begin + last - first]

    def _chunks(self) -> dict[Place, Chunk]:
        """The index, read once."""
        if self._index is None:
            count, size = prod(self.layout.grid), self.layout.nbytes
            if count > MOST_CHUNKS:
                raise SourceError(
                    f"{self.title} is stored in {count:,} chunks; at most {MOST_CHUNKS:,} are "
                    f"read. Save it in larger ones."
                )
            if size > _MOST_CHUNK_BYTES:
                raise SourceError(
                    f"{self.title} is stored in chunks of {size >> 20:,} MiB; at most "
                    f"{_MOST_CHUNK_BYTES >> 20:,} MiB are unpacked at once. Save it in smaller "
                    f"ones."
                )
            if not self._is_counted:
                self.allowance.chunks -= count
                self._is_counted = True
            if self.allowance.chunks < 0:
                raise damaged(self.store.name, "it has more chunks than any weights need")
            # Its own count of what is read, so that a file of many datasets is not used up.
            fresh = Store(self.store.reader, self.store.offset_size, self.store.length_size)
            self._index = find_chunks(fresh, self.layout)
        return self._index

    def _pay(self, wanted: list[Place], index: dict[Place, Chunk]) -> None:
        """Refuse numbers that come out of next to nothing, before they take memory."""
        new = [place for place in wanted if place not in self._paid]
        held = {index[place].address: index[place].nbytes for place in new if place in index}
        stored = min(sum(held.values()), self.store.reader.size)
        grown = len(new) * max(self.layout.nbytes, 4 * prod(self.layout.chunk))
        if grown > _MOST_RATIO * stored:
            if grown > self.allowance.unbacked:
                raise SourceError(
                    f"{self.title} would grow from {stored:,} to {grown:,} bytes, which no weights "
                    f"do. Save it without compression."
                )
            self.allowance.unbacked -= grown
        self._paid.update(new)

    def _unpacked(
        self, places: list[Place], index: dict[Place, Chunk]
    ) -> Iterator[tuple[Place, NDArray[np.float32]]]:
        """Chunks as arrays of the shape of a whole chunk."""
        title, recent = self.allowance.recent
        held = recent if title == self.title else {}
        yield from ((place, held[place]) for place in places if place in held)
        new = [(index[place], place) for place in places if place not in held]
        if self.allowance.lost < 0:
            raise damaged(self.store.name, "too many of its chunks are broken")
        done = 0
        for chunk, place, raw in _read(self.store.reader, new, 2 * self.layout.nbytes + _GAP):
            skipped = chunk.skipped
            if self.layout.plain_edges and self._is_cut(place):
                skipped = -1  # all
            done += self.layout.nbytes
            try:
                content = unpack(raw, self.steps, skipped, self.layout.nbytes)
            except BrokenError as err:
                self.allowance.lost -= done
                raise damaged(self.store.name, f"a chunk of {self.title} {err}") from err
            yield place, self.numbers(content).reshape(self.layout.chunk)

    def _is_cut(self, place: Place) -> bool:
        return any(
            (at + 1) * step > length
            for at, step, length in zip(place, self.layout.chunk, self.shape, strict=True)
        )


def _box(shape: Place, first: int, last: int) -> list[tuple[int, int]]:
    """The smallest box around the elements from the first to before the last, axis by axis."""
    box = []
    low, high = first, last - 1
    size = prod(shape)
    together = True  # both ends lie in the same slice of the axes so far
    for length in shape:
        size //= length
        (start, low), (stop, high) = divmod(low, size), divmod(high, size)
        box.append((start, stop + 1) if together else (0, length))
        together = together and start == stop
    return box


def _read(
    reader: Reader, chunks: list[tuple[Chunk, Place]], most: int
) -> Iterator[tuple[Chunk, Place, bytes]]:
    """The stored bytes of chunks, neighbours in the file with one read."""
    run: list[tuple[Chunk, Place]] = []
    begin = end = 0
    for chunk, place in [*sorted(chunks), (Chunk(-1, 0, 0), ())]:
        if chunk.nbytes > most:
            raise damaged(reader.name, f"a chunk in it takes {chunk.nbytes:,} bytes")
        apart = chunk.address > end + _GAP or chunk.address + chunk.nbytes > begin + _MOST_AT_ONCE
        if run and (apart or chunk.address < 0):
            raw = reader.read_at(begin, end - begin)
            for one, where in run:
                yield one, where, raw[one.address - begin :][: one.nbytes]
            run = []
        if not run:
            begin = end = chunk.address
        run.append((chunk, place))
        end = max(end, chunk.address + chunk.nbytes)
