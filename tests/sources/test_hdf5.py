"""HDF5 read without its library: real files, and files that lead into others."""

from __future__ import annotations

import contextlib
import json
import zipfile

import numpy as np
import pytest

from posviz import sources
from posviz.errors import PosvizError, SourceError

TABLE = np.arange(32, dtype="<f4").reshape(8, 4) / 7


@pytest.mark.parametrize("name", ["keras3.weights.h5", "keras3-latest.weights.h5"])
def test_keras_weights_open(data, name):
    found = sources.open(str(data / name))
    assert found.format == "hdf5"
    assert [t.parameter for t in found.tables] == [
        "layers/token_and_position_embedding/position_embedding/vars/0"
    ]
    np.testing.assert_array_equal(found.table().weights, TABLE)
    assert {entry.name.split("/")[0] for entry in found.entries} == {"layers"}


def test_keras_weights_in_several_files_open_by_their_index(data, tmp_path):
    layer = "/layers/token_and_position_embedding/position_embedding/vars"
    files = {"m_00000.weights.h5": "keras3", "m_00001.weights.h5": "keras3-dense"}
    for name, of in files.items():
        (tmp_path / name).write_bytes((data / f"{of}.weights.h5").read_bytes())
    index = {"weight_map": {layer: "m_00000.weights.h5", "/layers/dense/vars": [*files]}}
    (tmp_path / "m.weights.json").write_text(json.dumps(index))
    found = sources.open(str(tmp_path))
    assert found.warnings == ()
    assert {entry.file for entry in found.entries} == {*files}
    np.testing.assert_array_equal(found.table().weights, TABLE)
    everything = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    np.testing.assert_array_equal(sources.open_upload(everything).table().weights, TABLE)
    (tmp_path / "m_00000.weights.h5").unlink()
    missing = sources.open(str(tmp_path)).message
    assert missing.endswith("lies in m_00000.weights.h5, which is missing. Add it.")
    (tmp_path / "m.weights.json").write_text('{"weight_map": {"/layers/a/vars": ["../m.h5"]}}')
    with pytest.raises(SourceError, match="It was not followed"):
        sources.open(str(tmp_path))


def test_a_table_that_cannot_be_read_hides_no_other_in_the_file(data, tmp_path):
    said = (
        "wpe in m_00000.weights.h5 is compressed with LZF, which is not read. Save it with gzip, "
        "or without."
    )
    alone = sources.open_upload({"m_00000.weights.h5": (data / "lzf.h5").read_bytes()})
    assert [table.parameter for table in alone.tables] == ["wpe"]
    assert alone.warnings == (said,)
    with pytest.raises(SourceError) as caught:
        alone.table()
    assert str(caught.value) == said
    names = {"m_00000.weights.h5": "lzf.h5", "m_00001.weights.h5": "keras3.weights.h5"}
    for name, of in names.items():
        (tmp_path / name).write_bytes((data / of).read_bytes())
    index = {"weight_map": {"/a/vars": "m_00000.weights.h5", "/b/vars": "m_00001.weights.h5"}}
    (tmp_path / "m.weights.json").write_text(json.dumps(index))
    both = sources.open(str(tmp_path))
    assert both.warnings == (said,)
    assert [table.file for table in both.tables] == ["m_00001.weights.h5", "m_00000.weights.h5"]
    np.testing.assert_array_equal(both.table().weights, TABLE)


def test_tensorflow_weights_open_with_old_groups_and_half_precision(data):
    found = sources.open(str(data / "tf_model.h5"))
    assert found.tables[0].label.endswith("embeddings/position_embeddings")
    assert found.tables[0].dtype == "F16"
    np.testing.assert_array_equal(found.table().raw, TABLE.astype("<f2").astype(np.float32))
    assert sum("layer_" in entry.name for entry in found.entries) == 12


def test_big_endian_numbers_are_turned(data):
    content = (data / "keras3.weights.h5").read_bytes()
    little, big = (bytes([0x11, order, 0x1F, 0, 4, 0, 0, 0]) for order in (0x20, 0x21))
    assert content.count(little)
    assert content.count(TABLE.astype("<f4").tobytes()) == 1
    content = content.replace(little, big)
    content = content.replace(TABLE.astype("<f4").tobytes(), TABLE.astype(">f4").tobytes())
    found = sources.open_upload({"k.weights.h5": content})
    np.testing.assert_array_equal(found.table().weights, TABLE)


def test_tensorflow_roberta_keeps_its_offset(data, tmp_path):
    (tmp_path / "tf_model.h5").write_bytes((data / "tf_model.h5").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "roberta", "pad_token_id": 1}')
    assert sources.open(str(tmp_path)).tables[0].row_offset == 2


def test_links_are_not_followed(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.h5").write_bytes((data / "keras3.weights.h5").read_bytes())
    found = sources.open(str(data / "links.h5"))
    assert [entry.name for entry in found.entries] == ["x"]
    assert found.warnings == ("links.h5 holds 2 links that may lead out of it; none was followed.",)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "external.h5",
            "wpe in external.h5 keeps its numbers in another file, which is not opened.",
        ),
        ("virtual.h5", "wpe in virtual.h5 is put together from other files, which are not opened."),
        (
            "lzf.h5",
            "wpe in lzf.h5 is compressed with LZF, which is not read. Save it with gzip, or "
            "without.",
        ),
    ],
)
def test_numbers_that_lie_elsewhere_are_refused(data, tmp_path, monkeypatch, name, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(bytes(128))
    with pytest.raises(SourceError) as caught:
        sources.open(str(data / name)).table()
    assert str(caught.value) == sentence


def test_a_compressed_table_opens(data):
    np.testing.assert_array_equal(sources.open(str(data / "packed.h5")).table().weights, TABLE)


def test_a_block_of_a_persons_own_before_the_file_is_left_out(data, refused):
    content = (data / "user_block.h5").read_bytes()
    assert content.startswith(b"a block of one's own")
    for name in ("user_block.h5", "m.weights.h5"):
        found = sources.open_upload({name: content})
        np.testing.assert_array_equal(found.table().weights, TABLE)
    assert refused("m.h5", content[:-64]) == (
        f"m.h5 is incomplete: {len(content) - 64:,} of {len(content):,} bytes are there. Download "
        f"it again."
    )


def test_terabytes_declared_in_chunks_cost_nothing(data, bounded):
    with pytest.raises(SourceError, match="MiB, more than any position table"):
        bounded(lambda: sources.open(str(data / "chunked.h5")).table())


@pytest.mark.parametrize("name", ["keras3.weights.h5", "keras3-latest.weights.h5", "tf_model.h5"])
def test_a_flipped_byte_anywhere_is_a_refusal_or_harmless(data, name, bounded):
    """Bytes all over the structure: no crash, no hang, no foreign exception."""
    content = (data / name).read_bytes()
    for at in range(0, len(content), 41):
        wrong = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
        with contextlib.suppress(PosvizError):
            sources.open_upload({"m.h5": wrong}).table()


def test_agrees_with_h5py_for_every_way_it_writes(tmp_path, rows):
    h5py = pytest.importorskip("h5py")
    for version in ("earliest", "latest", ("v108", "v110")):
        for tracked in (False, True):
            path = tmp_path / "t.h5"
            table = rows(16, 8)
            with h5py.File(path, "w", libver=version, track_order=tracked) as file:
                file["position_embedding/vars/0"] = table
                many = file.create_group("many", track_order=tracked)
                for index in range(400):
                    many[f"a_rather_long_name_{index}"] = np.float32([index])
            found = sources.open(str(path))
            np.testing.assert_array_equal(found.table().weights, table)
            assert len(found.entries) == 401
            assert found.read("many/a_rather_long_name_399")[0] == 399


def test_keras_archive_is_read_in_place(data, tmp_path, refused):
    content = (data / "keras3.weights.h5").read_bytes()
    for name, method in (("stored", zipfile.ZIP_STORED), ("packed", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(tmp_path / f"{name}.keras", "w", method) as file:
            file.writestr("metadata.json", "{}")
            file.writestr("model.weights.h5", content)
    found = sources.open(str(tmp_path / "stored.keras"))
    np.testing.assert_array_equal(found.table().weights, TABLE)
    packed = (tmp_path / "packed.keras").read_bytes()
    assert "holds no model.weights.h5 that could be read" in refused("packed.keras", packed)
