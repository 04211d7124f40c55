"""Hub models through the real huggingface_hub, against a Hub on loopback that counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources.search import search

REPO = "org/gpt2"
PROJECT = Path(__file__).resolve().parents[3]


def test_gpt2_costs_three_weight_requests_and_its_table(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    checkpoint = sources.open(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))
    table = checkpoint.table()
    assert np.array_equal(table.weights, expected)
    weights = hub.weight_requests()
    assert [r.method for r in weights] == ["HEAD", "GET", "GET"]
    assert sum(r.sent for r in weights) <= 3_250_000
    assert checkpoint.requests == len(hub.log) == 5  # and the listing and config.json
    assert checkpoint.bytes_read == sum(r.sent for r in hub.log if "api" not in r.path)
    assert checkpoint.size == sum(path.stat().st_size for path in hub.repos[REPO].iterdir())
    assert table.provenance.revision == "0123456789abcdef0123456789abcdef01234567"
    assert table.provenance.source == "hub"
    assert not any(r.authorised for r in hub.log)


def test_second_opening_costs_the_listing_alone(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    access = hub.access(tmp_path / "cache")
    sources.load(f"hub:{REPO}", access=access)
    hub.log.clear()
    assert np.array_equal(sources.load(f"hub:{REPO}", access=access).weights, expected)
    assert [r.path for r in hub.log] == [f"/api/models/{REPO}/revision/main"]


def test_offline_opens_what_was_read_and_names_what_was_not(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    cache = tmp_path / "cache"
    sources.load(f"hub:{REPO}", access=hub.access(cache))
    hub.log.clear()
    offline = hub.access(cache, offline=True)
    assert np.array_equal(sources.load(f"hub:{REPO}", access=offline).weights, expected)
    with pytest.raises(SourceError) as caught:
        sources.open("hub:org/other", access=offline)
    assert str(caught.value) == (
        "org/other has not been opened here before, and this is offline mode (HF_HUB_OFFLINE). "
        "Open a local file or a demo, or go online."
    )
    assert hub.log == []


def test_a_fresh_process_asks_for_nothing_else_and_tells_nothing(gpt2_repo, tmp_path):
    hub, _ = gpt2_repo
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    environment |= {
        "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "POSVIZ_CACHE": str(tmp_path),
        "AGENT": "somebody",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "posviz", "inspect", f"hub:{REPO}", "--json"],
        capture_output=True, check=True, env=environment, cwd=PROJECT,
    )  # fmt: skip
    assert json.loads(done.stdout)["requests"] == len(hub.log)
    assert {r.path.split("/")[1] for r in hub.log if r.server == "hub"} == {"api", "org"}
    assert [r.path for r in hub.log if r.path.startswith("/api")] == [
        f"/api/models/{REPO}/revision/main"
    ]
    assert all("torch" not in agent and "somebody" not in agent for agent in hub.agents)


def test_unreachable_hub_shows_what_was_read_before(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    access = hub.access(tmp_path / "cache")
    sources.load(f"hub:{REPO}", access=access)
    hub.silent = True
    checkpoint = sources.open(f"hub:{REPO}", access=access)
    assert np.array_equal(checkpoint.table().weights, expected)
    assert checkpoint.warnings == (
        "The Hub (127.0.0.1) cannot be reached. Check the network; local files and demos open "
        "without it. What was read of org/gpt2 earlier is shown.",
    )


def test_expired_address_is_asked_for_once_more(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    hub.expire_once = True
    table = sources.load(f"hub:{REPO}", access=hub.access(tmp_path / "cache"))
    assert np.array_equal(table.weights, expected)
    assert [r.method for r in hub.weight_requests()] == ["HEAD", "GET", "HEAD", "GET", "GET"]


def test_a_small_file_that_comes_whole_is_the_range_that_was_asked_for(
    fake_hub, model_folder, rows, tmp_path
):
    table = rows(16, 8)
    fake_hub.repos[REPO] = model_folder({"wpe.weight": table}, {"model_type": "gpt2"})
    fake_hub.ignore_ranges = True
    found = sources.open(f"hub:{REPO}", access=fake_hub.access(tmp_path / "cache"))
    assert found.model_type == "gpt2"
    assert np.array_equal(found.table().weights, table)


def test_sharded_model_reads_only_the_shard_with_the_table(
    fake_hub, write_safetensors, rows, tmp_path
):
    wide = rows(1024, 1600)
    folder = tmp_path / "wide"
    shards = {f"model-0000{i}-of-00004.safetensors": f"h.{i}.w" for i in range(1, 5)}
    weight_map = {name: file for file, name in shards.items()}
    for file, name in shards.items():
        arrays = {name: rows(400, 1600)}
        if file.startswith("model-00002"):
            arrays["transformer.wpe.weight"] = wide
            weight_map["transformer.wpe.weight"] = file
        write_safetensors(folder / file, arrays)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    fake_hub.repos["org/wide"] = folder
    checkpoint = sources.open("hub:org/wide", access=fake_hub.access(tmp_path / "cache"))
    assert np.array_equal(checkpoint.table().weights, wide)
    assert checkpoint.format == "safetensors-sharded"
    assert checkpoint.bytes_read <= 1.02 * wide.nbytes
    assert {r.path.rpartition("/")[2] for r in fake_hub.log if r.method == "HEAD"} == {
        "model-00002-of-00004.safetensors"
    }
    unread = {entry.name: entry.shape for entry in checkpoint.entries}
    assert unread["h.1.w"] is None
    assert unread["h.2.w"] == (400, 1600)


def test_the_names_of_an_index_alone_tell_the_scheme(fake_hub, model_folder, rows, tmp_path):
    shard = "model-00001-of-00001.safetensors"
    names = [f"model.layers.0.{part}.weight" for part in ("self_attn.q_proj", "mlp.gate_proj")]
    root = model_folder({name: rows(4, 4) for name in names})
    (root / "model.safetensors").rename(root / shard)
    index = {"weight_map": dict.fromkeys(names, shard)}
    (root / "model.safetensors.index.json").write_text(json.dumps(index))
    fake_hub.repos["me/llama"] = root
    found = sources.open("hub:me/llama", access=fake_hub.access(tmp_path / "cache"))
    assert found.scheme == "rotary"
    assert "LLaMA" in found.message


@pytest.mark.parametrize("remote", [False, True])
def test_shards_that_an_index_forgot_are_read(shards, rows, fake_hub, tmp_path, remote):
    named, forgot = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    table = rows(16, 8)
    files = {named: {"h.0.w": rows(16, 8)}, forgot: {"wpe.weight": table}}
    root = shards({"h.0.w": named}, files)
    fake_hub.repos["org/m"] = root
    access = fake_hub.access(tmp_path / "cache")
    found = sources.open("hub:org/m" if remote else str(root), access=access)
    assert np.array_equal(found.table().weights, table)
    assert found.warnings == (
        f"model.safetensors.index.json does not name {forgot}, which by its name belongs to the "
        f"same model and was read too.",
    )


def test_of_a_hub_model_one_request_brings_rows_and_their_columns(fake_hub, rows, model_folder,
                                                                  tmp_path):  # fmt: skip
    values = rows(4000, 768)
    arrays = {"wte.weight": values, "wpe.weight": rows(1024, 768)}
    fake_hub.repos["org/gpt2"] = model_folder(arrays, {"model_type": "gpt2", "n_positions": 1024})
    found = sources.open("hub:org/gpt2", access=fake_hub.access(tmp_path / "cache"))
    sent, asked = found.bytes_read, found.requests
    np.testing.assert_array_equal(
        found.read_part("wte.weight", (50, 150), (64, 128)), values[50:150, 64:128]
    )
    assert found.requests - asked == 1
    assert found.bytes_read - sent == 100 * 768 * 4


def test_zip_checkpoint_is_read_by_ranges(fake_hub, rows, tmp_path):
    torch = pytest.importorskip("torch")
    weights = rows(1024, 768)
    folder = tmp_path / "zip"
    folder.mkdir()
    state = {
        "transformer.h.0.w": torch.zeros(2000, 768),
        "transformer.wpe.weight": torch.from_numpy(weights),
        "lm_head.weight": torch.zeros(2000, 768),
    }
    torch.save(state, folder / "pytorch_model.bin")
    fake_hub.repos["org/zip"] = folder
    checkpoint = sources.open("hub:org/zip", access=fake_hub.access(tmp_path / "cache"))
    assert np.array_equal(checkpoint.table().weights, weights)
    assert checkpoint.bytes_read < weights.nbytes + 4 * 65536
    assert len(fake_hub.weight_requests()) <= 5


def test_h03_header_just_under_a_round_size_is_read_whole(
    fake_hub, raw_safetensors, rows, tmp_path
):
    table = rows(16, 8)
    tensors = {f"h.{i}.bias": ("F32", (1,), b"\0\0\0\0") for i in range(1200)}
    tensors["transformer.wpe.weight"] = ("F32", (16, 8), table.tobytes())
    data = raw_safetensors(tensors)
    length = int.from_bytes(data[:8], "little")
    padded = (100_000).to_bytes(8, "little") + data[8 : 8 + length].ljust(100_000)
    folder = tmp_path / "padded"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(padded + data[8 + length :])
    fake_hub.repos["org/padded"] = folder
    checkpoint = sources.open("hub:org/padded", access=fake_hub.access(tmp_path / "cache"))
    assert len(checkpoint.entries) == 1201
    assert np.array_equal(checkpoint.table().weights, table)


def test_hub_cache_of_this_machine_comes_first(
    gpt2_repo, tmp_path, monkeypatch, write_safetensors, rows
):
    from huggingface_hub import constants

    commit = "f" * 40
    weights = rows(8, 4)
    root = tmp_path / "hf" / "models--org--gpt2"
    blob = write_safetensors(root / "blobs" / "abc", {"transformer.wpe.weight": weights})
    snapshot = root / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").symlink_to(blob)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    table = sources.load(f"hub:{REPO}", access=sources.Access(cache=tmp_path / "cache"))
    assert np.array_equal(table.weights, weights)
    assert table.provenance.revision == commit
    offline = {"offline": True, "cache": tmp_path / "cache"}
    (tmp_path / "models").mkdir()
    # A visitor without local paths, or with those of another folder, does not see it.
    for rights in ({"local_paths": False}, {"local_root": tmp_path / "models"}):
        with pytest.raises(SourceError, match="has not been opened here before"):
            sources.load(f"hub:{REPO}", access=sources.Access(**rights, **offline))
    within = sources.Access(local_root=tmp_path, **offline)
    assert np.array_equal(sources.load(f"hub:{REPO}", access=within).weights, weights)


def test_legacy_checkpoint_is_read_by_ranges(fake_hub, rows, tmp_path):
    torch = pytest.importorskip("torch")
    weights = rows(512, 64)
    folder = tmp_path / "legacy"
    folder.mkdir()
    state = {"a": torch.zeros(2000, 64), "transformer.wpe.weight": torch.from_numpy(weights)}
    path = folder / "pytorch_model.bin"
    torch.save(state, path, _use_new_zipfile_serialization=False)
    fake_hub.repos["org/legacy"] = folder
    checkpoint = sources.open("hub:org/legacy", access=fake_hub.access(tmp_path / "cache"))
    assert np.array_equal(checkpoint.table().weights, weights)
    assert checkpoint.bytes_read < weights.nbytes + 3 * 65536


def test_files_of_one_name_in_two_folders_are_not_mixed_up_in_the_cache(
    fake_hub, write_safetensors, rows, tmp_path
):
    access = fake_hub.access(tmp_path / "cache")
    tables = {name: rows(16, 8) for name in ("a", "b")}
    for name, table in tables.items():
        root = tmp_path / "repo" / name
        arrays = {"transformer.wpe.weight": table, "other": rows(80, 80)}
        write_safetensors(root / "text_encoder" / "model.safetensors", arrays)
        fake_hub.repos["org/two"] = root
        if name == "b":  # the same repository at the same commit, asked for another folder
            (root / "text_encoder").rename(root / "vae")
        assert np.array_equal(sources.load("hub:org/two", access=access).weights, table)


def test_cache_stays_within_its_limit(tmp_path):
    from posviz.sources import cache

    kept = cache.RangeCache(tmp_path, "org/model")
    for start in range(5):
        before = set(tmp_path.iterdir())
        kept.put(start, bytes(100))
        (written,) = set(tmp_path.iterdir()) - before
        os.utime(written, (start, start))  # one second apart, without waiting for it
    cache.prune(tmp_path, limit=250)
    held = [kept.get(start, 100) is not None for start in range(5)]
    assert held == [False, False, False, True, True], "the oldest go first"


def test_folder_that_cannot_be_written_is_no_error(gpt2_repo, tmp_path):
    hub, expected = gpt2_repo
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    table = sources.load(f"hub:{REPO}", access=hub.access(blocked))
    assert np.array_equal(table.weights, expected)


def test_search_finds_names_and_says_when_it_cannot(gpt2_repo, tmp_path):
    hub, _ = gpt2_repo
    access = hub.access(tmp_path / "cache")
    assert [(m.ref, m.downloads, m.task) for m in search("gpt", access)] == [
        ("hub:org/gpt2", 9, "text-generation")
    ]
    assert search("nothing like it", access) == ()
    hub.answer = 500
    with pytest.raises(SourceError, match="refused the search"):
        search("gpt", access)
    hub.silent = True
    with pytest.raises(SourceError, match="cannot be reached"):
        search("gpt", access)
    with pytest.raises(SourceError, match="offline mode"):
        search("gpt", hub.access(tmp_path, offline=True))
