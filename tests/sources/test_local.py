"""Paths of this machine and uploads: what may be opened, and what is never waited for."""

from __future__ import annotations

import errno
import io
import os

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources import Access


def test_a_link_to_nothing_is_said_to_be_one(tmp_path):
    link = tmp_path / "model.safetensors"
    link.symlink_to(tmp_path / "blobs" / "gone")
    with pytest.raises(SourceError) as caught:
        sources.open(str(link))
    assert str(caught.value).endswith(
        "model.safetensors is a link, and the file it leads to is not there. Fetch that first."
    )


def test_a_link_to_itself_hides_no_other_file_of_its_folder(model_folder, rows):
    root = model_folder({"wpe.weight": rows(16, 8)})
    (root / "loop").symlink_to("loop")
    assert sources.load(str(root)).n_positions == 16


@pytest.mark.parametrize("name", ["loop", "a", "loop/x.npy"])
def test_a_link_to_itself_is_said_to_be_one(tmp_path, name):
    for link, target in (("loop", "loop"), ("a", "b"), ("b", "a")):
        (tmp_path / link).symlink_to(target)
    with pytest.raises(SourceError) as caught:
        sources.open(str(tmp_path / name))
    assert str(caught.value).endswith(
        f"{name} is a link that leads back to itself, with no file behind it. Put the file there, "
        f"or name it where it is."
    )


def test_no_link_leads_out_of_the_allowed_folder_past_a_link_to_itself(
    model_folder, tmp_path, rows
):
    model_folder({"wpe.weight": rows(16, 8)})
    root = tmp_path / "allowed"
    root.mkdir()
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to(tmp_path)
    with pytest.raises(SourceError, match=r"leads back to itself|lies outside"):
        sources.open("loop/../out", access=Access(local_root=root))


def test_config_beside_a_single_file_counts(model_folder, rows):
    root = model_folder(
        {"embeddings.position_embeddings.weight": rows(66, 8)},
        {"model_type": "roberta", "pad_token_id": 1},
    )
    found = sources.open(str(root / "model.safetensors"))
    assert found.tables[0].row_offset == 2
    assert found.name == "model"  # the folder, since "model.safetensors" says nothing


def test_link_that_leaves_the_folder_is_refused(tmp_path, write_safetensors, rows):
    secret = write_safetensors(tmp_path / "secret" / "s.safetensors", {"wpe.weight": rows(16, 8)})
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(secret)
    with pytest.raises(SourceError, match="is a link that leaves its folder"):
        sources.open(str(folder))


def test_file_of_the_hubs_cache_is_known_by_its_name_and_config(tmp_path, model_folder, rows):
    made = model_folder(
        {"embeddings.position_embeddings.weight": rows(66, 8)},
        {"model_type": "roberta", "pad_token_id": 1},
    )
    repo = tmp_path / "link" / "models--org--name"
    snapshot = tmp_path / "real" / "models--org--name" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    blobs = snapshot.parents[1] / "blobs"
    blobs.mkdir()
    for index, name in enumerate(("model.safetensors", "config.json")):
        (made / name).rename(blobs / f"{index}")
        (snapshot / name).symlink_to(f"../../blobs/{index}")
    for ref in (
        repo / "snapshots" / ("a" * 40),
        repo / "snapshots" / ("a" * 40) / "model.safetensors",
    ):
        found = sources.open(str(ref))
        assert found.tables[0].row_offset == 2
        assert found.tables[0].file == "model.safetensors"


def test_pipes_devices_and_folders_are_not_waited_for(tmp_path, bounded):
    pipe = tmp_path / "model.safetensors"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(SourceError, match="is not a regular file"):
            bounded(lambda path=path: sources.open(str(path)))
    with pytest.raises(SourceError, match="is not a regular file"):
        sources.open(str(tmp_path))


def test_a_file_that_changes_between_reads_is_refused(tmp_path, write_safetensors, rows):
    arrays = {"wpe.weight": rows(512, 64), "other": rows(4, 4)}
    path = write_safetensors(tmp_path / "m.safetensors", arrays)
    found = sources.open(str(path))
    write_safetensors(path, {name: array + 1 for name, array in arrays.items()})
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        found.read("other")


def test_local_paths_can_be_switched_off_or_confined(tmp_path, write_safetensors, rows):
    inside = write_safetensors(tmp_path / "open" / "m.safetensors", {"wpe.weight": rows(16, 8)})
    outside = write_safetensors(tmp_path / "closed" / "m.safetensors", {"wpe.weight": rows(16, 8)})
    with pytest.raises(SourceError) as caught:
        sources.open(str(inside), access=Access(local_paths=False))
    assert str(caught.value) == (
        f"{inside}: paths of this server cannot be opened here. Upload the file, or name a Hub "
        f"model as hub:OWNER/NAME."
    )
    confined = Access(local_root=tmp_path / "open")
    assert sources.load("m.safetensors", access=confined).n_positions == 16
    assert sources.load(str(inside), access=confined).n_positions == 16
    link = tmp_path / "open" / "link.safetensors"
    link.symlink_to(outside)
    for ref in (str(outside), "../closed/m.safetensors", str(link), "~"):
        with pytest.raises(SourceError, match="lies outside"):
            sources.open(ref, access=confined)


@pytest.mark.parametrize("ref", ["", "  ", "a\x00b", "x" * 5000, "~nobody_here/x", "gtp2", "a/b"])
def test_references_that_mean_nothing_are_one_sentence(ref):
    with pytest.raises(SourceError) as caught:
        sources.open(ref)
    assert str(caught.value).endswith(".")


def test_upload_with_config_and_upper_case_ending(model_folder, rows):
    root = model_folder(
        {"embeddings.position_embeddings.weight": rows(66, 8)},
        {"model_type": "roberta", "pad_token_id": 1},
    )
    weights = (root / "model.safetensors").read_bytes()
    config = io.BytesIO((root / "config.json").read_bytes())
    found = sources.open_upload({"MODEL.SAFETENSORS": io.BytesIO(weights), "config.json": config})
    assert found.ref == "upload:MODEL.SAFETENSORS"
    assert found.tables[0].row_offset == 2
    assert found.table().provenance.source == "upload"
    assert found.size == len(weights) + len(config.getvalue())


@pytest.mark.parametrize("name", ["", "a.npy"])
def test_a_closed_folder_is_said_to_be_closed(tmp_path, monkeypatch, name):
    folder = tmp_path / "closed"
    (folder / "inside").mkdir(parents=True)
    np.save(folder / "a.npy", np.ones((4, 2)))

    def denied(path, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # Not by chmod: whoever runs this as root may look into every folder.
    monkeypatch.setattr(os, "scandir", denied)
    if name:
        monkeypatch.setattr(os, "lstat", denied)
    with pytest.raises(
        SourceError, match=r"(closed|a\.npy) could not be opened: Permission denied\."
    ):
        sources.open(str(folder / name))


def test_a_closed_folder_inside_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    np.save(tmp_path / "a.npy", np.eye(4, 2))
    real = os.scandir

    def denied(path):
        if str(path).endswith("inside"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", denied)
    assert sources.open(str(tmp_path)).table().weights.shape == (4, 2)


def test_shards_that_are_uploaded_together_are_called_by_what_their_names_share(
    raw_safetensors, rows
):
    files = {
        f"gpt-0000{number}-of-00002.safetensors": raw_safetensors(
            {name: ("F32", (16, 8), rows(16, 8).tobytes())}
        )
        for number, name in ((1, "wte.weight"), (2, "wpe.weight"))
    }
    assert sources.open_upload(files).name == "gpt"
    last = dict([files.popitem()])
    assert sources.open_upload(last).name == "gpt-00002-of-00002"


def test_u08_same_name_other_content_is_another_table(raw_safetensors, rows):
    first, second = rows(16, 8), rows(16, 8)
    tables = [
        sources.open_upload(
            {"a.safetensors": raw_safetensors({"wpe": ("F32", (16, 8), table.tobytes())})}
        ).table()
        for table in (first, second, first)
    ]
    assert np.array_equal(tables[1].weights, second)
    assert tables[0].fingerprint == tables[2].fingerprint != tables[1].fingerprint


def test_upload_of_shards_with_their_index(shards, rows):
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    root = shards({"a": one, "wpe": two}, {one: {"a": rows(2, 2)}, two: {"wpe": rows(16, 8)}})
    files = {path.name: path.read_bytes() for path in root.iterdir()}
    assert sources.open_upload(files).table().n_positions == 16
    with pytest.raises(SourceError, match="Nothing was uploaded"):
        sources.open_upload({})
