"""Pickles made to hang, to grow or to confuse, in archives and in legacy files."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from posviz import sources
from posviz.errors import PosvizError

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
