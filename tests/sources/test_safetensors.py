"""safetensors: good files of every stored type, and every way a header can lie."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, deserialize

from posviz import sources
from posviz.errors import SourceError

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7


def packed(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def entry(dtype="F32", shape=(8, 4), span=(0, 128)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(span)}


def test_agrees_with_the_formats_own_library(tmp_path, rows):
    from safetensors.numpy import save_file

    arrays = {"wpe.weight": rows(16, 8), "h.bias": rows(8).astype(np.float16)}
    save_file(arrays, tmp_path / "a.safetensors", metadata={"format": "pt"})
    found = sources.open(str(tmp_path / "a.safetensors"))
    for name, array in arrays.items():
        assert np.array_equal(found.read(name), array.astype(np.float32))
    assert {(e.name, e.shape, e.dtype, e.nbytes) for e in found.entries} == {
        ("wpe.weight", (16, 8), "F32", 512), ("h.bias", (8,), "F16", 16)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "one", "value"),
    [
        ("F64", struct.pack("<d", 1 / 3), np.float32(1 / 3)),
        ("F32", struct.pack("<f", 1 / 3), np.float32(1 / 3)),
        ("F16", struct.pack("<e", 1 / 3), 0.333251953125),
        ("BF16", struct.pack("<f", 1 / 3 + 0.0007)[2:], 0.333984375),
        ("F8_E4M3", b"\x38", 1.0),
        ("F8_E5M2", b"\x3c", 1.0),
        ("F8_E4M3FNUZ", b"\x40", 1.0),
        ("F8_E5M2FNUZ", b"\x40", 1.0),
    ],
)
def test_l23_every_stored_float_type(tmp_path, raw_safetensors, dtype, one, value):
    path = tmp_path / "t.safetensors"
    path.write_bytes(raw_safetensors({"wpe.weight": (dtype, (4, 2), one * 8)}))
    table = sources.load(str(path))
    assert np.all(table.weights == value)
    assert table.provenance.dtype == dtype


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                                   "float8_e5m2fnuz"])  # fmt: skip
def test_all_256_bytes_of_float8_agree_with_torch(dtype):
    torch = pytest.importorskip("torch")
    from posviz.sources.formats.dtypes import decode

    raw = bytes(range(256))
    name = {"float8_e4m3fn": "F8_E4M3"}.get(dtype, dtype.upper().replace("FLOAT8", "F8"))
    expected = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).float().numpy()
    np.testing.assert_array_equal(decode(raw, name, (256,), name="x"), expected)


@pytest.mark.parametrize("metadata", [..., {}, None, {"format": "pt"}])
def test_l09_metadata_may_be_absent_empty_or_null(tmp_path, raw_safetensors, metadata):
    path = tmp_path / "t.safetensors"
    path.write_bytes(raw_safetensors({"wpe.weight": ("F32", (8, 4), TABLE.tobytes())}, metadata))
    found = sources.open(str(path))
    assert len(found.entries) == len(found.tables) == 1


def test_l10_metadata_must_be_text(refused, raw_safetensors):
    content = raw_safetensors({"wpe.weight": ("F32", (8, 4), TABLE.tobytes())}, {"n": 0})
    assert refused("m.safetensors", content) == (
        "m.safetensors: the metadata value 'n' must be text; it is 0. The tensors may be sound: "
        "save the file again with text metadata."
    )
    empty = packed({"__metadata__": {"format": "pt"}})
    assert "holds 0 tensors" in refused("m.safetensors", empty)


def test_l06_header_beyond_the_limit_is_not_read(refused):
    assert refused("m.safetensors", struct.pack("<Q", 132_095_296) + b"{}") == (
        "m.safetensors declares a header of 132,095,296 bytes; at most 25,000,000 are read. "
        "Save the position table alone in a file of its own."
    )


@pytest.mark.parametrize(
    ("length", "sentence"),
    [
        (8204, "m.safetensors is incomplete: 8,204 of 8,304 bytes are there. Download it again."),
        (40, "m.safetensors is incomplete: its header alone should end at byte 112, and the file "
             "has 40 bytes. Download it again."),
        (3, "m.safetensors is incomplete: it has 3 bytes, and a safetensors file starts with 8 "
            "bytes that give the length of its header. Download it again."),
        (0, "m.safetensors is empty (0 bytes). Download or save it again."),
    ],
)  # fmt: skip
def test_l07_cut_files_say_how_much_is_missing(refused, length, sentence):
    header = json.dumps({"wpe": entry(shape=(512, 4), span=(0, 8192))}).encode().ljust(104)
    content = packed(header, bytes(8192))
    assert len(content) == 8304
    assert refused("m.safetensors", content[:length]) == sentence


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        ({"a": entry(), "b": entry(span=(64, 192))}, 192, "b overlaps another tensor"),
        ({"a": entry(), "b": entry(span=(192, 320))}, 320, "b leaves a hole before it"),
        ({"a": entry()}, 130, "2 bytes too many at its end"),
        ({"a": entry(shape=(-8, -4))}, 128, "the shape of a is [-8, -4]"),
        ({"a": entry(shape=(8.0, 4))}, 128, "the shape of a is [8.0, 4]"),
        ({"a": entry(shape=(True, 32))}, 128, "the shape of a is [True, 32]"),
        ({"a": entry(shape=(8, 5))}, 128, "a is F32 of shape [8, 5], not 128 bytes"),
        ({"a": entry(shape=(2**32, 2**32))}, 128, "not 128 bytes"),
        ({"a": entry(span=(128, 0))}, 128, "the byte range of a is [128, 0]"),
        ({"a": entry(span=(0, 2**70))}, 128, "the byte range of a is [0, 1.18"),
        ({"a": entry(span=(0.0, 128))}, 128, "the byte range of a"),
        ({"a": entry(span=(0, 128, 3))}, 128, "the byte range of a"),
        ({"a": entry(dtype="F33")}, 128, "a has the unknown type 'F33'"),
        ({"a": entry(dtype=["F32"])}, 128, "a has the unknown type ['F32']"),
        ({"a": 3}, 128, "the header entry of a is not a JSON object"),
        ({"a": {}}, 128, "a has the unknown type None"),
        ({"a": entry(), "__metadata__": 3}, 128, "is not a set of text pairs"),
        (b'{"a": NaN}', 0, "its header is not valid JSON"),
        (b'{"a": ' + b"[" * 100_000, 0, "its header is not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", 0, "its header is not valid JSON"),
        (b"{\xff}", 0, "its header is not valid JSON"),
        (b'{"a": 1, "a": 2}', 0, "its header names a twice"),
    ],
)  # fmt: skip
def test_headers_that_lie_are_refused(refused, header, body, words):
    sentence = refused("m.safetensors", packed(header, bytes(body)))
    assert words in sentence
    assert sentence.startswith("m.safetensors")


def scalar(number: int, more: str = "") -> str:
    """The entry of the tensor with this number, in a file of one number each."""
    span = [4 * number, 4 * number + 4]
    return f'{{"dtype":"F32","shape":[],"data_offsets":{span}{more}}}'


@pytest.mark.parametrize(
    "header",
    [
        *(f'{{"a":{scalar(0, f""","x":{value}""")}}}'.encode()
          for value in ("NaN", "Infinity", "-Infinity", "1e400", "01", "'text'")),
        f'{{"a":{scalar(0)},}}'.encode(),
        f'{{"a":{scalar(0)}}}\0'.encode(),
        f'{{"a":{scalar(0)}}}'.encode("utf-16-le"),
        f'{{"é":{scalar(0)}}}'.encode("latin-1"),
        f'{{"\ud83d":{scalar(0)}}}'.encode(errors="surrogatepass"),
        f'{{"\\ud83d":{scalar(0)}}}'.encode(),
        f'{{"a\x01":{scalar(0)}}}'.encode(),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_is_no_json_to_the_letter_is_refused_as_by_the_formats_own_library(refused, header):
    content = packed(header, bytes(4))
    assert "its header is not valid JSON" in refused("m.safetensors", content)
    with pytest.raises(SafetensorError):
        deserialize(content)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (f'{{"a":{scalar(0)},"\\u0061":{scalar(1)}}}', "a"),
        (f'{{"a:b":{scalar(0)},"a\\u003ab":{scalar(1)}}}', "a:b"),
        (f'{{"a:b":{scalar(0)},"c":{scalar(0)},"c":{scalar(1)}}}', "c"),
        (f'{{"a":{scalar(0)},"b":{scalar(1, ""","shape":[]""")}}}', "shape"),
        (f'{{"a":{scalar(0)},"b":{scalar(1, ""","x":[{"y":1,"y":1}]""")}}}', "y"),
        (f'{{"a":{scalar(0)},"b":{scalar(1)},"__metadata__":{{"n":"1","n":"2"}}}}', "n"),
        (f'{{"__metadata__":{{}},"a":{scalar(0)},"b":{scalar(1)},"__metadata__":{{}}}}',
         "__metadata__"),
    ],
)  # fmt: skip
def test_a_name_that_comes_twice_is_refused_however_deep_or_spelled(refused, header, name):
    sentence = refused("m.safetensors", packed(header.encode(), bytes(8)))
    assert f"its header names {name} twice" in sentence


def spelled(text: str, way: str) -> str:
    """A text in JSON: its letters themselves, escapes for those beyond ASCII, or for all."""
    if way == "all":
        units = np.frombuffer(text.encode("utf-16-le"), "<u2")
        return '"' + "".join(f"\\u{unit:04x}" for unit in units) + '"'
    return json.dumps(text, ensure_ascii=way == "ascii")


TEXTS = st.text(st.sampled_from('ab:"\\{,é😀'), max_size=3)
WAYS = st.sampled_from(["letters", "ascii", "all"])
NAMES = st.lists(st.tuples(TEXTS, WAYS), min_size=1, max_size=4, unique_by=lambda name: name[0])
NOTES = st.dictionaries(TEXTS, TEXTS, max_size=2)
often = settings(max_examples=200)


def scalars(names: list[tuple[str, str]], notes: dict[str, str]) -> bytes:
    """A file of the numbers 0, 1, … under these names, each spelled its own way."""
    pairs = [f"{spelled(name, way)}:{scalar(number)}" for number, (name, way) in enumerate(names)]
    header = "{" + ",".join([*pairs, f'"__metadata__":{json.dumps(notes)}']) + "}"
    return packed(header.encode(), np.arange(len(names), dtype="<f4").tobytes())


@often
@given(names=NAMES, notes=NOTES)
def test_whatever_the_names_a_file_is_read_as_by_the_formats_own_library(names, notes):
    content = scalars(names, notes)
    found = sources.open_upload({"m.safetensors": content})
    theirs = dict(deserialize(content))
    assert sorted(entry.name for entry in found.entries) == sorted(theirs)
    for entry in found.entries:
        their = theirs[entry.name]
        assert (entry.dtype, entry.shape) == (their["dtype"], tuple(their["shape"]))
        assert found.read(entry.name).tobytes() == bytes(their["data"])


@often
@given(names=NAMES, notes=NOTES, way=WAYS)
def test_whatever_the_names_one_that_comes_again_is_refused(names, notes, way):
    again = [*names, (names[0][0], way)]
    with pytest.raises(SourceError, match=r"its header names .* twice"):
        sources.open_upload({"m.safetensors": scalars(again, notes)})


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 200_000_000])
def test_header_lengths_beyond_reason(refused, length):
    assert f"{length:,}" in refused("m.safetensors", struct.pack("<Q", length) + b"{" + bytes(64))


def test_repeated_tensor_name_is_refused(refused):
    text = json.dumps({"a": entry()})[:-1] + ", " + json.dumps({"a": entry()})[1:]
    assert "names a twice" in refused("m.safetensors", packed(text.encode(), TABLE.tobytes()))


def test_hundreds_of_thousands_of_tensors_are_refused_at_once(refused):
    one = b'"%06d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    text = b"{" + b",".join(one % i for i in range(400_000)) + b"}"
    assert refused("m.safetensors", packed(text)) == (
        "m.safetensors announces 400,000 tensors; at most 100,000 are read. Save the position "
        "table alone in a file of its own."
    )


def test_hostile_names_are_names_and_never_paths(tmp_path, raw_safetensors):
    table = ("F32", (8, 4), TABLE.tobytes())
    names = ["../../etc/passwd.wpe", "<script>alert(1)</script>.wpe", "a\nb.wpe", "wpe"]
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw_safetensors(dict.fromkeys(names[:1], table)))
    found = sources.open(str(path))
    assert found.tables[0].parameter == names[0]
    assert np.array_equal(found.table().weights, TABLE)


def test_four_bit_types_are_listed_and_named(tmp_path, raw_safetensors, refused):
    content = raw_safetensors({"wpe.weight": ("F4", (8, 4), bytes(16))})
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    assert sources.open(str(path)).entries[0].dtype == "F4"
    with pytest.raises(SourceError, match="stored as F4, which is not read"):
        sources.open(str(path)).read("wpe.weight")
