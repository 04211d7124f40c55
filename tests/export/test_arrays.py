"""A saved table is the same table: bit for bit, in its stored layout, with its history."""

from __future__ import annotations

import os
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors import safe_open

from posviz.errors import SettingError
from posviz.export.arrays import ARRAY_FORMATS, array_format, save_table
from posviz.export.files import atomic
from posviz.table import PositionTable, Provenance

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table() -> PositionTable:
    """Six positions of width 4 after two rows that no position uses, as RoBERTa stores them."""
    raw = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    provenance = Provenance(
        source="hub",
        ref="hub:acme/tiny",
        file="model.safetensors",
        parameter="roberta.embeddings.position_embeddings.weight",
        revision="0123456789abcdef",
        dtype="F16",
        note="linear, 4 to 6",
    )
    return PositionTable(raw, name="tiny", provenance=provenance, row_offset=2)


@pytest.mark.parametrize("ending", ARRAY_FORMATS)
def test_offset_rows_are_saved_too(table: PositionTable, tmp_path: Path, ending: str) -> None:
    import posviz

    path = tmp_path / f"table{ending}"
    save_table(table, path)
    np.testing.assert_array_equal(posviz.load(str(path)).raw, table.raw)


def test_a_safetensors_file_opens_as_the_same_table(table: PositionTable, tmp_path: Path) -> None:
    import posviz

    path = tmp_path / "table.safetensors"
    save_table(table, path)
    assert posviz.load(str(path)).fingerprint == table.fingerprint


def test_a_patch_grid_with_a_class_row_survives_the_round_trip(tmp_path: Path) -> None:
    import posviz

    raw = np.random.default_rng(1).normal(size=(13, 5)).astype(np.float32)
    table = PositionTable(
        raw, name="patches", provenance=Provenance("derived", "x"), grid=(3, 4), prefix_rows=1
    )
    path = tmp_path / "patches.safetensors"
    save_table(table, path)
    opened = posviz.load(str(path))
    assert (opened.grid, opened.prefix_rows, opened.suffix_rows) == ((3, 4), 1, 0)
    assert opened.fingerprint == table.fingerprint


@pytest.mark.parametrize("ending", ARRAY_FORMATS)
def test_a_table_without_offset_keeps_its_fingerprint_in_every_format(
    tmp_path: Path, ending: str
) -> None:
    import posviz

    raw = np.random.default_rng(2).normal(size=(9, 3)).astype(np.float32)
    table = PositionTable(raw, name="plain", provenance=Provenance("generated", "random:9x3"))
    path = tmp_path / f"plain{ending}"
    save_table(table, path)
    assert posviz.load(str(path)).fingerprint == table.fingerprint


def test_the_safetensors_header_tells_where_the_numbers_came_from(
    table: PositionTable, tmp_path: Path
) -> None:
    path = tmp_path / "table.safetensors"
    save_table(table, path)
    with safe_open(path, "np") as file:
        assert list(file.keys()) == ["roberta.embeddings.position_embeddings.weight"]
        assert file.metadata() == {
            "format": "pt",
            "posviz.source": "hub",
            "posviz.ref": "hub:acme/tiny",
            "posviz.file": "model.safetensors",
            "posviz.parameter": "roberta.embeddings.position_embeddings.weight",
            "posviz.revision": "0123456789abcdef",
            "posviz.dtype": "F16",
            "posviz.note": "linear, 4 to 6",
            "posviz.name": "tiny",
            "posviz.kind": "learned",
            "posviz.row_offset": "2",
            "posviz.prefix_rows": "0",
            "posviz.suffix_rows": "0",
        }


@pytest.mark.parametrize("parameter", [None, "axial.0+axial.1"])
def test_a_table_that_is_no_single_tensor_gets_a_plain_name(
    table: PositionTable, tmp_path: Path, parameter: str | None
) -> None:
    made = replace(table, provenance=replace(table.provenance, parameter=parameter))
    save_table(made, tmp_path / "made.safetensors")
    with safe_open(tmp_path / "made.safetensors", "np") as file:
        assert list(file.keys()) == ["position_embeddings.weight"]


@pytest.mark.parametrize("ending", ARRAY_FORMATS)
def test_a_binary_file_gets_the_same_bytes_as_a_path(
    table: PositionTable, tmp_path: Path, ending: str
) -> None:
    buffer = BytesIO()
    save_table(table, buffer, ending=ending)
    save_table(table, tmp_path / f"t{ending}")
    assert buffer.getvalue() == (tmp_path / f"t{ending}").read_bytes()


def test_the_ending_is_read_in_any_case() -> None:
    assert array_format(".NPY") is ARRAY_FORMATS[".npy"]


@pytest.mark.parametrize(
    ("name", "found"), [("t.pt", "not in .pt"), ("t", "and this one has no ending")]
)
def test_another_ending_is_refused_with_those_there_are(
    table: PositionTable, tmp_path: Path, name: str, found: str
) -> None:
    with pytest.raises(SettingError) as caught:
        save_table(table, tmp_path / name)
    assert str(caught.value) == (
        f"A table is saved in a file that ends in .safetensors or .npy, {found}."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named(table: PositionTable, tmp_path: Path) -> None:
    path = tmp_path / "absent" / "t.npy"
    with pytest.raises(SettingError) as caught:
        save_table(table, path)
    assert str(caught.value) == (
        f"{path} cannot be written: the folder {path.parent} does not exist."
    )


def test_a_folder_is_not_overwritten(table: PositionTable, tmp_path: Path) -> None:
    folder = tmp_path / "t.npy"
    folder.mkdir()
    with pytest.raises(SettingError) as caught:
        save_table(table, folder)
    assert str(caught.value) == f"{folder} is a folder; give the name of the file to write."


def _write_half(path: Path, failure: BaseException) -> None:
    with atomic(path) as file:
        file.write(b"half")
        raise failure


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    path.write_bytes(b"before")
    with pytest.raises(SettingError, match="No space left on device"):
        _write_half(path, OSError(28, os.strerror(28)))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        _write_half(path, KeyboardInterrupt())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_keeps_pointing_at_the_file_written(tmp_path: Path) -> None:
    real, link = tmp_path / "real.npy", tmp_path / "link.npy"
    real.write_bytes(b"before")
    link.symlink_to(real)
    with atomic(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert real.read_bytes() == b"after"
