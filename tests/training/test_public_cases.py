"""Training as it went wrong for others, in public: each case by its name in the collection."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from posviz.errors import TrainingError
from posviz.training.config import default_config
from posviz.training.engine import train
from posviz.training.jobs import Jobs
from posviz.training.loop import snapshots
from posviz.training.runs import open_run
from posviz.training.tasks import TASKS
from posviz.training.text import decode

Until = Callable[[Callable[[], bool]], None]

SMALL = {"n_positions": 16, "d_model": 16, "batch_size": 4}


def test_no_precision_is_promised_that_a_cpu_lacks(tmp_path: Path) -> None:
    """T02: karpathy/nanoGPT#9, karpathy/nanoGPT#84."""
    for now in train(default_config("copy", steps=1, **SMALL), tmp_path / "run"):
        if now.snapshot is not None:
            assert now.snapshot.table.dtype == np.float32
    assert open_run(tmp_path / "run").device in ("cpu", "cuda")
    assert open_run(tmp_path / "run").table().provenance.dtype == "F32"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n \n" * 20, r"nothing but white space \(2 different symbols in 80 characters\)"),
        (b"a" * 500, r"holds 1 different symbol, 'a', in 500 characters"),
    ],
)
def test_a_text_with_nothing_to_learn_is_refused_before_training(
    content: bytes, said: str, tmp_path: Path
) -> None:
    """T04: openai/gpt-2-output-dataset#51."""
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    config = default_config("char-lm", text=str(path), **SMALL)
    with pytest.raises(TrainingError, match=said):
        next(train(config, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_text_that_is_not_plain_ascii_is_read_right_or_refused_by_byte(tmp_path: Path) -> None:
    """T05: bernhard-pfann/lad-gpt#1, ml5js/training-charRNN#5."""
    long = "naïve 🙂 e\u0301 " * 40
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbf" + long.encode())
    symbols = (
        TASKS["char-lm"]
        .prepare(default_config("char-lm", text=str(path), **SMALL))
        .vocabulary.characters
    )
    assert set(symbols) == set(long)
    assert "\ufeff" not in symbols
    assert {"🙂", "\u0301", "ï"} <= set(symbols)
    with pytest.raises(TrainingError, match="byte 0x92 at offset 2 is not"):
        decode(bytes([0x69, 0x74, 0x92, 0x73]))


def test_stop_ends_the_worker_keeps_the_table_and_leaves_room_for_a_new_run(
    until: Until, tmp_path: Path
) -> None:
    """T07: statgarten/playdoh#12, streamlit#8182, streamlit#9634, streamlit#1570."""
    jobs = Jobs()
    config = default_config("copy", steps=10**6, **SMALL)
    job = jobs.start("ada", config, tmp_path / "first")
    until(lambda: not job.alive or job.progress.get("step", 0) >= 15)
    process = job.process
    jobs.stop(job)
    assert job.state == "stopped"
    assert process.poll() is not None, "the worker has ended when the press of Stop returns"
    kept = open_run(tmp_path / "first")
    assert kept.steps[-1] >= 10
    assert kept.table().weights.shape == (16, 16)
    again = jobs.start("ada", config, tmp_path / "second")
    assert again is not job
    until(lambda: not again.alive or bool(again.progress))
    jobs.stop(again)
    assert open_run(tmp_path / "second").steps[0] == 0
    assert open_run(tmp_path / "first").steps == kept.steps


def test_the_same_seed_gives_the_same_bits_and_another_does_not(one_thread: None) -> None:
    """T09: pytorch#11278, hiyouga/LlamaFactory#4811, pytorch/examples#542."""
    runs = [
        [now.table for now in snapshots(default_config("sticky-mlm", steps=50, seed=seed))]
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0][-1], runs[2][-1])


def test_the_first_loss_is_that_of_knowing_nothing(tmp_path: Path) -> None:
    """T10: karpathy/nanoGPT#468."""
    symbols = [chr(code) for code in range(33, 98)]  # 65, and one more for all others
    path = tmp_path / "text.txt"
    path.write_text("".join(np.random.default_rng(0).choice(symbols, 5000)), encoding="utf-8")
    first = next(snapshots(default_config("char-lm", text=str(path), steps=0)))
    assert abs(first.loss - math.log(65)) < 0.1


def test_a_run_of_no_steps_keeps_the_table_as_it_begins(tmp_path: Path) -> None:
    """Zero is a number of steps: a film of one frame, which a resume goes on from."""
    for _ in train(default_config("copy", steps=0, **SMALL), tmp_path / "run"):
        pass
    assert open_run(tmp_path / "run").steps == (0,)
    longer = default_config("copy", steps=10, **SMALL)
    for _ in train(longer, tmp_path / "run", resume=True):
        pass
    for _ in train(longer, tmp_path / "whole"):
        pass
    parts, whole = (open_run(tmp_path / name).snapshot() for name in ("run", "whole"))
    assert np.array_equal(parts, whole)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 10]
