"""NumPy files and tables as text: good ones of every kind, and those that lie."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

from posviz import sources


def npy(array: np.ndarray, **options: object) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def header(text: str, body: bytes = b"") -> bytes:
    raw = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw + body


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<f2", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_j02_npy_of_every_float_type_and_order(tmp_path, rows, dtype, order):
    array = rows(100, 16).astype(dtype, order=order)
    np.save(tmp_path / "t.npy", array)
    found = sources.open(str(tmp_path / "t.npy"))
    assert found.format == "npy"
    np.testing.assert_array_equal(found.table().weights, array.astype(np.float32))
    assert found.tables[0].default


def test_a_lone_array_was_not_named_by_hand(tmp_path, rows):
    np.save(tmp_path / "t.npy", rows(100, 16))
    assert sources.open(str(tmp_path / "t.npy")).tables[0].reason == (
        "It is the only array there, and so taken for a position table; 100 positions in a "
        "sequence."
    )


def test_an_array_without_rows_was_not_trained_to_zero(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((0, 16), np.float32))
    assert sources.open(str(tmp_path / "t.npy")).warnings == (
        "array has no rows: there is no position to show.",
    )


def test_j02_npy_of_python_objects_is_refused_without_unpickling(refused):
    content = npy(np.array([[{}, 1.0]], dtype=object), allow_pickle=True)
    assert refused("t.npy", content) == (
        "t.npy holds Python objects, which are never unpickled. Save the numbers as a float array."
    )
    assert "bare Python pickle" in refused("raw.npy", pickle.dumps([1.0]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4), }"),
         "incomplete"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 4), }", bytes(64)),
         "its shape is (-2, 4)"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }", bytes(65)),
         "1 byte too many at its end"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }", bytes(60)),
         "incomplete"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4), }", bytes(16)),
         "its shape is (True, 4)"),
        (header("__import__('os')"), "header cannot be read"),
        (header("{"), "header cannot be read"),
        (header("(" * 60), "header cannot be read"),
        (b"\x93NUMPY\x07\x00", "header cannot be read"),
        (b"\x93NUMPY\x01\x00\xff\xff", "header cannot be read"),
        (npy(np.array(["a", "b"])), "real numbers"),
        (npy(np.zeros((4, 4), "c8")), "real numbers"),
        (npy(np.zeros((2, 2), [("a", "f4")])), "real numbers"),
        (npy(np.float32(1)), "two axes"),
    ],
    ids=range(14),
)  # fmt: skip
def test_npy_headers_that_lie_are_refused(refused, content, words):
    sentence = refused("t.npy", content)
    assert words in sentence or words == "only"


def test_npz_packed_and_not(tmp_path, rows):
    arrays = {"params.pos_embedding": rows(1, 16, 8), "other": rows(3, 3)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "t.npz", **arrays)
        found = sources.open(str(tmp_path / "t.npz"))
        assert found.format == "npz"
        assert [t.parameter for t in found.tables] == ["params.pos_embedding"]
        np.testing.assert_array_equal(found.table().weights, arrays["params.pos_embedding"][0])
        np.testing.assert_array_equal(found.read("other"), arrays["other"])


def test_npz_with_one_array_is_a_table_whatever_its_name(tmp_path, rows):
    np.savez(tmp_path / "t.npz", x=rows(16, 8))
    assert sources.load(str(tmp_path / "t.npz")).weights.shape == (16, 8)


def test_npz_bomb_is_not_unpacked(refused):
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file,
        file.open("wpe.npy", "w", force_zip64=True) as member,
    ):
        member.write(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 64), }"))
        for _ in range(256):
            member.write(bytes(1 << 20))
    sentence = refused("t.npz", stream.getvalue())
    assert "is not unpacked: wpe would grow from" in sentence


def test_npz_members_that_lie_are_refused(refused):
    good = npy(np.zeros((4, 4), np.float32))
    for content in (good[:-4], good + b"x", b"", b"junk"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as file:
            file.writestr("wpe.npy", content)
        refused("t.npz", stream.getvalue())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("wpe.npy", good)
    assert "packs wpe in a way that is not read" in refused("t.npz", stream.getvalue())
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    assert "without arrays" in refused("t.npz", empty.getvalue())


@pytest.mark.parametrize("mark", ["\t", ",", ";", " ", "  "])
def test_text_tables_open(tmp_path, rows, mark):
    array = rows(10, 4)
    lines = "\r\n".join(mark.join(repr(float(value)) for value in row) for row in array)
    (tmp_path / "T.TSV").write_text(f"\ufeff{lines}\r\n\n", encoding="utf-8")
    found = sources.open(str(tmp_path / "T.TSV"))
    assert found.format == "text"
    np.testing.assert_array_equal(found.table().weights, array)


def test_j02_words_are_named_by_line_and_column(refused):
    lines = "\n".join("1.0\t2.0\t3.0\tword" for _ in range(10))
    assert refused("t.tsv", lines.encode()) == (
        "t.tsv, line 1, column 4: 'word' is no number. Leave out headings and labels; every line "
        "holds the values of one position."
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3,4,5\n", "line 2: 3 values, while the first line has 2"),
        ("1,2\n3,\n", "line 2"),
        ("1,b\n1,2\n", "line 1, column 2: 'b' is no number"),
        ("a,b\nc,d\n", "line 2, column 1: 'c' is no number"),
        ("a,b\n1,2,3\n", "line 2: 3 values, while the first line has 2"),
        ("a,b\n", "no lines with numbers"),
        ("1,,3\n4,5,6\n", "line 1, column 2: '' is no number. Every cell of a line needs"),
        ("1,5_2\n3,4\n", "'5_2' is no number"),
        ("\n\n", "no lines with numbers"),
        ("1,2\n3," + "9" * 5000, "every value of a position table must be a finite"),
        ("1,nan\n3,4\n", "finite"),
    ],
)
def test_text_that_is_no_table_is_refused(refused, text, words):
    assert words in refused("t.csv", text.encode())


FIRST, COLUMN = "The first line of t.csv", "The first column of t.csv only counts the lines."


@pytest.mark.parametrize(
    ("above", "beside", "quote", "said"),
    [
        ("", None, "", ()),
        ("", None, '"', ()),
        ("# made by a script\n# with np.savetxt\n", None, "", ()),
        ("a,b,c,d\n", None, "", (f"{FIRST} names the columns ('a', 'b', 'c', …).",)),
        ('"a","b","c","d"\n', None, "", (f"{FIRST} names the columns ('a', 'b', 'c', …).",)),
        ("0,1,2,3\n", None, "", (f"{FIRST} only counts the columns.",)),
        ("1,2,3,4\n", None, "", (f"{FIRST} only counts the columns.",)),
        (",0,1,2,3\n", 0, "", (f"{FIRST} names the columns ('', '0', '1', …).", COLUMN)),
        ("position,a,b,c,d\n", 1, "", (f"{FIRST} names the columns ('position', 'a',", COLUMN)),
        ("", 0, "", (COLUMN,)),
    ],
)
def test_headings_and_numbers_of_lines_are_left_out_and_said(rows, above, beside, quote, said):
    array = rows(6, 4)
    lines = [
        ",".join(
            [*([] if beside is None else [str(index + beside)]),
             *(f"{quote}{float(value)!r}{quote}" for value in row)]
        )
        for index, row in enumerate(array)
    ]  # fmt: skip
    found = sources.open_upload({"t.csv": (above + "\n".join(lines)).encode()})
    np.testing.assert_array_equal(found.table().weights, array)
    assert len(found.warnings) == len(said)
    for warning, words in zip(found.warnings, said, strict=True):
        assert warning.startswith(words)
        assert warning.endswith("was left out.")


@pytest.mark.parametrize("shape", [(3, 4), (4, 1), (2, 2)])
def test_a_table_of_whole_numbers_keeps_its_first_line_and_column(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    text = "\n".join(",".join(map(str, map(int, row))) for row in array)
    found = sources.open_upload({"t.csv": text.encode()})
    np.testing.assert_array_equal(found.table().weights, array)
    assert not any("counts" in warning for warning in found.warnings)


def test_text_in_another_encoding_is_refused(refused):
    assert "UTF-8" in refused("t.csv", b"1,2\n\xff\xfe,3\n")


def test_long_text_tables_take_no_time(bounded):
    line = b"\t".join(b"%.5f" % (i / 7) for i in range(256)) + b"\n"
    found = bounded(lambda: sources.open_upload({"t.tsv": line * 2048}).table())
    assert found.weights.shape == (2048, 256)


def test_j03_bare_numbers_have_no_shape(refused):
    assert refused("tensors.bytes", bytes(np.full(15_000, 0.3, np.float32))) == (
        "tensors.bytes looks like bare numbers (15,000 if they are float32), and nothing says how "
        "long a row is. Save the array as .npy, which keeps its shape."
    )


@pytest.mark.parametrize("shape", [(1, 16), (16, 1), (1, 1), (2, 8)])
def test_one_position_or_one_dimension_is_a_small_table(tmp_path, shape):
    np.save(tmp_path / "small.npy", np.ones(shape, np.float32))
    assert sources.load(str(tmp_path / "small.npy")).weights.shape == shape
