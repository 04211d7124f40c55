"""What cannot be written as a checkpoint, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("sinusoidal:16x8", "is a table without a model"),
        ("random:16x8", "is a table without a model"),
        ("demo:none", "There is no demo called none"),
        ("no/such/path", "is no file or folder here"),
    ],
)
def test_what_is_no_checkpoint_is_told(tmp_path: Path, ref: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        extend_checkpoint(ref, tmp_path / "new", 64)
    assert not (tmp_path / "new").exists()


def test_a_bare_array_is_no_checkpoint(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.eye(9, 4, dtype=np.float32))
    with pytest.raises(SourceError, match="reads but does not write"):
        extend_checkpoint(str(tmp_path / "table.npy"), tmp_path / "new", 64)


def test_a_table_of_offsets_beside_it_is_refused(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    held = load_file(folder / "model.safetensors")
    held["bert.encoder.layer.0.attention.self.distance_embedding.weight"] = np.zeros(
        (63, 8), np.float32
    )
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SourceError, match="tables of offsets between positions"):
        extend_checkpoint(str(folder), tmp_path / "new", 64)
