"""Weight files as they are met: shards, pickles, half types, buffers, copies."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from posviz.export.checkpoint import extend_checkpoint, write
from posviz.export.plan import plan
from posviz.export.recipe import Recipe
from posviz.sources.bundle import open_uploaded_bundle

torch = pytest.importorskip("torch")

Files = Callable[[Path], dict[str, bytes]]
Outputs = Callable[[Any, int], np.ndarray]


def test_every_shard_and_the_index_are_right(
    saved: Callable[..., Path],
    loaded: Callable[..., Any],
    built: Callable[..., Any],
    tmp_path: Path,
    files: Files,
    outputs: Outputs,
) -> None:
    folder = saved("gpt2", max_shard_size="8KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="tile")
    np.testing.assert_array_equal(
        outputs(loaded(tmp_path / "new", "gpt2"), 32), outputs(built("gpt2"), 32)
    )
    new = files(tmp_path / "new")
    index = json.loads(new["model.safetensors.index.json"])
    held = {
        name: shard
        for shard in new
        if shard.endswith(".safetensors")
        for name in load_file(tmp_path / "new" / shard)
    }
    assert index["weight_map"] == held
    sizes = [
        array.nbytes for shard in set(held.values())
        for array in load_file(tmp_path / "new" / shard).values()
    ]  # fmt: skip
    assert index["metadata"]["total_size"] == sum(sizes)


@pytest.mark.parametrize("pieces", ["whole", "sharded"])
def test_a_pickled_checkpoint_is_written_as_safetensors(
    pieces: str,
    built: Callable[..., Any],
    loaded: Callable[..., Any],
    tmp_path: Path,
    files: Files,
    outputs: Outputs,
) -> None:
    model, folder = built("bert"), tmp_path / "bert"
    model.save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    state = model.state_dict()  # the output table is tied: two names, one storage
    state["bert.pooler.dense.weight"] = torch.arange(64.0).reshape(4, 16).t()  # strided
    names = list(state)
    if pieces == "whole":
        torch.save(state, folder / "pytorch_model.bin")
    else:
        parts = {f"pytorch_model-0000{n + 1}-of-00002.bin": names[n::2] for n in (0, 1)}
        for file, held in parts.items():
            torch.save({name: state[name] for name in held}, folder / file)
        weight_map = {name: file for file, held in parts.items() for name in held}
        (folder / "pytorch_model.bin.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": weight_map})
        )
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="tile")
    new = files(tmp_path / "new")
    assert not [name for name in new if "bin" in name]
    held = {}
    for name in new:
        if name.endswith(".safetensors"):
            held |= load_file(tmp_path / "new" / name)
    assert set(held) == set(names)
    np.testing.assert_array_equal(
        held["bert.pooler.dense.weight"], state["bert.pooler.dense.weight"]
    )
    for name in set(names) - {"bert.embeddings.position_embeddings.weight"}:
        np.testing.assert_array_equal(held[name], state[name].numpy())
    np.testing.assert_array_equal(
        outputs(_without_pooler(tmp_path / "new", loaded), 32), outputs(model, 32)
    )


def _without_pooler(folder: Path, loaded: Callable[..., Any]) -> Any:
    for path in folder.glob("*.safetensors"):
        held = load_file(path)
        if held.pop("bert.pooler.dense.weight", None) is not None:
            save_file(held, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.exists():
        content = json.loads(index.read_text())
        content["weight_map"].pop("bert.pooler.dense.weight")
        index.write_text(json.dumps(content))
    return loaded(folder, "bert")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_table_is_rounded_from_float32_to_its_stored_type(
    dtype: str, built: Callable[..., Any], tmp_path: Path
) -> None:
    kind = getattr(torch, dtype)
    built("gpt2").to(kind).save_pretrained(tmp_path / "half")
    done = extend_checkpoint(str(tmp_path / "half"), tmp_path / "new", 57, method="cubic")
    from safetensors.torch import load_file as load_torch

    stored = load_torch(tmp_path / "new" / "model.safetensors")["transformer.wpe.weight"]
    assert stored.dtype == kind
    # posviz computed in float32; torch rounds that to nearest, ties to even.
    expected = torch.from_numpy(done.extended.table.raw.copy()).to(kind)
    assert torch.equal(stored, expected)


def test_buffers_of_the_old_length_grow_or_go(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("gpt2")
    held = load_file(folder / "model.safetensors")
    for layer in (0, 1):
        mask = np.tril(np.ones((32, 32), np.uint8))[None, None]
        held[f"transformer.h.{layer}.attn.bias"] = mask
        held[f"transformer.h.{layer}.attn.masked_bias"] = np.array(-1e4, np.float32)
    held["transformer.position_ids"] = np.arange(32)[None]
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_ctx": 32}))
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    assert not [name for name in new if name.endswith((".attn.bias", "masked_bias"))]
    np.testing.assert_array_equal(new["transformer.position_ids"], np.arange(64)[None])
    assert "transformer.h.0.attn.c_attn.bias" in new
    said = "\n".join(done.changed)
    assert "config.json: n_ctx from 32 to 64" in said
    assert "4 buffers of the old length left out" in said


def test_a_robertas_ids_count_its_offset_rows(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = saved("roberta")
    held = load_file(folder / "model.safetensors")
    held["roberta.embeddings.position_ids"] = np.arange(34)[None]
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    np.testing.assert_array_equal(new["roberta.embeddings.position_ids"], np.arange(66)[None])


def test_a_copy_of_the_table_under_another_name_is_replaced_too(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    held = load_file(folder / "model.safetensors")
    name = "bert.embeddings.position_embeddings.weight"
    held["tied.positions"] = held[name].copy()
    held["other"] = held[name] + 1
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    new = load_file(tmp_path / "new" / "model.safetensors")
    np.testing.assert_array_equal(new["tied.positions"], new[name])
    assert new["other"].shape == (32, 16)


def test_everything_else_is_as_it_was(
    saved: Callable[..., Path], tmp_path: Path, files: Files
) -> None:
    folder = saved("bert")
    (folder / "modeling_own.py").write_bytes(b"# own code\n")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 16}')
    (folder / "pytorch_model.bin").write_bytes(b"old")
    (folder / "optimizer.pt").write_bytes(b"old")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"old")
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    old, new = files(folder), files(tmp_path / "new")
    gone = {"pytorch_model.bin", "optimizer.pt", "onnx/model.onnx"}
    assert set(new) == (set(old) - gone) | {"README.md"}
    assert {line.split()[0] for line in done.left_out} == gone
    same = {name for name in old if new.get(name) == old[name]}
    assert {"modeling_own.py", "1_Pooling/config.json"} <= same
    before, after = json.loads(old["config.json"]), json.loads(new["config.json"])
    assert {key for key in after if after[key] != before.get(key)} == {"max_position_embeddings"}
    first, second = (load_file(path / "model.safetensors") for path in (folder, tmp_path / "new"))
    assert list(first) == list(second)
    for name in set(first) - {"bert.embeddings.position_embeddings.weight"}:
        np.testing.assert_array_equal(first[name], second[name])


def test_one_file_takes_along_what_a_loader_reads_beside_it(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path, files: Files
) -> None:
    folder = saved("bert")
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "holiday.jpg").write_bytes(b"mine")
    extend_checkpoint(str(folder / "model.safetensors"), tmp_path / "new", 64)
    assert set(files(tmp_path / "new")) == {
        "README.md", "config.json", "model.safetensors", "vocab.txt",
    }  # fmt: skip
    loaded(tmp_path / "new", "bert")


def test_uploaded_files_are_a_checkpoint_too(
    saved: Callable[..., Path], tmp_path: Path, files: Files
) -> None:
    folder = saved("bert")
    held = {name: io.BytesIO(content) for name, content in files(folder).items()}
    uploaded = open_uploaded_bundle(held)
    write(uploaded, plan(uploaded, Recipe(length=64)), tmp_path / "uploaded")
    extend_checkpoint(str(folder), tmp_path / "read", 64)
    one, two = files(tmp_path / "uploaded"), files(tmp_path / "read")
    assert set(one) == set(two)
    assert {name for name in one if one[name] != two[name]} == {"README.md"}  # it names the source
