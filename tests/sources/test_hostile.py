"""Files made to hang, to grow or to confuse: endless work, and names and numbers no model has.

Each attack is built small enough to be quick when it is refused, and large enough to be felt
when it is not: the unguarded reader needed minutes or gigabytes for it.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from posviz import sources
from posviz.errors import PosvizError
from posviz.sources import layouts
from posviz.sources.formats.tensors import brief, excerpt
from posviz.sources.ownnames import speaks_of_positions

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7
STORAGE = (
    b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x20tQ"
)
TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE + b"K\x00K\x08K\x04\x86K\x04K\x01\x86\x89NtR"
)


def text(value: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value


def torch_zip(pickled: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("m/data.pkl", b"\x80\x02" + pickled)
        file.writestr("m/data/0", TABLE.tobytes())
    return stream.getvalue()


def packed(header: object, body: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def entry(shape: tuple[int, ...] = (8, 4), span: tuple[int, int] = (0, 128)) -> dict[str, object]:
    return {"dtype": "F32", "shape": list(shape), "data_offsets": list(span)}


MERSENNE = 2**61 - 1  # whole numbers that differ by it hash alike

PICKLES = {
    "a subclass in a subclass": (
        b"ctorch._tensor\n_rebuild_from_type_v2\nq\x000)" + b"q\x010(h\x00Nh\x01Nt" * 20_000
        + b"q\x010h\x00h\x01R.",
        None,
    ),
    "places that hash alike": (
        b"N" + b"".join(b"p%d\n" % (MERSENNE * i) for i in range(1, 30_000)) + b".",
        "impossible places",
    ),
    "one list made into many dictionaries": (
        b"ccollections\nOrderedDict\nq\x000K\x01K\x02\x86q\x010](" + b"h\x01" * 50_000
        + b"eq\x020" + b"h\x00h\x02\x85R0" * 50_000 + b"N.",
        "more than 750,000 steps",
    ),
    "a key of a megabyte, used often": (
        b"}q\x00B" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"q\x010"
        + b"h\x00h\x01Ns0" * 50_000 + b"h\x00.",
        None,
    ),
    "a long key above many": (
        b"}" + text(b"k" * (1 << 20)) + b"}("
        + b"".join(text(b"%d" % i) + b"}" for i in range(20_000)) + b"us.",
        None,
    ),
    "one tensor under many names": (
        TENSOR + b"q\x050](" + b"h\x05" * 110_000 + b"e.", "more than 100,000 tensors"
    ),
    "one tensor in endless names": (
        TENSOR + b"q\x050}" + text(b"k" * 50_000) + b"](" + b"h\x05" * 400_000 + b"es.",
        "containers and tensors",
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", PICKLES)
def test_a_pickle_asks_for_no_more_work_than_it_has_steps(bounded, attack):
    pickled, words = PICKLES[attack]

    def run() -> None:
        if words is None:
            assert sources.open_upload({"m.pt": torch_zip(pickled)}).tables == ()
            return
        with pytest.raises(PosvizError, match=words):
            sources.open_upload({"m.pt": torch_zip(pickled)})

    bounded(run)


def test_the_parts_of_a_legacy_file_share_their_steps(refused):
    magic = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
    part = b"\x80\x02N" + b"2" * 400_000 + b"."
    assert "more than 750,000 steps" in refused("m.pt", magic + part * 4)
    system = b"\x80\x02}" + text(b"little_endian") + b"\x88s."
    doubled = b"\x80\x02]q\x00" + b"](h\x00h\x00eq\x00" * 60 + b"."  # 2^60 lists as text
    keys = b"\x80\x02](" + doubled[2:-1] + b"e."
    content = magic + b"\x80\x02M\xe9\x03." + system + b"\x80\x02}." + keys
    assert sources.open_upload({"m.pt": content}).entries == ()


def test_keys_of_every_kind_are_names(tmp_path):
    pickled = (
        b"}(" + text(b"a") + b"K\x01\x86" + TENSOR + text(b"a") + b"K\x02\x86" + TENSOR
        + text("x\ud800\n".encode("utf-8", "surrogatepass")) + TENSOR + b"u."
    )  # fmt: skip
    found = sources.open_upload({"m.pt": torch_zip(pickled)})
    assert [e.name for e in found.entries] == ["(a, 1)", "(a, 2)", "x\\ud800\\n"]
    assert np.array_equal(found.read("(a, 2)"), TABLE)


def test_two_tensors_under_one_name_are_said():
    other = TENSOR.replace(b"K\x00K\x08", b"K\x00K\x04")
    pickled = b"}(" + text(b"a") + b"}" + text(b"b") + TENSOR + b"s" + text(b"a.b") + other + b"u."
    found = sources.open_upload({"m.pt": torch_zip(pickled)})
    assert [e.shape for e in found.entries] == [(8, 4)]
    assert found.warnings == (
        "m.pt holds 1 tensor under the name of another one (a.b); the first of a name is shown.",
    )


def test_a_bare_tensor_opens():
    found = sources.open_upload({"m.pt": torch_zip(TENSOR + b".")})
    assert np.array_equal(found.table().weights, TABLE)
    assert found.tables[0].parameter == "tensor"


def test_a_link_in_an_archive_is_bytes(refused):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("m/data.pkl", b"\x80\x02}" + text(b"wpe.weight") + TENSOR + b"s.")
        link = zipfile.ZipInfo("m/data/0")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    assert "data/0 is shorter than data.pkl says" in refused("m.pt", stream.getvalue())


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        ({"a": entry(shape=(10**18,) * 60_000)}, 128, "a is F32 of shape [1000"),
        ({"a": entry(shape=(1,) * 60_000 + (8, 4))}, 128, "a is F32 of shape [1, 1"),
        ({"wpe": entry(shape=(10**4200, 10**4200, 0), span=(0, 0))}, 0, "no disk could hold"),
        ({"wpe": entry(shape=(2**63, 0), span=(0, 0))}, 0, "no disk could hold"),
        ({"a": entry(shape=(10**4290,), span=(0, 4 * 10**4290))}, 0, "the byte range of a is"),
        ({"a": entry() | {"dtype": "x" * 100_000}}, 128, "unknown type"),
        ({"a": entry() | {"dtype": [1] * 100_000}}, 128, "unknown type"),
        ({"wpe" * 100_000: entry()}, 128, "names a tensor with 300,000 characters"),
        ({"a\nwpe": entry()}, 128, "control characters"),
        ({"x\ud800.wpe": entry()}, 128, "control characters"),
        ({"__metadata__": {"n": ["x" * 100] * 1000}}, 0, "must be text"),
        (b'{"wpe":[' + b"{}," * 400_000 + b"1]}", 0, "some 800,002 values"),
    ],
    ids=range(12),
)
def test_what_no_header_says_is_refused_in_a_short_sentence(refused, header, body, words):
    sentence = refused("m.safetensors", packed(header, bytes(body)))
    assert words in sentence
    assert len(sentence) < 400
    assert sentence.isprintable()


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
        (b"0,5;0,6\n", "'0,5' is no number. Write decimals with a point."),
        (b"a\x1b[2J,2\n", "'a\\x1b[2J' is no number"),
    ],
    ids=range(9),
)
def test_text_without_end_or_encoding_is_refused(refused, content, words):
    assert words in refused("t.csv", content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_of_every_encoding_and_line_end_opens(encoding, end):
    content = end.join("\t".join(map(repr, row)) for row in TABLE.tolist()).encode(encoding)
    assert np.array_equal(sources.open_upload({"t.TSV": content}).table().weights, TABLE)


def gguf(keys: list[bytes], tensors: list[bytes], version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    head += b"".join(keys) + b"".join(tensors)
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + TABLE.tobytes()


def gtext(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gtensor(name: bytes, *shape: int) -> bytes:
    axes = struct.pack(f"<{len(shape)}Q", *shape[::-1])
    return gtext(name) + struct.pack("<I", len(shape)) + axes + struct.pack("<IQ", 0, 0)


WPE = gtensor(b"position_embd.weight", 8, 4)


def test_a_count_spelled_like_a_brace_makes_no_safetensors_file():
    """123 tensors put the byte of "{" where a safetensors header begins."""
    content = gguf([], [WPE, *(gtensor(b"b.%d" % i, 1) for i in range(122))])
    assert content[8:9] == b"{"
    for name in ("m.gguf", "blob", "m.safetensors"):
        found = sources.open_upload({name: content})
        assert (found.format, len(found.entries)) == ("gguf", 123)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            gguf([gtext(b"k%d" % i) + struct.pack("<IIQ", 9, 8, 400_000) + bytes(3_200_000)
                  for i in range(8)], [WPE]),
            "more than 3,000,000 values",
        ),
        (
            gguf([gtext(b"k%d" % i) + struct.pack("<IIQ", 9, 9, 1000)
                  + struct.pack("<IQ", 9, 300) .ljust(12 + 300 * 12, b"\0") * 1000
                  for i in range(2)], [WPE]),
            "more than 3,000,000 values",
        ),
        (gguf([], [gtensor(b"wpe" * 1000, 8, 4)]), "names a tensor with 3,000 characters"),
        (gguf([], [gtensor(b"a\nwpe", 8, 4)]), "control characters"),
        (gguf([], [gtensor(b"position_embd.weight", 2**63, 0)]), "no disk could hold"),
        (gguf([], [WPE], version=1), "version 1"),
    ],
    ids=range(6),
)  # fmt: skip
def test_gguf_files_are_stepped_through_for_so_long_only(refused, content, words):
    assert words in refused("m.gguf", content)


def test_a_chat_template_of_a_megabyte_is_not_kept():
    keys = [
        gtext(b"general.architecture") + struct.pack("<I", 8) + gtext(b"gpt2"),
        gtext(b"gpt2.template") + struct.pack("<I", 8) + gtext(b"x" * (1 << 20)),
    ]
    found = sources.open_upload({"m.gguf": gguf(keys, [WPE])})
    assert found.config == {"model_type": "gpt2"}


SUPERBLOCK = (
    b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00" + struct.pack("<4Q", 0, 2**64 - 1, 0, 48) + bytes(4)
)


def header(*messages: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack("<BHB", kind, len(raw), 0) + raw for kind, raw in messages)
    return b"OHDR\x02\x02" + struct.pack("<I", len(body)) + body + bytes(4)


def link(name: bytes, address: int) -> tuple[int, bytes]:
    return 6, b"\x01\x02" + struct.pack("<I", len(name)) + name + struct.pack("<Q", address)


def continued() -> bytes:
    """A header whose continuation continues in itself."""
    start = (SUPERBLOCK + header((0x10, struct.pack("<QQ", 200, 28)))).ljust(200, b"\0")
    return start + b"OCHK" + struct.pack("<BHBQQ", 0x10, 16, 0, 200, 28) + bytes(100)


def nameless() -> bytes:
    """An old group whose heap of names is megabytes without an end of a name."""
    start = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
    start += struct.pack("<6Q", 0, 2**64 - 1, 0, 2**64 - 1, 0, 200)
    group = struct.pack("<BBHII4x", 1, 0, 1, 1, 24) + struct.pack("<HHB3xQQ", 0x11, 16, 0, 400, 300)
    heap = b"HEAP" + bytes(4) + struct.pack("<QQQ", 4_000_000, 0, 1_000_000)
    tree = b"TREE\0\0" + struct.pack("<HQQQQQ", 1, 2**64 - 1, 2**64 - 1, 0, 1000, 0)
    node = b"SNOD\1\0" + struct.pack("<H", 20_000)
    node += b"".join(struct.pack("<QQII16x", i, 200, 0, 0) for i in range(20_000))
    file = (start.ljust(200, b"\0") + group).ljust(300, b"\0") + heap
    file = (file.ljust(400, b"\0") + tree).ljust(1000, b"\0") + node
    return file.ljust(1_000_000, b"\0") + b"n" * 4_000_000


def chained() -> bytes:
    """Groups in groups, each of a long name, then one with many links."""
    name = b"n" * 900
    size = len(header(link(name, 0)))
    groups = b"".join(header(link(name, 48 + size * (depth + 1))) for depth in range(20))
    return SUPERBLOCK + groups + header(*(link(b"%d" % i, 48) for i in range(2000))) + bytes(100)


def test_structures_of_hdf5_end(refused):
    assert "goes on without end" in refused("m.h5", continued())
    assert "has more than 1,000 bytes" in refused("m.h5", nameless())
    assert "nests or holds too many groups" in refused("m.h5", chained())
    itself = SUPERBLOCK + header(link(b"me", 48), link(b"also", 48)) + bytes(100)
    assert sources.open_upload({"m.h5": itself}).entries == ()


def test_a_shape_of_255_axes_is_none():
    space = b"\x01\xff\0\0" + bytes(4) + struct.pack("<Q", 2**63 - 1) * 255
    kind = b"\x11\0\0\0" + struct.pack("<I", 4) + bytes(12)
    place = b"\x03\x01" + struct.pack("<QQ", 48, 100)
    file = (SUPERBLOCK + header(link(b"wpe", 200))).ljust(200, b"\0")
    content = file + header((1, space), (3, kind), (8, place)) + bytes(1000)
    assert sources.open_upload({"m.h5": content}).entries == ()


def test_a_cut_hdf5_file_says_how_much_is_missing(data, refused):
    content = (data / "keras3-latest.weights.h5").read_bytes()
    assert refused("m.h5", content[:-64]) == (
        f"m.h5 is incomplete: {len(content) - 64:,} of {len(content):,} bytes are there. Download "
        f"it again."
    )


def test_numbers_of_a_config_that_no_model_has_are_passed_over(model_folder, rows):
    huge = 10**4200
    config = {
        "model_type": "yolos", "num_detection_tokens": huge, "image_size": [huge, huge],
        "patch_size": 1, "max_position_embeddings": huge, "pad_token_id": huge,
    }  # fmt: skip
    root = model_folder({"embeddings.position_embeddings": rows(1, 26, 8)}, config)
    found = sources.open(str(root))
    assert found.table().n_positions == 26
    assert all(len(said) < 400 for said in (*found.warnings, found.tables[0].reason))


def test_many_settings_and_long_paths_cost_nothing(bounded, model_folder, rows):
    path = ".".join(f"w{i}" for i in range(150))
    arrays = {f"{path}.{i}.wpe.weight": rows(2, 2) for i in range(500)}
    config = {f"k{i}": {} for i in range(60_000)}
    root = model_folder(arrays, config)
    assert len(bounded(lambda: sources.open(str(root))).tables) == 500


def test_names_made_to_be_slow_are_not(bounded):
    slow = [
        "pos" * 330,
        "_" * 990 + "wpe",
        "pos_embed." * 99,
        "embed_positions_" * 60,
        "wpe/" * 240,
        "/pe" * 333,
        "posenc" * 10,
        "x.modules_to_save" * 58,
    ]
    bounded(lambda: [layouts.rule(f"{name}{i}") for name in slow for i in range(20_000)])
    bounded(lambda: [speaks_of_positions(f"{name}{i}") for name in slow for i in range(20_000)])
    assert layouts.rule("a." * 400 + "wpe.weight") == "wpe"


def test_foreign_words_are_repeated_briefly_and_printably():
    assert brief("wpe.weight") == "wpe.weight"
    assert brief("a\x1b[2J\n") == "a\\x1b[2J\\n"
    assert len(brief("x" * 10**6)) < 130
    assert len(excerpt([["x" * 10**6] * 1000] * 1000)) < 300


@pytest.mark.parametrize(
    "name", ["", "/", "..", "../..", "a\x00b", "\udcff.npy", "n" * 5000 + ".npy"]
)
def test_uploads_of_any_name_open(name):
    stream = io.BytesIO()
    np.save(stream, TABLE)
    found = sources.open_upload({name: stream.getvalue()})
    assert found.table().n_positions == 8
    assert found.ref.isprintable()
    assert len(found.ref) < 260
