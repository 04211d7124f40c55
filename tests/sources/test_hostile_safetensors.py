"""Headers of safetensors that say what no header says."""

from __future__ import annotations

import json
import struct

import pytest

from posviz import sources
from posviz.errors import SourceError


def packed(header: object, body: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def entry(shape: tuple[int, ...] = (8, 4), span: tuple[int, int] = (0, 128)) -> dict[str, object]:
    return {"dtype": "F32", "shape": list(shape), "data_offsets": list(span)}


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        ({"a": entry(shape=(10**18,) * 60_000)}, 128, "a is F32 of shape [1000"),
        ({"a": entry(shape=(1,) * 60_000 + (8, 4))}, 128, "a is F32 of shape [1, 1"),
        ({"wpe": entry(shape=(10**4200, 10**4200, 0), span=(0, 0))}, 0, "not valid JSON"),
        ({"wpe": entry(shape=(2**63, 0), span=(0, 0))}, 0, "no disk could hold"),
        ({"a": entry(shape=(10**4290,), span=(0, 4 * 10**4290))}, 0, "not valid JSON"),
        ({"a": entry() | {"dtype": "x" * 100_000}}, 128, "unknown type"),
        ({"a": entry() | {"dtype": [1] * 100_000}}, 128, "unknown type"),
        ({"wpe" * 100_000: entry()}, 128, "names a tensor with 300,000 characters"),
        ({"a\nwpe": entry()}, 128, "control characters"),
        ({"x\ud800.wpe": entry()}, 128, "not valid JSON"),
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


def test_a_header_as_deep_as_can_be_read_is_refused_in_a_sentence():
    for depth in range(900, 1000):  # a colon in a name has it read once more, one call deeper
        raw = b'{"x:":1,"a":' + b"[" * depth + b'{"q":1}' + b"]" * depth + b"}"
        with pytest.raises(SourceError, match="is damaged"):
            sources.open_upload({"m.safetensors": packed(raw)})


def test_rows_without_columns_take_no_memory(refused, raw_safetensors):
    content = raw_safetensors({"wpe.weight": ("F32", (2**32, 0), b"")})
    assert refused("m.safetensors", content) == (
        "wpe.weight has 4,294,967,296 rows, more than any position table. Name another tensor."
    )
