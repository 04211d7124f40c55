"""Adapters (LoRA and the like): whose model they change, and which tables they bring."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.sources import schemes
from posviz.sources.bundle import open_bundle
from posviz.sources.formats import Entry


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


@pytest.mark.parametrize("part", ["lora_A", "lora_down", "lora.A", "lora.up", "lora_embedding_B"])
def test_an_adapter_in_a_whole_model_is_known_by_every_spelling(part):
    whole = Entry("decoder.weight", (8, 8), "F32", 256, "m")
    piece = Entry(f"decoder.{part}.weight", (4, 8), "F32", 128, "m")
    for entries in ([piece], [whole, piece]):
        assert "adapter (LoRA or the like)" in schemes.explain(entries, None)[1]
    assert "adapter" not in schemes.explain([whole], None)[1]


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
