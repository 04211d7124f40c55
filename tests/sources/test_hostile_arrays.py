"""NumPy headers that are Python to run, and text without end or encoding."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from posviz import sources

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7


def npy(shape: str, descr: str = "'<f4'", body: int = 64) -> bytes:
    raw = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw + bytes(body)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy(f"({'9' * 4000}, {'9' * 4000})"), "cannot be read"),
        (npy("(" + "9" * 900 + ",)"), "its shape is"),
        (npy("(" + "2, " * 40 + ")"), "has 40 axes"),
        (npy("(4, 4)", "()"), "records"),
        (npy("(4, 4)", "('<f4',)"), "records"),
        (npy("(4, 4)", "[('a', '<f4')]"), "records"),
        (npy("(4, 4)", "'<f3'"), "unknown type '<f3'"),
        (npy("(4, 4)", "'f4,f4'"), "unknown type"),
        (npy("(4, 4)", "-" * 4000 + "1"), "cannot be read"),
        (npy("~" * 9000 + "1"), "cannot be read"),
        (npy("(1if 1else 1)"), "its shape is"),
        (npy("(2147483648, 2147483648, 0)"), "no disk could hold"),
    ],
    ids=range(12),
)
def test_npy_headers_are_never_run_or_believed(refused, content, words):
    assert words in refused("t.npy", content)


def test_objects_beside_the_arrays_of_an_archive_are_said():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("pos_embed.npy", npy("(4, 4)"))
        file.writestr("meta.npy", npy("()", "'|O'", 9))
    found = sources.open_upload({"t.npz": stream.getvalue()})
    assert [e.name for e in found.entries] == ["pos_embed"]
    assert found.warnings[0].startswith("meta in t.npz holds Python objects")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b",".join([b"1"] * 1_000_000) + b"\n", "line 1: 1,000,000 values"),
        (b",".join([b"1"] * 60_000) + b"\n" + b"1\n" * 200_000, "line 2: 1 value, while the first"),
        (b"1\n" * 140_000, "more than 131,072 lines"),
        (b"\n" * 140_000 + b"1,2\n", "more than 131,072 lines"),
        (b"1," * 3_000_000, "more than 4,194,304 characters"),
        ("1,2\n3,4\n".encode("utf-16-le"), "nor UTF-16 with its mark"),
        (b"1,2\n3,\xff\n", "no text in UTF-8"),
        ((b"0," * 4095 + b"0\n") * 1025, "holds more than 4,194,304 numbers"),
        (b"1,500;1,600\n", "'1,500' is no number. Write decimals with a point."),
        (b"a\x1b[2J,2\n", "'a\\x1b[2J' is no number"),
    ],
    ids=range(10),
)
def test_text_without_end_or_encoding_is_refused(refused, content, words):
    assert words in refused("t.csv", content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_of_every_encoding_and_line_end_opens(encoding, end):
    content = end.join("\t".join(map(repr, row)) for row in TABLE.tolist()).encode(encoding)
    assert np.array_equal(sources.open_upload({"t.TSV": content}).table().weights, TABLE)
