"""Arrays in which a new HDF5 file keeps the places of chunks, by number: fixed and extensible.

Both are read an element at a time, so that only pages that are asked for cost anything.

References
----------
HDF5 File Format Specification, version 3.0, sections VII.C and VII.D (appendix C); where it is
silent on the sizes of blocks, H5EA.c and H5EAhdr.c of the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.sources.formats.hdf5_store import Store

    Elements = Callable[[int], bytes | None]
    """From a number to the element; None where its page or block was never written."""

_PREFIX = 6  # signature, version and what the elements are
_CHECKSUM = 4
_MOST_BITS = 62


def fixed_array(store: Store, address: int) -> Elements:
    """The elements of an array whose length was known from the start.

    Raises
    ------
    SourceError
        Broken; or an element outside of it is asked for.
    """
    wide = store.offset_size
    head = _block(store, address, b"FAHD", 8 + store.length_size + wide)
    size, page_bits = head[6], head[7]
    count = store.length(head, 8)
    data = store.address(head, 8 + store.length_size)
    if not size or page_bits > _MOST_BITS:
        raise broken(store)
    page = 1 << page_bits
    pages = -(-count // page)
    paged = count > page
    start = data + _PREFIX + wide + (-(-pages // 8) + _CHECKSUM if paged else 0)
    if not store.is_undefined(data):
        _block(store, data, b"FADB", _PREFIX)

    def element(number: int) -> bytes | None:
        if number >= count:
            raise broken(store)
        if store.is_undefined(data):
            return None
        if not paged:
            return store.read(start + number * size, size)
        if not _is_set(store, data + _PREFIX + wide, number // page):
            return None
        skipped = number // page * (page * size + _CHECKSUM)
        return store.read(start + skipped + number % page * size, size)

    return element


def extensible_array(store: Store, address: int) -> Elements:
    """The elements of an array that grows: some in its index block, the rest in ever larger blocks.

    Raises
    ------
    SourceError
        Broken; or an element outside of it is asked for.
    """
    wide = store.offset_size
    head = _block(store, address, b"EAHD", 12 + 6 * store.length_size + wide)
    size, bits, first, least, least_pointers, page_bits = head[6:12]
    index = store.address(head, 12 + 6 * store.length_size)
    powers = all(n and n & (n - 1) == 0 for n in (least, least_pointers))
    if not size or not powers or max(bits, page_bits) > _MOST_BITS:
        raise broken(store)
    page = 1 << page_bits
    near = 2 * (least_pointers.bit_length() - 1)  # super blocks whose data blocks the index names
    n_pointers = 2 * (least_pointers - 1)
    pointers = index + _PREFIX + wide + first * size
    block_head = _PREFIX + wide + -(-bits // 8)  # with the block's own place in the array
    if not store.is_undefined(index):
        _block(store, index, b"EAIB", _PREFIX)

    def element(number: int) -> bytes | None:
        if number >> bits:
            raise broken(store)
        if store.is_undefined(index):
            return None
        if number < first:
            return store.read(index + _PREFIX + wide + number * size, size)
        number -= first
        row = (number // least + 1).bit_length() - 1  # of super blocks, two of a size
        n_blocks, n_elements = 1 << row // 2, least << (row + 1) // 2
        number -= least * ((1 << row) - 1)  # the rows before
        column, inside = divmod(number, n_elements)
        if row < near:
            before = sum(1 << earlier // 2 for earlier in range(row))
            block = store.number(pointers + (before + column) * wide, wide)
            return None if store.is_undefined(block) else _of_block(block, inside)
        upper = store.number(pointers + (n_pointers + row - near) * wide, wide)
        if store.is_undefined(upper):
            return None
        _block(store, upper, b"EASB", _PREFIX)
        n_pages = n_elements // page if n_elements > page else 0
        flags = n_blocks * -(-n_pages // 8)
        block = store.number(upper + block_head + flags + column * wide, wide)
        if store.is_undefined(block):
            return None
        if not n_pages:
            return _of_block(block, inside)
        if not _is_set(store, upper + block_head, column * n_pages + inside // page):
            return None
        skipped = inside // page * (page * size + _CHECKSUM)
        return store.read(block + block_head + _CHECKSUM + skipped + inside % page * size, size)

    def _of_block(block: int, inside: int) -> bytes:
        _block(store, block, b"EADB", _PREFIX)
        return store.read(block + block_head + inside * size, size)

    return element


def broken(store: Store) -> Exception:
    """The one refusal of an index that does not add up."""
    return damaged(store.name, "the index of its chunks is broken")


def _block(store: Store, address: int, signature: bytes, length: int) -> bytes:
    raw = store.read(address, length)
    if raw[:4] != signature:
        raise broken(store)
    return raw


def _is_set(store: Store, address: int, bit: int) -> bool:
    """A bit of a map, the highest of each byte first."""
    return bool(store.number(address + bit // 8, 1) << bit % 8 & 0x80)
