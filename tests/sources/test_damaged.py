"""What is damaged beside sound weights hides none of them, and is said."""

from __future__ import annotations

import os

import numpy as np
import pytest

from posviz import sources
from posviz.errors import NoTableError, SourceError
from posviz.sources.bundle import open_bundle

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
DECIDED = (
    "It was not read: names, shapes and numbers alone decided which tables there are and which row "
    "of each is the first."
)
AGAIN = "Download or save the file again."
DAMAGED = {
    "{bad": f"config.json is damaged: it is not valid JSON. {AGAIN}",
    '{"model_type": "gpt2", "n_pos': f"config.json is damaged: it is not valid JSON. {AGAIN}",
    "": f"config.json is damaged: it is not valid JSON. {AGAIN}",
    "[" * 100_000: f"config.json is damaged: it is not valid JSON. {AGAIN}",
    "[1, 2]": f"config.json is damaged: it is not a JSON object. {AGAIN}",
    "[" + "1," * 300_000 + "1]": (
        "config.json is damaged: it holds some 300,001 values, more than any model has. " + AGAIN
    ),
    " " * (9 << 20): (
        "config.json has 9,437,184 bytes; a config.json is far smaller. Put the model's own there."
    ),
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_config_is_said_and_the_weights_open(model_folder, rows, text):
    table = rows(514, 8)
    table[1] = 0  # RoBERTa's padding row, by which the numbers tell the first position
    root = model_folder({"roberta.embeddings.position_embeddings.weight": table}, {})
    (root / "config.json").write_text(text)
    content = {name: (root / name).read_bytes() for name in ("model.safetensors", "config.json")}
    for found in (
        sources.open(str(root)),
        sources.open(str(root / "model.safetensors")),
        sources.open_upload(content),
    ):
        assert found.warnings == (f"{DAMAGED[text]} {DECIDED}",)
        assert found.model_type is None
        assert found.table().row_offset == 2
        np.testing.assert_array_equal(found.table().raw, table)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_config_that_is_no_file_here_is_not_followed(model_folder, rows, kind):
    root = model_folder({"wpe.weight": rows(16, 8)})
    (root.parent / "outside.json").write_text('{"model_type": "opt"}')
    if kind == "pipe":
        os.mkfifo(root / "config.json")
    elif kind == "link":
        (root / "config.json").symlink_to(root.parent / "outside.json")
    else:
        (root / "config.json").mkdir()
    found = sources.open(str(root))
    assert (found.model_type, found.table().n_positions) == (None, 16)
    assert [said.endswith(DECIDED) for said in found.warnings] == [True] * (kind != "folder")


def test_without_weights_a_damaged_config_is_no_model(tmp_path):
    (tmp_path / "config.json").write_text("{bad")
    with pytest.raises(SourceError, match="holds no numbers of its own"):
        sources.open(str(tmp_path))


def test_a_model_without_a_table_is_still_told_by_its_tensors(model_folder, rows):
    root = model_folder({"model.layers.0.self_attn.rotary_emb.inv_freq": rows(64)}, {})
    (root / "config.json").write_text("{bad")
    found = sources.open(str(root))
    assert (found.scheme, len(found.warnings)) == ("rotary", 1)
    with pytest.raises(NoTableError, match="inv_freq"):
        found.table()


def test_no_checkpoint_is_written_over_a_damaged_config(model_folder, rows):
    root = model_folder({"wpe.weight": rows(16, 8)}, {})
    (root / "config.json").write_text("{bad")
    with pytest.raises(SourceError) as caught:
        open_bundle(str(root))
    assert str(caught.value) == (
        f"config.json is damaged: it is not valid JSON. {AGAIN} It says how many positions the "
        f"model has, so no checkpoint can be written without it."
    )


@pytest.mark.parametrize("text", ["{bad", "[]", "nul"])
def test_damaged_settings_of_an_adapter_hide_no_table(tmp_path, write_safetensors, rows, text):
    table = rows(16, 8)
    path = write_safetensors(tmp_path / "a" / "adapter_model.safetensors", {"wpe.weight": table})
    (path.parent / "adapter_config.json").write_text(text)
    found = sources.open(str(path.parent))
    np.testing.assert_array_equal(found.table().weights, table)
    assert found.warnings[-1].endswith(
        "takes the place of that of its base model (adapter_config.json, which names it, cannot be "
        "read)."
    )
    write_safetensors(path, {"h.attn.lora_A.weight": rows(2, 8)})
    with pytest.raises(
        SourceError, match=r"Open its base model .adapter_config\.json, which names"
    ):
        sources.open(str(path.parent))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "modules.json"])
def test_other_damaged_files_hide_no_weights(model_folder, rows, name):
    table = rows(16, 8)
    root = model_folder({"wpe.weight": table}, {"model_type": "gpt2"})
    (root / name).write_text("{bad")
    np.testing.assert_array_equal(sources.load(str(root)).weights, table)


@pytest.fixture
def halves(shards, rows):
    """A function (map or None, which shard to cut) that gives a folder of two shards."""

    def halves(indexed: bool, cut: str, keep: int = -4):
        files = {ONE: {"a": rows(9, 8)}, TWO: {"wpe.weight": rows(16, 8)}}
        root = shards({"a": ONE, "wpe.weight": TWO} if indexed else None, files)
        whole = (root / cut).read_bytes()
        (root / cut).write_bytes(whole[:keep])
        return root

    return halves


@pytest.mark.parametrize("keep", [-4, 40, 0])
@pytest.mark.parametrize("indexed", [True, False])
def test_an_incomplete_shard_without_the_table_is_said(halves, indexed, keep):
    found = sources.open(str(halves(indexed, ONE, keep)))
    assert found.table().n_positions == 16
    (said,) = found.warnings
    assert said.startswith(f"{ONE} is ")
    where = "by the index no position table lies in it." if indexed else "it may hold a position"
    assert where in said
    assert ("a" in [entry.name for entry in found.entries]) is indexed
    if indexed:
        with pytest.raises(SourceError, match=f"a lies in a file that cannot be read. {ONE} is "):
            found.read("a")


def test_a_table_in_an_incomplete_shard_is_said_to_be_there(halves):
    found = sources.open(str(halves(True, TWO)))
    assert found.tables == ()
    assert found.message == (
        f"The position table wpe.weight lies in {TWO}, which cannot be read. Mend it."
    )
    (said,) = found.warnings
    assert said.startswith(f"{TWO} is incomplete")
    assert said.endswith("The position table wpe.weight lies in it.")


def test_without_an_index_an_incomplete_shard_may_hold_the_table(halves):
    found = sources.open(str(halves(False, TWO)))
    assert found.tables == ()
    assert found.message == (
        f"No position table was found in the files that can be read. {TWO} cannot, and may hold "
        f"it: download or save it again."
    )


def test_shards_of_which_none_can_be_read_are_refused(halves):
    root = halves(True, ONE)
    (root / TWO).write_bytes(b"")
    with pytest.raises(SourceError, match=f"{ONE} is incomplete"):
        sources.open(str(root))


def test_one_file_alone_is_still_refused(model_folder, rows):
    root = model_folder({"wpe.weight": rows(16, 8)}, {})
    path = root / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SourceError, match="is incomplete"):
        sources.open(str(root))
