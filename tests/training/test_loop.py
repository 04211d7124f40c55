"""Training: the same bits each time, the first loss, what stops it."""

from __future__ import annotations

import math
from itertools import islice, takewhile

import numpy as np
import pytest
import torch

from posviz.errors import TrainingError
from posviz.training.config import TrainConfig, default_config
from posviz.training.loop import Trainer, held_out_loss, snapshots
from posviz.training.schedule import scheduled_steps
from posviz.training.tasks import TASKS

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"n_positions": 16, "d_model": 16, "batch_size": 4}


def tables(config: TrainConfig) -> list[np.ndarray]:
    return [snapshot.table for snapshot in snapshots(config)]


@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_bits(task: str) -> None:
    config = default_config(task, steps=25, **SMALL)
    for first, second in zip(tables(config), tables(config), strict=True):
        assert np.array_equal(first, second)


def test_fifty_default_steps_give_the_same_bits_and_another_seed_does_not() -> None:
    first, again = (tables(default_config(steps=50))[-1] for _ in range(2))
    assert np.abs(first - again).max() == 0
    assert not np.array_equal(first, tables(default_config(steps=50, seed=1))[-1])


def test_a_run_leaves_torchs_own_random_state_alone() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    tables(default_config(steps=2, **SMALL))
    assert torch.equal(before, torch.get_rng_state())


def test_a_longer_run_passes_through_the_states_of_a_shorter_one() -> None:
    short, long = (tables(default_config(steps=n, **SMALL)) for n in (20, 40))
    for a, b in zip(short, long, strict=False):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("task", TASKS)
def test_the_first_loss_is_that_of_knowing_nothing(task: str) -> None:
    trainer = Trainer(default_config(task))
    vocabulary = math.log(len(trainer.data.vocabulary))
    assert trainer.snapshot().loss == pytest.approx(vocabulary, abs=0.1)


@pytest.mark.parametrize("kind", ["sinusoidal", "frozen", "none"])
def test_a_table_that_is_not_learned_never_changes(kind: str) -> None:
    first, *_, last = snapshots(default_config(steps=12, table=kind, **SMALL))
    assert np.array_equal(first.table, last.table)
    assert last.loss != first.loss
    assert not last.seen.any()


def test_rows_past_the_sequence_are_never_seen_and_only_decay() -> None:
    config = default_config("copy", steps=10, weight_decay=0.1, sequence_length=9, **SMALL)
    first, *_, last = snapshots(config)
    assert last.seen.tolist() == [True] * 9 + [False] * 7
    # AdamW multiplies by 1 - rate * decay at each step.
    rates = [config.learning_rate * (step + 1) / 50 for step in range(10)]
    factor = np.prod([1 - rate * 0.1 for rate in rates])
    np.testing.assert_allclose(last.table[9:], first.table[9:] * factor, rtol=1e-5)


def test_snapshots_are_dense_early_and_sparse_late() -> None:
    steps = list(islice(scheduled_steps(), 60))
    assert steps[:16] == list(range(0, 160, 10))
    gaps = np.diff(steps)
    assert (np.diff(gaps) >= 0).all()
    assert len(list(takewhile(lambda step: step <= 100_000, scheduled_steps()))) < 120


def test_the_last_step_has_a_snapshot_wherever_it_falls() -> None:
    assert [s.step for s in snapshots(default_config(steps=13, **SMALL))] == [0, 10, 13]
    assert [s.step for s in snapshots(default_config(steps=0, **SMALL))] == [0]


def test_progress_tells_every_step_once() -> None:
    told = [now.step for now in Trainer(default_config(steps=23, **SMALL)).progress()]
    assert told == list(range(24))


def test_the_loss_of_a_snapshot_can_be_measured_again() -> None:
    trainer = Trainer(default_config(steps=3, **SMALL))
    last = list(trainer.progress())[-1].snapshot
    assert held_out_loss(trainer.model, trainer.data) == last.loss


def test_snapshots_do_not_share_memory_with_the_model() -> None:
    trainer = Trainer(default_config(**SMALL))
    kept = trainer.snapshot().table
    before = kept.copy()
    trainer.advance()
    assert np.array_equal(kept, before)


def test_a_loss_that_is_not_finite_stops_the_run_and_leaves_the_weights() -> None:
    trainer = Trainer(default_config(**SMALL))
    trainer.advance()
    before = trainer.model.positions.weight.detach().clone()
    with torch.no_grad():
        trainer.model.tokens.weight[5:] = math.inf
    with pytest.raises(TrainingError) as refused:
        trainer.advance()
    assert str(refused.value) == (
        "The loss became nan after step 1, so the run stops there; the snapshots before it are "
        "kept. Choose a learning-rate below 0.005."
    )
    assert trainer.step == 1
    assert torch.equal(before, trainer.model.positions.weight)
    with pytest.raises(TrainingError, match="became nan after step 1"):
        trainer.snapshot()


def test_training_learns() -> None:
    """Copying from one back, 150 steps: the loss leaves ln 17 = 2.83 far behind."""
    config = default_config("copy", lag=1, steps=150, n_positions=16, d_model=32)
    *_, last = snapshots(config)
    assert last.loss < 0.5
