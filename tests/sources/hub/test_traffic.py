"""What opening a table reads of its files: never more than they hold, nor less than the table."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import sources
from posviz.sources import FORMATS
from posviz.sources.ranges import BLOCK
from posviz.sources.readers import Spans

WIDE = np.random.default_rng(3).normal(size=(600, 96)).astype("<f4")  # over three blocks
SHORT = np.random.default_rng(4).normal(size=(40, 8)).astype("<f4")  # fits into one


def safetensors(table, raw_safetensors):
    return {"m.safetensors": raw_safetensors({"wpe.weight": ("F32", table.shape, table.tobytes())})}


def shards(table, raw_safetensors):
    other = raw_safetensors({"wte.weight": ("F32", table.shape, table.tobytes())})
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = {"weight_map": {"wpe.weight": names[0], "wte.weight": names[1]}}
    return {
        names[0]: safetensors(table, raw_safetensors)["m.safetensors"],
        names[1]: other,
        "model.safetensors.index.json": json.dumps(index).encode(),
        "config.json": b'{"model_type": "gpt2"}',
    }


def torch_file(table, *, zipped):
    torch = pytest.importorskip("torch")
    stream = io.BytesIO()
    state = {"wpe.weight": torch.from_numpy(table.copy())}
    torch.save(state, stream, _use_new_zipfile_serialization=zipped)
    return {"m.bin": stream.getvalue()}


def npy(table):
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(table))
    return {"m.npy": stream.getvalue()}


def npz(table, *, packed=False):
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, wpe=table)
    return {"m.npz": stream.getvalue()}


def gguf(table):
    name = b"position_embd.weight"
    head = b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, len(name)) + name
    head += struct.pack("<IQQIQ", 2, table.shape[1], table.shape[0], 0, 0)
    return {"m.gguf": head.ljust(-(-len(head) // 32) * 32, b"\0") + table.tobytes()}


def hdf5(table):
    """A root group with one contiguous dataset, as the specification has it."""

    def header(*messages):
        body = b"".join(struct.pack("<BHB", kind, len(raw), 0) + raw for kind, raw in messages)
        return b"OHDR\x02\x02" + struct.pack("<I", len(body)) + body + bytes(4)

    link = b"\x01\x02" + struct.pack("<I", 3) + b"wpe" + struct.pack("<Q", 128)
    space = struct.pack("<BB6xQQ", 1, 2, *table.shape)
    floats = bytes.fromhex("11201f0004000000000020001708001700007f000000")
    place = b"\x03\x01" + struct.pack("<QQ", 512, table.nbytes)
    end = struct.pack("<4Q", 0, 2**64 - 1, 512 + table.nbytes, 48)
    file = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00" + end + bytes(4) + header((6, link))
    file = file.ljust(128, b"\0") + header((1, space), (3, floats), (8, place))
    return file.ljust(512, b"\0") + table.tobytes()


def keras(table):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("model.weights.h5", hdf5(table))
    return {"m.keras": stream.getvalue()}


def text(table):
    return {"m.tsv": "\n".join("\t".join(map(repr, row)) for row in table.tolist()).encode()}


MADE = {  # format (and kind of it) -> the files of a model whose only table is the given one
    "safetensors": safetensors,
    "safetensors-sharded": shards,
    "pytorch-zip": lambda table, _: torch_file(table, zipped=True),
    "pytorch-legacy": lambda table, _: torch_file(table, zipped=False),
    "npy": lambda table, _: npy(table),
    "npz": lambda table, _: npz(table),
    "npz packed": lambda table, _: npz(table, packed=True),
    "gguf": lambda table, _: gguf(table),
    "hdf5": lambda table, _: {"m.h5": hdf5(table)},
    "hdf5 keras": lambda table, _: keras(table),
    "text": lambda table, _: text(table),
}


def test_every_format_is_among_them():
    assert {name.split()[0].removesuffix("-sharded") for name in MADE} == set(FORMATS)


@pytest.mark.parametrize("table", [WIDE, SHORT], ids=["wide", "short"])
@pytest.mark.parametrize("way", ["file", "upload", "hub"])
@pytest.mark.parametrize("made", MADE)
def test_bytes_read_are_a_share_of_the_files(made, way, table, raw_safetensors, fake_hub, tmp_path):
    files = MADE[made](table, raw_safetensors)
    root = tmp_path / "model"
    root.mkdir()
    for name, content in files.items():
        (root / name).write_bytes(content)
    if way == "hub":
        fake_hub.repos["org/model"] = root
        found = sources.open("hub:org/model", access=fake_hub.access(tmp_path / "cache"))
    elif way == "upload":
        found = sources.open_upload(files)
    else:
        found = sources.open(str(root))
    assert found.format == made.split()[0]
    np.testing.assert_array_equal(found.table().weights, table)
    once = found.bytes_read
    held = sum(map(len, files.values()))
    least = 0 if "packed" in made else table.nbytes
    assert least <= once <= found.size <= held
    if way == "hub":
        sent = [r.sent for r in fake_hub.log if "/api/" not in r.path]
        assert once == sum(sent)
    else:
        found.table()
        assert found.bytes_read == once, "looking again reads no further byte"


def test_every_file_that_was_looked_into_counts(raw_safetensors, tmp_path):
    """Of sentence-transformers a list of modules, of an adapter the name of its base model."""
    files = {
        "modules.json": b'[{"path": "0_Transformer", "type": "models.Transformer"}]',
        "0_Transformer/config.json": b'{"model_type": "bert"}',
        "0_Transformer/model.safetensors": safetensors(SHORT, raw_safetensors)["m.safetensors"],
        "1_Pooling/model.safetensors": raw_safetensors({}),
    }
    for name, content in files.items():
        (tmp_path / "st" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "st" / name).write_bytes(content)
    found = sources.open(str(tmp_path / "st"))
    found.table()
    assert found.bytes_read == found.size == sum(map(len, files.values())) - 10


def test_little_is_read_of_a_large_file(raw_safetensors, tmp_path):
    tensors = {"wpe.weight": ("F32", SHORT.shape, SHORT.tobytes())}
    tensors["wte.weight"] = ("F32", (1 << 20,), bytes(4 << 20))
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw_safetensors(tensors))
    found = sources.open(str(path))
    found.table()
    assert SHORT.nbytes < found.bytes_read < SHORT.nbytes + 2_000


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30))
def test_stretches_count_every_byte_once(asked):
    spans, seen = Spans(), set()
    for start, length in asked:
        stretch = set(range(start, start + length))
        assert spans.add(start, start + length) == len(stretch - seen)
        seen |= stretch


def test_no_byte_of_a_remote_file_is_sent_twice(fake_hub, tmp_path):
    """Small reads at both ends first, as archives and their tables need them, then all of it."""
    from posviz.sources.ranges import Address, RemoteFile
    from posviz.sources.readers import Traffic

    content = np.random.default_rng(0).bytes(5 * BLOCK + 7)
    root = tmp_path / "repo"
    root.mkdir()
    (root / "f.bin").write_bytes(content)
    fake_hub.repos["org/f"] = root
    commit = "0123456789abcdef0123456789abcdef01234567"
    address = Address(f"{fake_hub.url}/org/f/resolve/{commit}/f.bin")
    fake_hub.large = 1 << 30
    file = RemoteFile("f.bin", len(content), lambda: address, Traffic())
    for offset, length in ((0, 8), (len(content) - 22, 22), (3 * BLOCK, 16), (100, 2 * BLOCK),
                           (0, len(content)), (len(content), 0)):  # fmt: skip
        assert file.read_at(offset, length) == content[offset : offset + length]
    assert file.traffic.bytes_read <= len(content) + 2 * BLOCK  # what was no block is not kept
