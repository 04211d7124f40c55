"""HDF5 datasets in chunks: every index and filter, parts of them, and chunks that are wrong."""

from __future__ import annotations

import itertools
import struct
import zlib

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources.formats.hdf5_filters import fletcher32

OLD = ("wpe", "plain", "half", "big_endian", "whole", "absent", "grown", "many")
LATEST = (*OLD, "single_packed", "paged", "both_grow", "second_grows", "implicit")
EVERY = [("chunks-old.h5", name) for name in OLD] + [("chunks-latest.h5", name) for name in LATEST]


def expected(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """What tests/sources/data/README.md says of these files."""
    values = (np.arange(np.prod(shape)).reshape(shape) / 7).astype(np.float32)
    if name == "half":
        return values.astype(np.float16).astype(np.float32)
    if name == "absent":
        values[:4] = values[8:] = 2.5
    return values


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_datasets_in_chunks_are_read(data, file, name):
    found = sources.open(str(data / file))
    values = found.read(name)
    np.testing.assert_array_equal(values, expected(name, found.entry(name).shape))


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_a_part_is_that_part_of_the_whole(data, file, name):
    found = sources.open(str(data / file))
    whole = expected(name, found.entry(name).shape)
    for start, stop in itertools.combinations(range(0, len(whole) + 1, 3), 2):
        np.testing.assert_array_equal(found.read_part(name, (start, stop)), whole[start:stop])
        part = found.read_part(name, (start, stop), (0, 1))
        np.testing.assert_array_equal(part, whole[start:stop, :1])


def test_only_the_chunks_of_a_part_are_unpacked(data):
    content = bytearray((data / "chunks-old.h5").read_bytes())
    stored = expected("plain", (9, 4))[4:8].tobytes()  # the second chunk, as it lies in the file
    at = content.index(stored)
    content[at : at + len(stored)] = np.full(16, 9, "<f4").tobytes()
    found = sources.open_upload({"m.h5": bytes(content)})
    np.testing.assert_array_equal(found.read_part("plain", (4, 8)), np.full((4, 4), 9))
    fresh = sources.open_upload({"m.h5": bytes(content)})
    whole = expected("plain", (9, 4))
    np.testing.assert_array_equal(fresh.read_part("plain", (8, 9)), whole[8:])
    np.testing.assert_array_equal(fresh.read_part("plain", (0, 4)), whole[:4])


def test_the_checksum_is_that_of_hdf5():
    """Values by the definition: two sums of 16-bit words, folded, one word at a time."""
    rng = np.random.default_rng(0)
    for length in (0, 1, 2, 3, 64, 719, 720, 721, 140_001):
        for content in (rng.bytes(length), b"\xff" * length, bytes(length)):
            low = high = 0
            for start in range(0, length, 2):
                low += int.from_bytes(content[start : start + 2].ljust(2, b"\0"), "big")
                low = (low & 0xFFFF) + (low >> 16)
                high += low
                high = (high & 0xFFFF) + (high >> 16)
            assert fletcher32(content) == high << 16 | low


SUPERBLOCK = (
    b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00" + struct.pack("<4Q", 0, 2**64 - 1, 0, 48) + bytes(4)
)
DEFLATE = b"\x02\x01" + struct.pack("<HHHI", 1, 0, 1, 4)


def header(*messages: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack("<BHB", kind, len(raw), 0) + raw for kind, raw in messages)
    return b"OHDR\x02\x02" + struct.pack("<I", len(body)) + body + bytes(4)


def node(level: int, entries: list[tuple[int, int, tuple[int, ...], int]]) -> bytes:
    """A node of a tree from (bytes, filters left out, first element, address) of each child."""
    head = b"TREE\1" + struct.pack("<BHQQ", level, len(entries), 2**64 - 1, 2**64 - 1)
    return head + b"".join(
        struct.pack(f"<II{len(first) + 1}QQ", size, skipped, *first, 0, address)
        for size, skipped, first, address in entries
    )


def file(
    shape: tuple[int, ...], chunk: tuple[int, ...], after: bytes, filters: bytes = b""
) -> bytes:
    """A file with one dataset "wpe" of float32; its tree of chunks, at 1,000, is the caller's."""
    rank = len(shape)
    link = b"\x01\x02" + struct.pack("<I", 3) + b"wpe" + struct.pack("<Q", 300)
    messages = [
        (1, bytes([2, rank, 0, 1]) + struct.pack(f"<{rank}Q", *shape)),
        (3, bytes.fromhex("1120 1f00 04000000 00002000 17080017 7f000000")),
        (8, b"\x03\x02" + struct.pack(f"<BQ{len(chunk)}II", len(chunk) + 1, 1000, *chunk, 4)),
    ]
    if filters:
        messages.append((0x0B, filters))
    start = (SUPERBLOCK + header((6, link))).ljust(300, b"\0")
    return (start + header(*messages)).ljust(1000, b"\0") + after


def test_a_file_put_together_by_hand_opens():
    rows = np.arange(32, dtype="<f4").reshape(8, 4) / 3
    packed = zlib.compress(rows.tobytes())
    after = node(0, [(len(packed), 0, (0, 0), 2000)]).ljust(1000, b"\0") + packed
    found = sources.open_upload({"m.h5": file((8, 4), (8, 4), after, DEFLATE)})
    np.testing.assert_array_equal(found.table().weights, rows)


def test_a_tree_of_chunks_that_goes_in_circles_is_refused(refused):
    circle = node(1, [(0, 0, (0, 0), 1000)] * 2)
    assert "the index of its chunks is broken" in refused("m.h5", file((8, 4), (8, 4), circle))
    ladder = b"".join(
        node(200 - step, [(0, 0, (0, 0), 1000 + 152 * (step + 1))] * 2).ljust(152, b"\0")
        for step in range(200)
    ) + node(0, [])
    assert "the index of its chunks is broken" in refused("m.h5", file((8, 4), (8, 4), ladder))
    twice = node(0, [(128, 0, (0, 0), 300)] * 2)
    assert "the index of its chunks is broken" in refused("m.h5", file((8, 4), (8, 4), twice))
    between = node(0, [(128, 0, (1, 0), 300)])
    assert "the index of its chunks is broken" in refused("m.h5", file((8, 4), (8, 4), between))


def test_a_chunk_unpacks_to_its_own_size_and_not_a_byte_more(refused):
    for size in (127, 129, 150_000_000):
        packed = zlib.compress(bytes(size), 9)
        most = packed[:250]  # a bomb; what counts is what comes out before its end
        after = node(0, [(len(most), 0, (0, 0), 2000)]).ljust(1000, b"\0") + most
        sentence = refused("m.h5", file((8, 4), (8, 4), after, DEFLATE))
        assert "a chunk of wpe in m.h5 does not unpack to its 128 bytes" in sentence
    after = node(0, [(64, 0, (0, 0), 2000)]).ljust(1000, b"\0") + b"no deflated bytes at all" * 4
    assert "cannot be unpacked" in refused("m.h5", file((8, 4), (8, 4), after, DEFLATE))
    plain = node(0, [(64, 1, (0, 0), 2000)]).ljust(1000, b"\0") + bytes(64)
    assert "has 64 bytes instead of 128" in refused("m.h5", file((8, 4), (8, 4), plain, DEFLATE))


def test_a_small_file_does_not_grow_into_a_gigabyte(refused):
    packed = zlib.compress(bytes(4 << 20), 9)
    chunk = (1024, 1024)
    same = [(len(packed), 0, (row * 1024, 0), 50_000) for row in range(200)]
    after = node(0, same).ljust(49_000, b"\0") + packed
    sentence = refused("m.h5", file((200 * 1024, 1024), chunk, after, DEFLATE))
    assert "would grow from" in sentence
    absent = node(0, [(4 << 20, 0, (0, 0), 0)])[:24] + bytes(100)
    absent = absent[:6] + b"\0\0" + absent[8:]
    sentence = refused("m.h5", file((65_536, 4_000), (4_096, 4_000), absent))
    assert "would grow from 0 to" in sentence


def test_many_or_vast_chunks_are_refused(refused):
    empty = node(0, [])
    sentence = refused("m.h5", file((100_000, 8), (1, 8), empty))
    assert "is stored in 100,000 chunks; at most 32,768 are read" in sentence
    sentence = refused("m.h5", file((8, 4), (2**31, 2**31), empty))
    assert "at most 64 MiB are unpacked at once" in sentence
    assert "do not fit their shape" in refused("m.h5", file((8, 4), (8, 0), empty))
    assert "do not fit their shape" in refused("m.h5", file((8, 4), (8,), empty))
    sentence = refused("m.h5", file((512, 0), (8, 4), empty))
    assert sentence == "wpe in m.h5 holds no numbers: its shape is 512 × 0."
    nowhere = node(0, [(128, 0, (0, 0), 2**63)])
    assert "points to bytes" in refused("m.h5", file((8, 4), (8, 4), nowhere))
    vast = node(0, [(2**31, 0, (0, 0), 0)])
    assert "a chunk in it takes 2,147,483,648 bytes" in refused("m.h5", file((8, 4), (8, 4), vast))


@pytest.mark.parametrize(
    ("number", "name"),
    [(4, "SZIP"), (32000, "LZF"), (32001, "Blosc"), (32015, "Zstandard"), (777, "filter 777")],
)
def test_filters_that_are_not_undone_are_named(refused, number, name):
    filters = b"\x02\x01" + struct.pack("<HHHH", number, 0, 0, 0)
    filters = filters if number >= 256 else b"\x02\x01" + struct.pack("<HHH", number, 0, 0)
    assert refused("m.h5", file((8, 4), (8, 4), node(0, []), filters)) == (
        f"wpe in m.h5 is compressed with {name}, which is not read. Save it with gzip, or without."
    )


@pytest.mark.parametrize("version", ["old", "latest"])
def test_a_wrong_byte_in_a_checked_chunk_is_told(data, version):
    content = (data / f"chunks-{version}.h5").read_bytes()
    checked = expected("whole", (8, 4)).tobytes()  # with a checksum and not compressed
    at = content.index(checked + fletcher32(checked).to_bytes(4, "little"))
    wrong = content[: at + 9] + bytes([content[at + 9] ^ 1]) + content[at + 10 :]
    found = sources.open_upload({"m.h5": wrong})
    with pytest.raises(SourceError) as caught:
        found.read("whole")
    assert str(caught.value) == (
        "m.h5 is damaged: a chunk of whole in m.h5 does not fit its checksum. Download or save the "
        "file again."
    )


def test_agrees_with_h5py_for_every_way_it_cuts(tmp_path, rows):
    h5py = pytest.importorskip("h5py")
    packed = {"compression": "gzip", "shuffle": True, "fletcher32": True}
    table = rows(50, 12)
    ways = itertools.product(
        ("earliest", "latest"), [(7, 5), (50, 12), (1, 12)],
        [None, (None, 12), (50, None), (None, None), (90, 20)], [{}, packed], [0, 1024],
    )  # fmt: skip
    for number, (version, chunks, most, how, block) in enumerate(ways):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w", libver=version, userblock_size=block) as written:
            written.create_dataset("wpe", data=table, chunks=chunks, maxshape=most, **how)
        np.testing.assert_array_equal(sources.open(str(path)).read("wpe"), table)
