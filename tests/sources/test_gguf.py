"""GGUF files built by hand, quantised blocks against the reference, and counts that lie."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from posviz import sources
from posviz.sources.formats import ggml

TABLE = np.arange(64, dtype="<f4").reshape(16, 4) / 7
U32, STRING, ARRAY = 4, 8, 9


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def texts(*values: str) -> bytes:
    return struct.pack("<IQ", STRING, len(values)) + b"".join(map(text, values))


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    axes = struct.pack(f"<{len(shape)}Q", *shape[::-1])
    return text(name) + struct.pack("<I", len(shape)) + axes + struct.pack("<IQ", kind, offset)


def gguf(keys: list[bytes], tensors: list[bytes], body: bytes, *, counts=None, version=3) -> bytes:
    n_tensors, n_keys = counts or (len(tensors), len(keys))
    head = b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_keys)
    head += b"".join(keys) + b"".join(tensors)
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + body


KEYS = [
    key("general.architecture", STRING, text("gpt2")),
    key("gpt2.context_length", U32, struct.pack("<I", 16)),
    key("tokenizer.ggml.tokens", ARRAY, texts("a", "bc", "")),
    key("tokenizer.ggml.scores", ARRAY, struct.pack("<IQ", 6, 3) + bytes(12)),
]


@pytest.mark.parametrize(
    ("kind", "stored", "name"),
    [
        (0, TABLE.tobytes(), "F32"),
        (1, TABLE.astype("<f2").tobytes(), "F16"),
        (30, (TABLE.view("<u4") >> 16).astype("<u2").tobytes(), "BF16"),
    ],
)
def test_plain_tables_open_with_their_axes_turned_back(kind, stored, name):
    content = gguf(KEYS, [tensor("position_embd.weight", (16, 4), kind, 0)], stored)
    found = sources.open_upload({"m.gguf": content})
    assert found.format == "gguf"
    assert found.model_type == "gpt2"
    assert (found.tables[0].shape, found.tables[0].dtype) == ((16, 4), name)
    np.testing.assert_allclose(found.table().weights, TABLE, rtol=8e-3)
    assert found.warnings == ()


@pytest.mark.parametrize(
    "block",
    json.loads((Path(__file__).parent / "data" / "ggml_blocks.json").read_text()),
    ids=lambda block: ggml.BLOCKS[block["type"]].name,
)
def test_quantised_blocks_agree_with_the_reference(block):
    # Some numbers of random blocks, as gguf.quants.dequantize of the package gguf gives them.
    kind = ggml.BLOCKS[block["type"]]
    values = ggml.decode(bytes.fromhex(block["bytes"]), kind, (kind.elements,), name="x")
    for index, value in block["values"].items():
        assert values[int(index)] == np.float32(value)


def test_quantised_table_opens_with_many_blocks():
    codes = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
    scales = np.array([0.5, 1, 2, 0.25], "<f2")
    stored = b"".join(s.tobytes() + c.tobytes() for s, c in zip(scales, codes, strict=True))
    content = gguf(KEYS, [tensor("position_embd.weight", (4, 32), 8, 0)], stored)
    table = sources.open_upload({"m.gguf": content}).table()
    np.testing.assert_array_equal(table.weights, scales.astype(np.float32)[:, None] * codes)
    assert table.provenance.dtype == "Q8_0"


def test_table_in_few_bits_opens_from_the_file():
    bits = np.arange(3 * 64, dtype=np.uint8).reshape(3, 64)
    stored = b"".join(row.tobytes() + np.float16(0.5).tobytes() for row in bits)
    content = gguf(KEYS, [tensor("position_embd.weight", (3, 256), 35, 0)], stored)
    table = sources.open_upload({"m.gguf": content}).table()
    assert table.provenance.dtype == "TQ2_0"
    digits = [bits[:, half : half + 32] >> shift & 3 for half in (0, 32) for shift in (0, 2, 4, 6)]
    np.testing.assert_array_equal(table.weights, np.hstack(digits) * np.float32(0.5) - 0.5)


def test_eight_bits_with_a_scale_and_sums_for_256_numbers():
    codes = np.arange(-128, 128, dtype=np.int8)
    sums = codes.reshape(16, 16).sum(1, dtype=np.int16)  # of use to matrix products only
    stored = np.float32(0.1).tobytes() + codes.tobytes() + sums.tobytes()
    values = ggml.decode(stored, ggml.BLOCKS[15], (1, 256), name="x")
    np.testing.assert_array_equal(values, [np.float32(0.1) * codes])


def test_quantised_types_that_are_not_read_are_named(refused):
    content = gguf(KEYS, [tensor("position_embd.weight", (4, 256), 16, 0)], bytes(66 * 4))
    assert "quantised as IQ2_XXS, which is not read" in refused("m.gguf", content)


def test_roberta_in_gguf_has_lost_its_offset_rows_already():
    keys = [key("general.architecture", STRING, text("roberta"))]
    table = np.vstack([TABLE, TABLE, TABLE, TABLE, TABLE[:2]])
    table[1] = 0
    content = gguf(keys, [tensor("position_embd.weight", (66, 4), 0, 0)], table.tobytes())
    assert sources.open_upload({"m.gguf": content}).tables[0].row_offset == 0


def test_vision_tower_keeps_its_grid(rows):
    table = rows(50, 8)
    content = gguf(KEYS, [tensor("v.position_embd.weight", (50, 8), 0, 0)], table.tobytes())
    found = sources.open_upload({"mmproj.gguf": content}).tables[0]
    assert (found.grid, found.prefix_rows) == ((7, 7), 1)


@pytest.mark.parametrize(
    ("architecture", "scheme", "words"),
    [
        ("llama", "rotary", "llama models have none"),
        ("jais", "alibi", "ALiBi"),
        ("t5encoder", "relative", "by distance"),
        ("rwkv7", "none", "recurrent"),
        ("baichuan", "unknown", "the larger one has ALiBi"),
        ("brand-new", "unknown", "No position table was found"),
    ],
)
def test_the_architecture_says_what_stands_in_for_a_table(architecture, scheme, words):
    keys = [key("general.architecture", STRING, text(architecture))]
    content = gguf(keys, [tensor("token_embd.weight", (16, 4), 0, 0)], TABLE.tobytes())
    found = sources.open_upload({"m.gguf": content})
    assert (found.model_type, found.scheme) == (architecture, scheme)
    assert words in found.message


def test_a_key_of_the_model_says_it_where_its_architecture_is_unknown():
    keys = [
        key("general.architecture", STRING, text("brand-new")),
        key("brand-new.rope.freq_base", 6, struct.pack("<f", 1e4)),
    ]
    content = gguf(keys, [tensor("token_embd.weight", (16, 4), 0, 0)], TABLE.tobytes())
    assert sources.open_upload({"m.gguf": content}).scheme == "rotary"


ONE = [tensor("position_embd.weight", (16, 4), 0, 0)]
BODY = TABLE.tobytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gguf(KEYS, ONE, BODY, counts=(2**60, 4)), "1,152,921,504,606,846,976 tensors"),
        (gguf(KEYS, ONE, BODY, counts=(1, 2**60)), "1,152,921,504,606,846,976 keys"),
        (gguf(KEYS, ONE, BODY, counts=(90_000, 4)), "damaged"),
        (
            gguf([key("a", ARRAY, struct.pack("<IQ", STRING, 2**40))], ONE, bytes(8 << 20)),
            "1,099,511,627,776 texts",
        ),
        (gguf([key("a", ARRAY, struct.pack("<IQ", 6, 2**62))], ONE, BODY), "not there"),
        (gguf([key("a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 50)], ONE, BODY), "unknown kind"),
        (gguf([key("a", ARRAY, struct.pack("<IQ", ARRAY, 2**40))], ONE, BODY), "nests"),
        (gguf([key("a", 77, b"")], ONE, BODY), "unknown kind 77"),
        (gguf([struct.pack("<Q", 2**63)], ONE, BODY), "a text of"),
        (gguf(KEYS, [tensor("a", (2**33, 2**33), 0, 0)], BODY), "incomplete"),
        (gguf(KEYS, [tensor("a", (16, 4), 0, 2**40)], BODY), "incomplete"),
        (gguf(KEYS, [tensor("a", (16, 4), 0, 32)], BODY), "incomplete"),
        (gguf(KEYS, [tensor("a", (16, 4), 250, 0)], BODY), "unknown type 250"),
        (gguf(KEYS, [tensor("a", (16, 4), 8, 0)], BODY), "do not fill blocks of 32"),
        (gguf(KEYS, [tensor("a", (1,) * 9, 0, 0)], BODY), "has 9 axes"),
        (gguf(KEYS, ONE + ONE, BODY), "twice"),
        (gguf([key("general.alignment", U32, bytes(4))], ONE, BODY), "alignment is 0"),
        (gguf(KEYS, ONE, BODY, version=0x03000000), "big-endian"),
        (gguf(KEYS, ONE, BODY)[:80], "incomplete"),
        (b"GGUF", "incomplete"),
    ],
    ids=range(20),
)
def test_counts_that_lie_are_refused_at_once(refused, content, words):
    assert words in refused("m.gguf", content)


def test_large_vocabulary_takes_no_time(bounded):
    vocabulary = texts(*(f"token{i}" for i in range(150_000)))
    content = gguf([*KEYS, key("more", ARRAY, vocabulary)], ONE, BODY)
    found = bounded(lambda: sources.open_upload({"m.gguf": content}))
    np.testing.assert_array_equal(found.table().weights, TABLE)


def test_the_docs_name_every_quantised_type_that_is_not_read():
    kinds = [kind for kind in ggml.BLOCKS.values() if kind.elements > 1 and kind.decode is None]
    unread = {re.sub(r"^(IQ\d).*", r"\1", kind.name) for kind in kinds}
    assert {"Q8_1", "IQ2"} <= unread
    docs = Path(__file__).parents[2] / "docs"
    for page in ("using.md", "errors.md"):
        text = (docs / page).read_text(encoding="utf-8")
        assert {name for name in unread if name not in text} == set()
