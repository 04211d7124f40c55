"""The card and the lines that repeat what was done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posviz.export.card import HEADING, Loading, snippet
from posviz.export.checkpoint import extend_checkpoint
from posviz.export.recipe import Recipe

torch = pytest.importorskip("torch")

Files = Callable[[Path], dict[str, bytes]]


def test_the_card_keeps_what_it_said_and_tells_what_was_done(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("bert")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")
    done = extend_checkpoint(str(folder), tmp_path / "new", 64, method="clamp")
    text = (tmp_path / "new" / "README.md").read_text()
    assert text.startswith("---\nlicense: mit\n---\n# Mine\n\n## Another position table\n")
    for words in ("64 positions in place of 32", "Positions 0 to 31 are as they were", "clamp",
                  *done.changed):  # fmt: skip
        assert words in text
    assert str(tmp_path) not in text
    assert f"extend_checkpoint({folder.name!r}, " in text


def test_the_lines_in_the_card_write_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transformers: Any, files: Files
) -> None:
    settings = {"method": "gaussian", "seed": 7, "keep": "last:2"}
    extend_checkpoint("demo:gpt-mini", tmp_path / "first", 200, **settings)
    text = (tmp_path / "first" / "README.md").read_text()
    code = text.split(HEADING)[1].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "card", "exec"), {})
    assert files(tmp_path / "gpt-mini-200") == files(tmp_path / "first")


HOW = Loading("import torch", "torch.load({out})")


def test_settings_that_change_nothing_are_not_in_the_lines() -> None:
    lines = snippet("gpt2", Recipe(length=2048, method="tile", seed=0), "gpt2-2048", HOW)
    assert "extend_checkpoint('gpt2', 'gpt2-2048', length=2048, method='tile')\n" in lines
