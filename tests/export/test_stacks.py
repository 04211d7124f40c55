"""Tables that are several tensors, or one of several in a tensor, and eight-bit ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import posviz
from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint
from posviz.interpolation import extend
from posviz.sources.formats.dtypes import decode, encode_float8

FLOAT8 = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
          "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}  # fmt: skip


def made(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_every_table_of_a_stack_is_extended(tmp_path: Path) -> None:
    """Gemma's one tensor holds a table for x and one for y."""
    stack = made(2, 32, 8)
    name = "patch_embedder.position_embedding_table"
    save_file({name: stack}, tmp_path / "model.safetensors")
    config = {"model_type": "gemma4_vision", "position_embedding_size": 32, "hidden_size": 8}
    (tmp_path / "config.json").write_text(json.dumps(config))
    extend_checkpoint(str(tmp_path), tmp_path / "new", 48, method="cubic")
    new = load_file(tmp_path / "new" / "model.safetensors")[name]
    assert new.shape == (2, 48, 8)
    for part, suffix in enumerate(("", "[1]")):
        table = posviz.load(str(tmp_path), parameter=f"{name}{suffix}")
        np.testing.assert_array_equal(table.raw, stack[part])
        np.testing.assert_array_equal(new[part], extend(table, 48, method="cubic").table.raw)
    held = json.loads((tmp_path / "new" / "config.json").read_text())
    assert held["position_embedding_size"] == 48


def folded(folder: Path) -> dict[str, np.ndarray]:
    names = [f"reformer.embeddings.position_embeddings.weights.{n}" for n in (0, 1)]
    held = {names[0]: made(4, 1, 6), names[1]: made(1, 8, 10, seed=1)}
    save_file(held, folder / "model.safetensors")
    config = {"model_type": "reformer", "max_position_embeddings": 32, "axial_pos_shape": [4, 8],
              "axial_pos_embds_dim": [6, 10], "hidden_size": 16}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return held


@pytest.mark.parametrize("method", ["tile", "mirror"])
def test_a_folded_axis_gets_more_whole_rows(method: str, tmp_path: Path) -> None:
    held = folded(tmp_path)
    if method == "mirror":  # turns the columns round too, so no two tables make it
        with pytest.raises(SourceError, match="is made of two tables, 4 and 8 rows"):
            extend_checkpoint(str(tmp_path), tmp_path / "new", 64, method=method)
        return
    done = extend_checkpoint(str(tmp_path), tmp_path / "new", 64, method=method)
    new = load_file(tmp_path / "new" / "model.safetensors")
    first, second = held
    assert new[first].shape == (8, 1, 6)
    np.testing.assert_array_equal(new[second], held[second])
    table = posviz.load(str(tmp_path / "new"))
    np.testing.assert_array_equal(table.raw, done.extended.table.raw)
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    assert config["axial_pos_shape"] == [8, 8]
    assert config["max_position_embeddings"] == 64


@pytest.mark.parametrize("length", [40, 36])
def test_a_folded_axis_refuses_what_it_cannot_hold(length: int, tmp_path: Path) -> None:
    folded(tmp_path)
    with pytest.raises(SourceError, match="Save the table alone, or try method tile"):
        extend_checkpoint(str(tmp_path), tmp_path / "new", length, method="linear")


@pytest.mark.parametrize("method", ["linear", "cubic", "bicubic"])
def test_rows_and_columns_are_extended_each_on_its_own(method: str, tmp_path: Path) -> None:
    """What makes a grid of sums or pairs stays one under every separable method."""
    held = {"row_embed.weight": made(5, 6), "col_embed.weight": made(5, 6, seed=1)}
    save_file(held, tmp_path / "model.safetensors")
    done = extend_checkpoint(
        str(tmp_path / "model.safetensors"), tmp_path / "new", grid_size=(8, 7), method=method
    )
    new = load_file(tmp_path / "new" / "model.safetensors")
    assert {name: rows.shape for name, rows in new.items()} == {
        "row_embed.weight": (8, 6), "col_embed.weight": (7, 6),
    }  # fmt: skip
    table = posviz.load(str(tmp_path / "new" / "model.safetensors"))
    np.testing.assert_allclose(table.raw, done.extended.table.raw, atol=1e-5)


def test_detr_fixes_its_rows_and_columns_in_code(tmp_path: Path) -> None:
    prefix = "model.backbone.position_embedding."
    save_file(
        {f"{prefix}row_embeddings.weight": made(5, 6),
         f"{prefix}column_embeddings.weight": made(5, 6)},
        tmp_path / "model.safetensors",
    )  # fmt: skip
    (tmp_path / "config.json").write_text('{"model_type": "detr"}')
    with pytest.raises(SourceError, match=r"no key of config\.json tells detr how many positions"):
        extend_checkpoint(str(tmp_path), tmp_path / "new", grid_size=(8, 8))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_eight_bits_are_rounded_as_torch_does(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    every = decode(bytes(range(256)), dtype, (256,), name="all")
    every = np.unique(every[np.isfinite(every)])
    middles = (every[1:] + every[:-1]) / 2
    values = np.concatenate([every, middles, made(5_000) * 10, made(5_000) * 1e-3])
    values = values.astype(np.float32)
    expected = torch.from_numpy(values).to(getattr(torch, FLOAT8[dtype]))
    found = encode_float8(values, dtype, name="x")
    np.testing.assert_array_equal(found, expected.view(torch.uint8).numpy())


def test_what_eight_bits_cannot_hold_is_told() -> None:
    with pytest.raises(SourceError, match="are beyond 448"):
        encode_float8(np.array([449.0], np.float32), "F8_E4M3", name="wpe.weight")


def test_a_table_of_eight_bits_stays_one(built: Callable[..., Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file as load_torch
    from safetensors.torch import save_file as save_torch

    built("gpt2").save_pretrained(tmp_path / "gpt2")
    path = tmp_path / "gpt2" / "model.safetensors"
    held = load_torch(path)
    held["transformer.wpe.weight"] = held["transformer.wpe.weight"].to(torch.float8_e4m3fn)
    save_torch(held, path)
    done = extend_checkpoint(str(tmp_path / "gpt2"), tmp_path / "new", 57, method="cubic")
    new = load_torch(tmp_path / "new" / "model.safetensors")["transformer.wpe.weight"]
    exact = torch.from_numpy(done.extended.table.raw.copy())  # computed in float32
    assert torch.equal(new.view(torch.uint8), exact.to(torch.float8_e4m3fn).view(torch.uint8))
