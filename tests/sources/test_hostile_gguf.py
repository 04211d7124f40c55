"""GGUF files made to be stepped through without end, or to be taken for another format."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from posviz import sources

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7


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
        (gguf([], [gtensor(b"w" * 257, 8, 4)]), "names a tensor with 257 characters"),
        (gguf([], [gtensor(b"a\nwpe", 8, 4)]), "control characters"),
        (gguf([], [gtensor(b"position_embd.weight", 2**63, 0)]), "no disk could hold"),
        (gguf([], [WPE], version=1), "version 1"),
    ],
    ids=range(7),
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
