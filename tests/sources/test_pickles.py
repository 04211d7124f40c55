"""Hostile pickles and archives, built by hand: nothing runs, nothing hangs, nothing grows."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import struct
import zipfile
import zlib

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources.formats.inert import Inert
from posviz.sources.formats.pickles import PickleError, interpret

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7

STORAGE = (
    b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x20tQ"
)
TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n("
    + STORAGE
    + b"K\x00K\x08K\x04\x86K\x04K\x01\x86\x89Ntr".replace(b"tr", b"tR")
)


def state(before: bytes = b"", after: bytes = b"") -> bytes:
    """A pickle of {"wpe.weight": table}, with something done before and after."""
    return b"\x80\x02" + before + b"}X\x0a\x00\x00\x00wpe.weight" + TENSOR + b"s" + after + b"."


def archive(members: dict[str, bytes], *, method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def torch_zip(pickled: bytes, numbers: bytes = TABLE.tobytes(), **options) -> bytes:
    return archive(
        {"m/data.pkl": pickled, "m/byteorder": b"little", "m/data/0": numbers, "m/version": b"3\n"},
        **options,
    )


def opened(content: bytes, name: str = "m.pt"):
    return sources.open_upload({name: content})


def test_the_hand_made_file_opens():
    assert np.array_equal(opened(torch_zip(state())).table().weights, TABLE)


@pytest.mark.parametrize(
    "code",
    [
        b"cos\nsystem\nX\x13\x00\x00\x00touch /tmp/posviz_x\x85R0",
        b"cbuiltins\nexec\nX\x05\x00\x00\x00x = 1\x85R0",
        b"(cos\nsystem\nX\x13\x00\x00\x00touch /tmp/posviz_xo0",
        b"(X\x13\x00\x00\x00touch /tmp/posviz_xios\nsystem\n0",
        b"cos\nsystem\n)\x81}X\x01\x00\x00\x00aK\x01sb0",
    ],
)
def test_code_in_the_file_is_data(code, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(os, "system", calls.append)
    found = opened(torch_zip(state(before=code)))
    assert np.array_equal(found.table().weights, TABLE)
    assert calls == []
    (warning,) = found.warnings
    assert any(name in warning for name in ("os.system", "builtins.exec"))
    legacy = b"\x80\x02" + b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" + b"."
    legacy += b"\x80\x02M\xe9\x03."
    legacy += pickle.dumps({"little_endian": True}, 2) + state(before=code)
    legacy += pickle.dumps(["0"], 2) + struct.pack("<Q", 32) + TABLE.tobytes()
    found = opened(legacy)
    assert np.array_equal(found.table().weights, TABLE)
    assert calls == []
    assert found.warnings == (warning,)


def test_only_calls_that_would_act_are_warned_of() -> None:
    harmless = b"cargparse\nNamespace\n)\x810cbuiltins\nset\n)R0cos\nsystem\n0"
    assert opened(torch_zip(state(before=harmless))).warnings == ()
    many = b"".join(b"csubprocess\ncall_%d\n)R0" % n for n in range(50))
    (warning,) = opened(torch_zip(state(before=many))).warnings
    assert "subprocess.call_0" in warning
    assert len(warning) < 400


def test_deeply_shared_key_does_not_hang(bounded):
    key = b")" + b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(40))
    pickled = b"\x80\x04}" + key + b"K\x01s0" + state()[2:]
    bounded(lambda: opened(torch_zip(pickled)).table())


def test_memo_index_of_two_billion_costs_nothing(bounded):
    pickled = state(before=b"K\x01r\xff\xff\xff\x7f0")
    bounded(lambda: opened(torch_zip(pickled)).table())
    bounded.memory(lambda: opened(torch_zip(pickled)).table())


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.",  # a terabyte of bytes
        b"\x80\x04\x8d" + struct.pack("<Q", 2**63) + b"x.",
        b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",
        b"\x80\x02.",
        b"\x80\x02h\x05.",
        b"\x80\x02\x86.",
        b"\x80\x02K\x01K\x02s.",
        b"\x80\x02(K\x01K\x02K\x03u.",
        b"\x80\x02}(K\x01u.",
        b"\x80\x02K\x01K\x02\x93.",
        b"\x80\x02\x82\x01.",  # extension code
        b"\x80\x05\x97.",  # out-of-band buffer
        b"I99x\n.",
        b"L" + b"9" * 10_000 + b"L\n.",
        b"\xff\xff",
        b"",
        b"cos",
    ],
    ids=range(17),
)
def test_broken_or_boundless_pickles_are_refused(refused, pickled):
    assert "data.pkl cannot be read" in refused("m.pt", torch_zip(pickled))


@pytest.mark.parametrize(
    "repeated",
    [b"\x85", b"(", b"2"],
    ids=["tuples in tuples", "marks", "copies"],
)
def test_two_million_steps_stop_at_the_bound(bounded, repeated):
    def run():
        with pytest.raises(PickleError, match="more than 750,000 steps"):
            interpret(b"\x80\x02)" + repeated * 2_000_000 + b".")

    bounded(run)


def test_a_list_that_holds_itself_ends(bounded):
    loop = b"]q\x00h\x00aq\x01"
    found = bounded(lambda: opened(torch_zip(b"\x80\x02" + loop + b".")))
    assert found.entries == ()


def test_many_references_to_one_container_are_walked_once(bounded):
    doubled = b"]q\x00" + b"".join(
        b"](h%bh%be" % (bytes([i]), bytes([i])) + b"q" + bytes([i + 1]) for i in range(60)
    )
    found = bounded(lambda: opened(torch_zip(b"\x80\x02" + doubled + b".")))
    assert found.entries == ()


def test_compressed_members_are_refused(refused):
    sentence = refused("m.pt", torch_zip(state(), method=zipfile.ZIP_DEFLATED))
    assert sentence == (
        "m.pt holds byteorder compressed, which PyTorch itself never does. Unpack it and save it "
        "again with torch.save."
    )


def test_a_bomb_is_not_unpacked(refused):
    bomb = archive({"m/data.pkl": bytes(64 << 20)}, method=zipfile.ZIP_DEFLATED)
    assert "compressed" in refused("m.pt", bomb)
    numbers = io.BytesIO()
    with zipfile.ZipFile(numbers, "w") as file:
        file.writestr("m/data.pkl", state())
        file.writestr("m/data/0", bytes(64 << 20), zipfile.ZIP_DEFLATED)
    assert "compressed" in refused("m.pt", numbers.getvalue())


def test_pickle_that_promises_more_numbers_than_there_are(refused):
    sentence = refused("m.pt", torch_zip(state(), TABLE.tobytes()[:64]))
    assert "data/0 is shorter than data.pkl says" in sentence
    huge = (
        state()
        .replace(b"K\x20tQ", b"J\xff\xff\xff\x7ftQ")
        .replace(b"K\x08K\x04\x86K\x04K\x01\x86", b"J\xff\xff\xff\x0fK\x04\x86K\x04K\x01\x86")
    )
    assert "MiB" in refused("m.pt", torch_zip(huge))


def test_repeated_member_names_are_refused(refused):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("m/data.pkl", state())
        file.writestr("m/data/0", TABLE.tobytes())
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("m/data/0", (TABLE + 1).tobytes())
    assert "holds m/data/0 twice" in refused("m.pt", stream.getvalue())


def test_member_sizes_that_lie_are_refused(refused):
    content = torch_zip(state())
    real = struct.pack("<2L", 128, 128)
    lie = content.replace(real, struct.pack("<2L", 2**32 - 2, 2**32 - 2))
    assert lie != content
    assert "overlaps what follows it in the archive" in refused("m.pt", lie)
    moved = bytearray(content)
    at = content.rindex(b"PK\x01\x02")
    moved[at + 42 : at + 46] = struct.pack("<L", len(content) - 60)
    assert "damaged" in refused("m.pt", bytes(moved))


@pytest.mark.parametrize("patch", [(8, 0xFFFF), (10, 0xFFFF), (12, 0x7FFFFFFF), (16, 0x7FFFFFFF)])
def test_directories_that_lie_are_refused(refused, patch):
    offset, value = patch
    content = bytearray(torch_zip(state()))
    end = content.rindex(b"PK\x05\x06")
    width = 2 if offset < 12 else 4
    content[end + offset : end + offset + width] = value.to_bytes(width, "little")
    if offset < 12:  # counts of members are not what is trusted
        assert np.array_equal(opened(bytes(content)).table().weights, TABLE)
    else:
        assert "directory of the archive" in refused("m.pt", bytes(content))


def test_zip64_directories_open():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in {"m/data.pkl": state(), "m/data/0": TABLE.tobytes()}.items():
            with file.open(name, "w", force_zip64=True) as member:
                member.write(content)
    assert np.array_equal(opened(stream.getvalue()).table().weights, TABLE)


def test_archives_of_something_else_are_named(refused):
    assert refused("m.pt", archive({"a.txt": b"x"})) == (
        "m.pt is a zip archive without the data.pkl of a PyTorch checkpoint. Unpack it and open "
        "the checkpoint inside."
    )
    big = archive({"m/data.pkl": state(), "m/byteorder": b"big", "m/data/0": TABLE.tobytes()})
    assert "big-endian" in refused("m.pt", big)


def test_plain_pickles_are_not_unpickled(refused):
    sentence = refused("model.pkl", pickle.dumps({"wpe.weight": [1.0]}))
    assert "is a bare Python pickle" in sentence


def test_unknown_objects_stay_inert():
    pickled = pickle.dumps(argparse.Namespace(a=1), 2)
    found = interpret(pickled + b"rest")
    value, end, storages = found.value, found.end, found.storages
    assert isinstance(value, Inert)
    assert str(value.maker) == "argparse.Namespace"
    assert value.state == {"a": 1}
    assert end == len(pickled)
    assert storages == {}


def test_every_protocol_gives_the_same_data():
    value = {"a": [1, 2.5, None, True, "x", b"y", (1, 2, 3, 4)], "b": {"c": 2**80}}
    for protocol in range(6):
        found = interpret(pickle.dumps(value, protocol)).value
        if protocol >= 3:  # bytes have no opcode of their own before
            assert found == value
        assert found["b"] == {"c": 2**80}
        assert found["a"][:5] == value["a"][:5]


def test_corrupted_numbers_are_a_refusal_not_a_crash():
    packed = zlib.compress(state())
    with pytest.raises(SourceError):
        opened(packed)
