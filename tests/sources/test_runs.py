"""Run references: the last table, one on the way, and names that mean nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import posviz
from posviz import sources
from posviz.errors import NoTableError, SourceError
from posviz.sources import Access


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path))
    return tmp_path


def made(home: Path, name: str = "sticky-1", table: str | None = "learned") -> np.ndarray:
    """A run with snapshots at steps 0, 10 and 1,000,000 (a digit more than the names have)."""
    (home / name).mkdir()
    rows = np.random.default_rng(0).normal(size=(3, 12, 4)).astype(np.float32)
    tensors = {f"step-{step:06d}": rows[i] for i, step in enumerate((0, 10, 1_000_000))}
    save_file(tensors, home / name / "snapshots.safetensors")
    if table is not None:
        config = {"model_type": "bert", "posviz": {"training": {"table": table}}}
        (home / name / "config.json").write_text(json.dumps(config))
    return rows


def test_a_run_opens_at_its_last_step_or_at_the_one_named(home: Path) -> None:
    rows = made(home)
    last, first = posviz.load("run:sticky-1"), posviz.load("run:sticky-1@0")
    assert np.array_equal(last.weights, rows[2])
    assert np.array_equal(first.weights, rows[0])
    assert last.provenance.line() == "run:sticky-1 · step-1000000 · F32"
    assert (last.name, first.name) == ("sticky-1", "sticky-1, step 0")


def test_every_snapshot_opens_by_hand(home: Path) -> None:
    rows = made(home)
    assert np.array_equal(posviz.load("run:sticky-1", parameter="step-000010").weights, rows[1])


def test_a_run_opens_for_whoever_may_open_no_paths(home: Path) -> None:
    made(home)
    assert sources.load("run:sticky-1", access=Access(local_paths=False)).n_positions == 12


def test_a_shared_server_tells_nobody_the_names_of_others_runs(home: Path) -> None:
    made(home)
    for access in (Access(local_paths=False), Access(local_root=home)):
        with pytest.raises(SourceError) as refused:
            sources.load("run:guessed", access=access)
        assert str(refused.value) == (
            "There is no run called guessed. Name one of your own, or train one."
        )


@pytest.mark.parametrize(
    ("filled", "kind"),
    [("learned", "learned"), ("sinusoidal", "sinusoidal"), ("frozen", "random"), (None, "learned")],
)
def test_what_filled_the_table_is_told(home: Path, filled: str | None, kind: str) -> None:
    made(home, table=filled)
    assert posviz.load("run:sticky-1").kind == kind


def test_a_run_without_positions_has_no_table(home: Path) -> None:
    made(home, table="none")
    with pytest.raises(NoTableError) as refused:
        posviz.load("run:sticky-1")
    assert str(refused.value) == (
        "sticky-1: the run was trained without positions. Open another run."
    )
    assert sources.open("run:sticky-1").scheme == "none"


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("run:nobody", "There is no run called nobody. The newest runs: run:sticky-1."),
        ("run:../sticky-1", "There is no run called ../sticky-1. The newest runs: run:sticky-1."),
        ("run:..", "There is no run called ... The newest runs: run:sticky-1."),
        ("run:", "There is no run called (nothing). The newest runs: run:sticky-1."),
        ("run:sticky-1@7", "no snapshot of step 7; it has 3, from step 0 to 1000000. "
                           "Open run:sticky-1@10."),
        ("run:sticky-1@x", "no snapshot of step x; it has 3,"),
        ("run:sticky-1@", "no snapshot of step (nothing); it has 3,"),
        ("run:sticky-1@٣", "no snapshot of step ٣; it has 3,"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_with_what_is(home: Path, ref: str, said: str) -> None:
    made(home)
    (home / "somebody-elses").mkdir()
    with pytest.raises(SourceError) as refused:
        sources.open(ref)
    assert said in str(refused.value)


def test_a_damaged_snapshot_file_is_refused(home: Path) -> None:
    made(home)
    (home / "sticky-1" / "snapshots.safetensors").write_bytes(b"not a tensor file")
    with pytest.raises(SourceError, match=r"snapshots\.safetensors"):
        posviz.load("run:sticky-1")
