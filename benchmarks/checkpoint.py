"""Writing a whole GPT-2 checkpoint at twice its length, against transformers doing the same."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Row, fresh
from benchmarks.opening import build

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = """
import shutil
from posviz.export.checkpoint import extend_checkpoint
shutil.rmtree({out!r}, ignore_errors=True)
extend_checkpoint({path!r}, {out!r}, 2048, method="linear")
"""
_THEIRS = """
import shutil, torch
from transformers import GPT2Model
shutil.rmtree({out!r}, ignore_errors=True)
model = GPT2Model.from_pretrained({path!r})
rows = torch.nn.functional.interpolate(
    model.wpe.weight.detach().T[None], size=2048, mode="linear", align_corners=True)[0].T
model.wpe = torch.nn.Embedding.from_pretrained(rows.contiguous())
model.config.n_positions = 2048
model.save_pretrained({out!r})
"""


def rows() -> Iterator[Row]:
    """A new process with its imports, files included: wall time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = build(Path(folder))[0]
        size = sum(file.stat().st_size for file in checkpoint.iterdir()) / 1e6
        path, out = os.fspath(checkpoint), str(Path(folder) / "new")
        ours = fresh(_OURS.format(path=path, out=out), repeats=3)
        theirs = fresh(_THEIRS.format(path=path, out=out), repeats=3)
    what = f"write a {size:.0f} MB GPT-2 at 2,048 positions, as a new process"
    beside = "from_pretrained, save_pretrained"
    yield Row(what, ours.milliseconds, beside, theirs.milliseconds)
    yield Row(
        "memory of that process at its highest", ours.mebibytes, beside, theirs.mebibytes,
        unit="MiB", reach="< 200 MiB",
    )  # fmt: skip
