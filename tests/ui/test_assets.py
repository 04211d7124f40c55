"""plotly.min.js arrives in the static folder, whole, and only when it has to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from posviz.ui.assets import ensure_plotly_js, plotly_js


def test_the_file_is_copied_once_and_left_alone_after_that(tmp_path: Path) -> None:
    ensure_plotly_js(tmp_path)
    target = tmp_path / "static" / "plotly.min.js"
    assert target.read_bytes() == plotly_js().read_bytes()
    assert target.stat().st_mode & 0o444 == 0o444
    before = target.stat()
    ensure_plotly_js.__wrapped__(tmp_path)
    assert (target.stat().st_ino, target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [path.name for path in target.parent.iterdir()] == ["plotly.min.js"]


def test_another_version_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "static" / "plotly.min.js"
    target.parent.mkdir()
    target.write_bytes(plotly_js().read_bytes().swapcase())  # same length, other content
    ensure_plotly_js(tmp_path)
    assert target.read_bytes() == plotly_js().read_bytes()


def test_a_link_is_replaced_by_a_copy_since_streamlit_serves_no_link(tmp_path: Path) -> None:
    target = tmp_path / "static" / "plotly.min.js"
    target.parent.mkdir()
    target.symlink_to(plotly_js())
    ensure_plotly_js(tmp_path)
    assert not target.is_symlink()
    assert target.read_bytes() == plotly_js().read_bytes()
    assert plotly_js().is_file()


def test_a_folder_that_cannot_be_made_gives_one_sentence(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.write_text("no folder")
    with pytest.raises(OSError, match="could not be written") as refused:
        ensure_plotly_js(root)
    assert str(refused.value) == (
        f"Figures need {root}/static/plotly.min.js, which could not be written (Not a directory); "
        f"make the folder writable, or copy {plotly_js()} there."
    )


def test_finding_the_file_does_not_import_plotly() -> None:
    before = set(sys.modules)
    plotly_js()
    assert not {name for name in set(sys.modules) - before if name.startswith("plotly.")}


def test_the_folder_is_there_before_the_server_starts() -> None:
    """Without it Streamlit switches static serving off at its start, and no figure is drawn."""
    project = Path(__file__).resolve().parents[2]
    assert (project / "static" / "README").is_file()
