"""Runs from configuration to folder: broken off, resumed, refused."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from posviz.errors import TrainingError
from posviz.training.config import TrainConfig, default_config
from posviz.training.engine import Progress, configure, summary, train
from posviz.training.huggingface import fill, from_config
from posviz.training.loop import Trainer, held_out_loss
from posviz.training.runs import open_run

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"n_positions": 16, "d_model": 16, "batch_size": 4}
FILES = {
    *("config.json", "vocab.json", "metrics.jsonl"),
    *("snapshots.safetensors", "model.safetensors", "resume.safetensors"),
}


def small(**settings: object) -> TrainConfig:
    return default_config(**{"task": "copy", "steps": 34, **SMALL, **settings})


def finish(config: TrainConfig, out: Path, *, resume: bool = False) -> list[Progress]:
    return list(train(config, out, resume=resume))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_folder_holds_what_the_contract_says(tmp_path: Path) -> None:
    *_, last = finish(small(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    run = open_run(tmp_path)
    assert run.steps == (0, 10, 20, 30, 34)
    assert run.finished
    assert run.metrics[-1] == last.metrics
    assert np.array_equal(run.snapshot(), last.snapshot.table)
    assert (last.step, last.steps, last.seconds_left) == (34, 34, 0)


def test_the_summary_is_that_of_the_contract(tmp_path: Path) -> None:
    *_, last = finish(small(), tmp_path)
    told = summary(last, tmp_path)
    assert {key: told[key] for key in ("steps", "out")} == {"steps": 34, "out": str(tmp_path)}
    assert told["seconds"] > 0
    assert open_run(tmp_path).metrics[-1].items() <= told.items()


def test_the_kept_model_has_the_loss_of_the_last_line(tmp_path: Path) -> None:
    config = small()
    finish(config, tmp_path)
    model = from_config(json.loads((tmp_path / "config.json").read_text()))
    fill(model, load_file(tmp_path / "model.safetensors"))
    loss = held_out_loss(model, Trainer(config).data)
    assert loss == open_run(tmp_path).metrics[-1]["loss"]


@pytest.mark.parametrize("broken_at", [0, 7, 10, 34])
@pytest.mark.parametrize("task", ["copy", "sticky-mlm", "char-lm"])
def test_a_broken_run_resumes_to_the_same_bytes(task: str, broken_at: int, tmp_path: Path) -> None:
    config = small(task=task)
    finish(config, tmp_path / "unbroken")
    for _ in islice(train(config, tmp_path / "broken"), broken_at + 1):
        pass  # as a kill: the generator is never finished
    finish(config, tmp_path / "broken", resume=True)
    assert contents(tmp_path / "broken") == contents(tmp_path / "unbroken")


def test_a_finished_shorter_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    finish(small(), tmp_path / "unbroken")
    finish(small(steps=17), tmp_path / "longer")  # 17 is on no schedule
    finish(configure(tmp_path / "longer", resume=True, steps=34), tmp_path / "longer", resume=True)
    assert contents(tmp_path / "longer") == contents(tmp_path / "unbroken")


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    finish(small(), tmp_path)
    before = contents(tmp_path)
    (only,) = finish(small(), tmp_path, resume=True)
    assert only.metrics == open_run(tmp_path).metrics[-1]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("missing", sorted(FILES - {"config.json"}))
def test_a_kill_between_any_two_files_leaves_a_run_that_resumes(
    missing: str, tmp_path: Path
) -> None:
    """One file is still that of an earlier snapshot, or not there yet: every order of writing."""
    config = small()
    finish(config, tmp_path / "unbroken")
    for earlier in (True, False):
        folder = tmp_path / f"broken-{earlier}"
        run = train(config, folder)
        for now in run:
            if now.step == 10:
                old = (folder / missing).read_bytes()
            if now.step == 20:
                break
        (folder / missing).unlink()
        if earlier:
            (folder / missing).write_bytes(old)
        steps = open_run(folder).steps
        assert steps in ((0, 10, 20), (0, 10), ())
        finish(config, folder, resume=True)
        final = open_run(folder)
        assert final.steps[-1] == 34
        assert np.array_equal(final.snapshot(), open_run(tmp_path / "unbroken").snapshot())


def test_a_stop_keeps_a_snapshot_of_that_step(tmp_path: Path) -> None:
    calls = iter(range(100))
    *_, last = train(small(), tmp_path, stop=lambda: next(calls) == 13)
    assert last.step == 13
    assert open_run(tmp_path).steps == (0, 10, 13)
    assert not open_run(tmp_path).finished
    finish(small(), tmp_path, resume=True)
    assert open_run(tmp_path).steps == (0, 10, 20, 30, 34)


def test_a_loss_that_is_not_finite_keeps_the_last_good_table(tmp_path: Path) -> None:
    run = train(small(learning_rate=1e6, weight_scale=1e6, token_scale=1e6), tmp_path)
    with pytest.raises(TrainingError, match="so the run stops there; the snapshots before it"):
        list(run)
    for step in open_run(tmp_path).steps:
        assert np.isfinite(open_run(tmp_path).snapshot(step)).all()


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    finish(small(steps=2), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(TrainingError) as refused:
        train(small(), tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} already holds config.json, metrics.jsonl, snapshots.safetensors, "
        f"model.safetensors, resume.safetensors, which a new run would overwrite. "
        f"Choose another folder, or resume the run that is there."
    )
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TrainingError, match="cannot be made"):
        train(small(), tmp_path / "file" / "run")


def test_a_refused_text_leaves_no_run_behind(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(TrainingError, match="is empty"):
        train(small(task="char-lm", text=str(tmp_path / "empty.txt")), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_resuming_with_other_settings_is_refused(tmp_path: Path) -> None:
    finish(small(steps=2), tmp_path)
    with pytest.raises(TrainingError) as refused:
        train(small(seed=4, lag=3), tmp_path, resume=True)
    assert str(refused.value) == (
        "A resumed run keeps its settings; these differ: seed (0 in the run, 4 asked for), "
        "lag (5 in the run, 3 asked for). Leave them out, or train anew in another folder."
    )


def test_resuming_backwards_is_refused(tmp_path: Path) -> None:
    finish(small(steps=12), tmp_path)
    with pytest.raises(TrainingError, match="has taken 12 steps already; 5 were asked for"):
        train(small(steps=5), tmp_path, resume=True)


def test_resuming_on_another_text_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("some words to learn from, " * 9)
    config = small(task="char-lm", text=str(text), steps=2)
    finish(config, tmp_path / "run")
    text.write_text("other words to learn from, " * 9)
    with pytest.raises(TrainingError, match="not the one the run in"):
        train(config, tmp_path / "run", resume=True)


def test_resuming_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="is not a training run"):
        configure(tmp_path, resume=True)


def test_damaged_state_is_refused_and_snapshots_stay(tmp_path: Path) -> None:
    finish(small(steps=12), tmp_path)
    (tmp_path / "resume.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(TrainingError, match="does not hold the state of this run"):
        train(small(), tmp_path, resume=True)
    assert open_run(tmp_path).steps == (0, 10, 12)


def test_options_not_given_come_from_the_task_or_from_the_run(tmp_path: Path) -> None:
    assert configure(tmp_path) == default_config("sticky-mlm")
    assert configure(tmp_path, task="copy", lag=None, seed=3) == default_config("copy", seed=3)
    finish(small(steps=2, lag=7), tmp_path / "run")
    assert configure(tmp_path / "run", resume=True, steps=9) == small(steps=9, lag=7)


def test_a_run_opens_in_transformers(tmp_path: Path) -> None:
    from transformers import GPT2LMHeadModel

    *_, last = finish(small(), tmp_path)
    model = GPT2LMHeadModel.from_pretrained(tmp_path)
    assert np.array_equal(model.transformer.wpe.weight.detach().numpy(), last.snapshot.table)


def test_a_text_for_a_task_that_reads_none_is_refused(tmp_path: Path) -> None:
    config = configure(tmp_path / "run", task="sticky-mlm", text=str(tmp_path / "mine.txt"))
    with pytest.raises(TrainingError, match="sticky-mlm makes its own sequences and reads no text"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
