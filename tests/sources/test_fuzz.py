"""Valid files of every format, mutated: the only exception that may come out is ours.

A few mutations run always; ``--slow`` runs tens of thousands of each format, a minute or more.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posviz import sources
from posviz.errors import PosvizError

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = np.random.default_rng(0).normal(size=(16, 8)).astype("<f4")
DATA = Path(__file__).parent / "data"
LARGE = [HealthCheck.too_slow, HealthCheck.data_too_large]  # as whole files are


def _safetensors() -> bytes:
    spans = {"h.bias": ([4], [0, 16]), "wpe.weight": ([16, 8], [16, 528])}
    header = {
        name: {"dtype": "F32", "shape": shape, "data_offsets": span}
        for name, (shape, span) in spans.items()
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16) + TABLE.tobytes()


def _state() -> bytes:
    """{"model": {"wpe.weight": table}, "args": …} as torch pickles it, written by hand."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
    storage += b"X\x03\x00\x00\x00cpuK\x80tQ"
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + b"K\x00K\x10K\x08\x86q\x01K\x08K\x01\x86\x89ccollections\nOrderedDict\n)RtR"
    )
    args = b"cargparse\nNamespace\n)\x81}X\x02\x00\x00\x00lrG?\x50bM\xd2\xf1\xa9\xfcsb"
    return (
        b"\x80\x02}q\x00(X\x05\x00\x00\x00model}X\x0a\x00\x00\x00wpe.weight"
        + tensor
        + b"sX\x04\x00\x00\x00args"
        + args
        + b"X\x05\x00\x00\x00epochK\x05u."
    )


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def _legacy() -> bytes:
    head = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."
    head += pickle.dumps({"protocol_version": 1001, "little_endian": True}, 2)
    return head + _state() + pickle.dumps(["0"], 2) + struct.pack("<Q", 128) + TABLE.tobytes()


def _npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, TABLE)
    return stream.getvalue()


def _gguf() -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    keys = [
        text("general.architecture") + struct.pack("<I", 8) + text("gpt2"),
        text("gpt2.context_length") + struct.pack("<II", 4, 16),
        text("tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("b") + text("c"),
        text("scores") + struct.pack("<IIQ", 9, 6, 2) + bytes(8),
    ]
    name = text("position_embd.weight") + struct.pack("<IQQIQ", 2, 8, 16, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(keys) + name
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + TABLE.tobytes()


def _tsv() -> bytes:
    return "\n".join("\t".join(f"{value:.4f}" for value in row) for row in TABLE).encode()


FILES = {
    "m.safetensors": _safetensors(),
    "m.pt": _zip({"m/data.pkl": _state(), "m/byteorder": b"little", "m/data/0": TABLE.tobytes()}),
    "legacy.pt": _legacy(),
    "m.npy": _npy(),
    "m.npz": _zip({"wpe.npy": _npy(), "b.npy": _npy()}, zipfile.ZIP_DEFLATED),
    "m.gguf": _gguf(),
    "keras.weights.h5": (DATA / "keras3-latest.weights.h5").read_bytes(),
    "tf_model.h5": (DATA / "tf_model.h5").read_bytes(),
    "chunks-old.h5": (DATA / "chunks-old.h5").read_bytes(),
    "chunks-latest.h5": (DATA / "chunks-latest.h5").read_bytes(),
    "user_block.h5": (DATA / "user_block.h5").read_bytes(),
    "m.tsv": _tsv(),
}
CONFIG = json.dumps(
    {"model_type": "clip", "pad_token_id": 1, "max_position_embeddings": 16,
     "vision_config": {"image_size": 224, "patch_size": [16, 16]}, "text_config": {"a": [1]}}
).encode()  # fmt: skip

INTERESTING = [0, 1, 0x7F, 0x80, 0xFF]


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """A few edits: bytes changed, removed, repeated, numbers blown up, the end cut off."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 6))):
        # Structure lies at both ends of most formats.
        place = st.one_of(
            st.integers(0, max(len(data) - 1, 0)), st.integers(0, min(400, len(data)))
        )
        at = draw(place)
        edit = draw(st.sampled_from(["set", "set", "number", "remove", "repeat", "insert", "cut"]))
        if edit == "set" and at < len(data):
            data[at] = draw(st.one_of(st.sampled_from(INTERESTING), st.integers(0, 255)))
        elif edit == "number":
            width = draw(st.sampled_from([1, 2, 4, 8]))
            number = draw(
                st.sampled_from([0, 1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1])
            )
            data[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
        elif edit == "remove":
            del data[at : at + draw(st.integers(1, 16))]
        elif edit == "repeat":
            length = draw(st.integers(1, 64))
            data[at:at] = data[at : at + length]
        elif edit == "insert":
            data[at:at] = draw(st.binary(max_size=16))
        elif edit == "cut":
            del data[at:]
    return bytes(data)


def refusal(run: Callable[[], object]) -> str | None:
    """The sentence of a refusal, None if there was none; any other exception passes through."""
    try:
        run()
    except PosvizError as err:
        return str(err)
    return None


def opened(name: str, content: bytes, config: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The standard library's own decoder of text in pickles says this of broken escapes.
        warnings.filterwarnings("ignore", "invalid escape sequence", DeprecationWarning)
        found = sources.open_upload({name: content, "config.json": config})
        for table in found.tables:
            found.table(table.parameter)
        for entry in found.entries[:16]:
            found.read(entry.name)


def check(name: str, content: bytes, config: bytes = CONFIG) -> None:
    sentence = refusal(lambda: opened(name, content, config))
    assert sentence is None or sentence.endswith(".")


@pytest.mark.parametrize("name", FILES)
def test_the_unchanged_file_opens(name):
    assert sources.open_upload({name: FILES[name]}).table().d_model in (4, 8)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, suppress_health_check=LARGE)
@given(data=st.data())
def test_a_few_mutations_are_refused_or_open(name, data):
    check(name, data.draw(mutated(FILES[name])))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", FILES)
@settings(max_examples=20_000, suppress_health_check=LARGE)
@given(data=st.data())
def test_thousands_of_mutations_are_refused_or_open(name, data):
    check(name, data.draw(mutated(FILES[name])))


@settings(max_examples=60)
@given(data=st.data())
def test_mutated_configs_do_no_harm(data):
    check("m.safetensors", FILES["m.safetensors"], data.draw(mutated(CONFIG)))


@given(st.text(max_size=60))
def test_any_text_as_a_reference_is_a_table_or_a_sentence(text):
    access = sources.Access(offline=True, local_root=DATA)
    sentence = refusal(lambda: sources.open(text, access=access))
    assert sentence is None or sentence.endswith(".")
