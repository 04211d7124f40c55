"""Train the two demo models that posviz ships: ``python -m posviz.training.demos``.

Everything is fixed by the configurations below; on one machine and Python the files come out
equal bit for bit.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from posviz.runfolder import CONFIG, HISTORY, MODEL, VOCABULARY
from posviz.training.bert import BERT
from posviz.training.config import TrainConfig, default_config
from posviz.training.gpt import GPT
from posviz.training.huggingface import to_tensors
from posviz.training.loop import HELD_OUT_SEQUENCES, Trainer
from posviz.training.metrics import snapshot_metrics
from posviz.training.recording import Recording, json_bytes, write_whole

FOLDER = Path(__file__).parents[1] / "data" / "demos"


@dataclass(frozen=True)
class Demo:
    """One shipped model: how it is trained, and what its card says beside the numbers.

    Parameters
    ----------
    config : TrainConfig
    summary : str
        What the model is.
    search : str
        How its settings were found, in two sentences.
    """

    config: TrainConfig
    summary: str
    search: str


DEMOS = {
    "gpt-mini": Demo(
        default_config("char-lm", steps=1500),
        "A causal model in GPT-2's layout that guesses the next character. It learned from the "
        "help topics of Python's standard library (`pydoc_data.topics`), read at training time "
        "and not part of this folder.",
        "Learning rate 0.005 gave after 200 steps the table that 0.002 gave after 300, and neither "
        "token scale 0.1, weight decay 0.1 nor linear layers started at 0.125 (top-3 share 0.67 "
        "after 600 steps, instead of 0.93) gave a better one. 600 steps meet the targets (adjacent "
        "cosine 0.90); 1500 smooth the curve.",
    ),
    "bert-mini": Demo(
        default_config("sticky-mlm", steps=800),
        "A masked model in BERT's layout. It learned to fill in hidden letters of chains over "
        "a–p that repeat their letter with chance 0.85 and else draw anew; two independent "
        "chains are the two segments. Half of the training sequences are `[CLS] A [SEP] B "
        "[SEP]`, as typed text is read; the other half are cut without `[CLS]` and the last "
        "`[SEP]`, so that row 0 finds its place on the curve instead of being a sign for "
        "`[CLS]`.",
        "Token scale 0.3, table scale 0.02, half of the letters hidden and learning rate 0.005 "
        "were the first try and met every target; learning rate 0.002 with linear layers "
        "started at 0.125 gave the same curve later and a first row of twice the usual length.",
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
    demo = DEMOS[name]
    folder.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(demo.config)
    recording = Recording(folder, file=HISTORY, dtype=np.float16, header={"format": "pt"})
    lines = []
    for now in trainer.progress():
        if now.snapshot is not None:
            lines.append(snapshot_metrics(now.snapshot))
            recording.add(now.snapshot.table, lines[-1])
            sys.stderr.write(f"{name}: step {now.step}, loss {now.snapshot.loss:.3f}\n")
    vocabulary = trainer.data.vocabulary
    ours = {"training": demo.config.as_dict(), "text_sha256": trainer.data.text_sha256}
    config = trainer.description() | {"posviz": ours}
    assert isinstance(trainer.model, GPT | BERT)
    write_whole(folder / MODEL, save(to_tensors(trainer.model), metadata={"format": "pt"}))
    write_whole(folder / CONFIG, json_bytes(config, indent=2))
    write_whole(folder / VOCABULARY, json_bytes(vocabulary.numbers, indent=0))
    write_whole(folder / "README.md", card(name, lines, len(vocabulary)).encode())


def card(name: str, lines: list[dict[str, Any]], vocabulary_size: int) -> str:
    """The model card: what it is, how it was made, what came out."""
    demo, first, last = DEMOS[name], lines[0], lines[-1]
    config = demo.config
    rows = "\n".join(f"| {label} | {first[key]:.3f} | {last[key]:.3f} |" for key, label in _SHOWN)
    return f"""# {name}

{demo.summary}

{config.n_layers} layers, {config.n_heads} heads, d = {config.d_model}, {config.n_positions} \
positions, {vocabulary_size} symbols ([UNK], never trained, stands for any other). Trained for \
{config.steps} steps of {config.batch_size} sequences with seed {config.seed}, on one thread, \
with Python {platform.python_version()} and PyTorch {torch.__version__}. All settings are in \
`config.json`; `python -m posviz.training.demos {name}` makes this folder again.

| | step 0 | step {last["step"]} |
|---|---|---|
{rows}

The loss is the mean cross entropy in nats on {HELD_OUT_SEQUENCES} held-out sequences; knowing \
nothing is ln {vocabulary_size} = {math.log(vocabulary_size):.3f}. Every row of the table counts, \
none is left out.

{demo.search}

`model.safetensors` and `config.json` open with transformers' `from_pretrained`. \
`history.safetensors` holds {len(lines)} snapshots of the position table on the way (float16, one \
tensor a step), `metrics.jsonl` their numbers. MIT licence, as posviz itself.
"""


_SHOWN = (
    ("loss", "loss, nats"),
    ("top2_share", "share of the centred variance in 2 components"),
    ("top3_share", "in 3 components"),
    ("adjacent_cosine", "mean cosine of neighbouring rows"),
    ("toeplitz_r2", "Toeplitz share of the raw cosine"),
    ("roughness", "roughness (2 for random rows)"),
)


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
