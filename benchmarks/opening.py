"""Opening the table of a whole GPT-2 checkpoint, against loading the model that holds it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Row, fresh, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows() -> Iterator[Row]:
    """Own work, fresh processes with their imports, and memory."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, pickled = build(Path(folder))
        size = sum(file.stat().st_size for file in checkpoint.iterdir()) / 1e6
        name = f"{size:.0f} MB GPT-2"
        yield from _own_work(name, checkpoint, pickled)
        yield from _fresh_processes(name, checkpoint)


def build(folder: Path) -> tuple[Path, Path]:
    """GPT-2 small with random weights, as transformers saves it, and as PyTorch pickles it."""
    import torch
    from transformers import GPT2Config, GPT2Model

    torch.manual_seed(0)
    model = GPT2Model(GPT2Config())
    checkpoint, pickled = folder / "gpt2", folder / "gpt2-bin"
    model.save_pretrained(checkpoint)
    pickled.mkdir()
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")
    (pickled / "config.json").write_bytes((checkpoint / "config.json").read_bytes())
    return checkpoint, pickled


def _own_work(name: str, checkpoint: Path, pickled: Path) -> Iterator[Row]:
    import torch
    from transformers import GPT2Model
    from transformers.utils import logging

    import posviz

    logging.disable_progress_bar()
    loaded = GPT2Model.from_pretrained(checkpoint).wpe.weight.detach().numpy()
    for folder in (checkpoint, pickled):  # a fast wrong answer is no answer
        assert posviz.load(str(folder)).raw.tobytes() == loaded.tobytes()

    ours, theirs = milliseconds(
        [lambda: posviz.load(str(checkpoint)), lambda: GPT2Model.from_pretrained(checkpoint)],
        in_a_row=20,
    )
    yield Row(
        f"open the table of a {name}, safetensors", ours, "from_pretrained", theirs,
        reach="≤ 0.033 × (30 times faster)",
    )  # fmt: skip
    weights = pickled / "pytorch_model.bin"
    ours, theirs = milliseconds(
        [lambda: posviz.load(str(pickled)), lambda: torch.load(weights, weights_only=True)]
    )
    yield Row(f"open the table of a {name}, .bin", ours, "torch.load", theirs)


def _fresh_processes(name: str, checkpoint: Path) -> Iterator[Row]:
    path = os.fspath(checkpoint)
    ours = fresh(f"import posviz; posviz.load({path!r})")
    theirs = fresh(f"from transformers import GPT2Model; GPT2Model.from_pretrained({path!r})")
    what = f"the same as a new process, imports included ({name})"
    yield Row(what, ours.milliseconds, "from_pretrained", theirs.milliseconds)
    yield Row(
        "memory of that process at its highest", ours.mebibytes, "from_pretrained",
        theirs.mebibytes, unit="MiB", reach="< 120 MiB",
    )  # fmt: skip
