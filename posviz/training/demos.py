"""Train the two demo models that posviz ships: ``python -m posviz.training.demos``.

Everything is fixed by the configurations below; on one machine and Python the files come out
equal bit for bit.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from posviz.training.config import TrainConfig, default_config
from posviz.training.huggingface import to_config, to_tensors
from posviz.training.loop import Trainer
from posviz.training.metrics import snapshot_metrics
from posviz.training.recording import (
    CONFIG,
    MODEL,
    VOCABULARY,
    Recording,
    json_bytes,
    write_whole,
)

FOLDER = Path(__file__).parents[1] / "data" / "demos"
HISTORY = "history.safetensors"


@dataclass(frozen=True)
class Demo:
    """One shipped model: how it is trained, and what its card says beside the numbers."""

    config: TrainConfig
    story: str


DEMOS = {
    "gpt-mini": Demo(
        default_config("char-lm"),
        "A causal character model in GPT-2's layout.",
    ),
    "bert-mini": Demo(
        default_config("sticky-mlm"),
        "A masked model of sticky letter chains in BERT's layout.",
    ),
}


def train_demo(name: str, folder: Path) -> None:
    """Train one demo model and write its folder.

    Parameters
    ----------
    name : key of DEMOS
    folder : Path
        Made if missing; holds ``config.json``, ``model.safetensors`` and ``vocab.json`` in
        transformers' layout, ``history.safetensors`` (float16), ``metrics.jsonl``, ``README.md``.
    """
    from safetensors.torch import save

    demo = DEMOS[name]
    folder.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(demo.config)
    recording = Recording(folder, file=HISTORY, dtype=np.float16, header={"format": "pt"})
    for now in trainer.progress():
        if now.snapshot is not None:
            metrics = snapshot_metrics(now.snapshot)
            recording.add(now.snapshot.table, metrics)
            print(f"{name}: step {now.step}, loss {now.snapshot.loss:.3f}", file=sys.stderr)  # noqa: T201
    vocabulary = trainer.data.vocabulary
    config = to_config(trainer.model, vocabulary) | {"posviz": {"training": demo.config.as_dict()}}
    write_whole(folder / MODEL, save(to_tensors(trainer.model), metadata={"format": "pt"}))
    write_whole(folder / CONFIG, json_bytes(config, indent=2))
    write_whole(folder / VOCABULARY, json_bytes(vocabulary.numbers, indent=0))


def main() -> None:
    """Train the demos named on the command line, or both."""
    parser = argparse.ArgumentParser(prog="python -m posviz.training.demos", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(DEMOS))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder that holds the demos")
    options = parser.parse_args()
    unknown = set(options.names) - set(DEMOS)
    if unknown:
        parser.error(f"NAME is one of {', '.join(DEMOS)}; found {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)  # the number of threads changes the last bits of every sum
    for name in options.names or DEMOS:
        train_demo(name, options.out / name)


if __name__ == "__main__":
    main()
