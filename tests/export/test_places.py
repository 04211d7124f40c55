"""Zips, and places that can be written to or not."""

from __future__ import annotations

import errno
import io
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from posviz.errors import SettingError
from posviz.export import checkpoint
from posviz.export.checkpoint import extend_checkpoint, write, zip_pieces
from posviz.export.plan import plan
from posviz.export.recipe import Recipe
from posviz.export.stored import Member
from posviz.sources.bundle import open_bundle

Files = Callable[[Path], dict[str, bytes]]


def test_a_zip_holds_the_same_files_in_one_folder(tmp_path: Path, files: Files) -> None:
    recipe = Recipe(length=256)
    extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    planned = plan(open_bundle("demo:gpt-mini"), recipe)
    parts = list(zip_pieces(planned, piece=50_000))
    assert len(parts) > 5
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        assert archive.testzip() is None
        held = {name: archive.read(name) for name in archive.namelist()}
    assert held == {f"gpt-mini-256/{name}": data for name, data in files(tmp_path / "new").items()}
    assert parts == list(zip_pieces(planned, piece=50_000))
    extend_checkpoint("demo:gpt-mini", tmp_path / "new.zip", 256)
    assert (tmp_path / "new.zip").read_bytes() == b"".join(parts)


def test_the_source_is_never_written_over(saved: Callable[..., Path], files: Files) -> None:
    folder = saved("bert")
    before = files(folder)
    with pytest.raises(SettingError, match="is the checkpoint that is read"):
        write(open_bundle(str(folder)), plan(open_bundle(str(folder)), Recipe(length=64)), folder)
    assert files(folder) == before


@pytest.mark.parametrize("place", ["full", "file", "absent/deep"])
def test_a_place_where_something_is_gets_refused(tmp_path: Path, place: str, files: Files) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = files(tmp_path)
    with pytest.raises(SettingError):
        extend_checkpoint("demo:gpt-mini", tmp_path / place, 256)
    assert files(tmp_path) == before


def test_an_empty_folder_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    assert (tmp_path / "new" / "model.safetensors").is_file()


def test_a_disk_without_room_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(SettingError, match="and its disk has 1 MB free"):
        extend_checkpoint("demo:gpt-mini", tmp_path / "new", 256)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_leaves_no_half_checkpoint(tmp_path: Path) -> None:
    bundle = open_bundle("demo:gpt-mini")
    planned = plan(bundle, Recipe(length=256))

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    short = checkpoint.Plan("x", (*planned.members, Member("last", 8, broken)), (), (),
                            planned.extended)  # fmt: skip
    for place in ("new", "new.zip"):
        with pytest.raises(SettingError, match="cannot be written"):
            write(bundle, short, tmp_path / place)
    assert list(tmp_path.iterdir()) == []
