"""The film of a run and its snapshots, of demos, recorded runs and awkward ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz import recorder
from posviz.training.config import default_config
from posviz.training.engine import train

Visit = Callable[..., AppTest]
Said = Callable[[AppTest], str]
Recorded = Callable[[str, np.ndarray], None]


@pytest.mark.parametrize("view", ["Film", "Step by step"])
@pytest.mark.parametrize("demo", ["gpt-mini", "bert-mini"])
def test_the_demos_play_without_training(visit: Visit, said: Said, demo: str, view: str) -> None:
    app = visit(table=f"demo:{demo}", reel=view)
    assert not app.exception
    assert not app.error
    assert "Random rows became an ordered curve." in said(app)
    assert app.selectbox(key="film").value == f"demo:{demo}"
    assert f"demo:{demo}" in said(app)


def test_a_table_without_a_film_is_told_from_the_film_on_show(visit: Visit, said: Said) -> None:
    app = visit(table="sinusoidal:40x12")
    assert app.selectbox(key="film").value == "demo:gpt-mini"
    assert "the open table, sinusoidal:40x12, is another one" in said(app)


@pytest.mark.parametrize(
    "tables",
    [np.zeros((2, 5, 4)), np.ones((1, 1, 4)), np.random.default_rng(0).normal(size=(3, 2, 1))],
    ids=["zero", "one-row", "one-dimension"],
)
@pytest.mark.parametrize("view", ["Film", "Step by step"])
def test_awkward_runs_are_shown(
    visit: Visit, recorded: Recorded, view: str, tables: np.ndarray
) -> None:
    recorded("mine", tables.astype(np.float32))
    app = visit(table="run:mine", reel=view)
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="film").value == "run:mine"


def test_a_recorded_run_without_losses_is_shown(visit: Visit, said: Said) -> None:
    recorder._recorders.clear()
    for step in range(3):
        posviz.record({"wpe.weight": np.eye(6, 4) + step}, step, run="mine", every=1)
    app = visit(table="run:mine")
    assert not app.exception
    assert not app.error
    assert "the loss went" not in said(app)


@pytest.mark.parametrize("view", ["Film", "Step by step"])
def test_two_runs_stand_side_by_side(
    visit: Visit, said: Said, recorded: Recorded, view: str
) -> None:
    rng = np.random.default_rng(0)
    recorded("three", rng.normal(size=(3, 6, 4)).astype(np.float32))
    recorded("five", rng.normal(size=(5, 9, 3)).astype(np.float32))
    app = visit(table="run:three", beside="run:five", reel=view)
    assert not app.exception
    assert not app.error
    assert "run:five" in said(app)
    assert "five " in said(app), "each number stands beside the other run's"
    if view == "Step by step":
        snapshot = next(s for s in app.select_slider if s.label == "Snapshot")
        assert list(snapshot.options) == [f"step {step}" for step in range(5)]
        snapshot.set_value(4).run()
        assert "run:three, step 2" in said(app), "the last it has"
        assert "run:five, step 4" in said(app)


def test_rows_that_no_sequence_reaches_are_named(visit: Visit, said: Said, home: Path) -> None:
    config = default_config(
        "copy", steps=10, n_positions=16, d_model=8, batch_size=2, sequence_length=9
    )
    for _ in train(config, home / "short"):
        pass
    for view in ("Film", "Step by step"):
        app = visit(table="run:short", reel=view)
        assert not app.exception
        assert "Rows 9–15 were never trained." in said(app)


def test_what_the_trained_model_loses_is_measured_when_asked_for(
    visit: Visit, said: Said, home: Path
) -> None:
    for name in ("learned", "none"):
        config = default_config(
            "copy", steps=10, n_positions=16, d_model=8, batch_size=2, table=name
        )
        for _ in train(config, home / f"tiny-{name}"):
            pass
    app = visit(table="run:tiny-learned", beside="run:tiny-none", expert="true")
    assert not app.exception
    assert not app.error
    told = said(app)
    assert "Its table spoilt · tiny-learned" in told
    assert "It has no row 16 and stops there (`IndexError: index out of range in self`)" in told
    (info,) = [one.value for one in app.info]
    assert "trained without positions" in info


def test_a_recorded_run_says_that_there_is_no_model_to_run(
    visit: Visit, recorded: Recorded
) -> None:
    recorded("mine", np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32))
    app = visit(table="run:mine", expert="true")
    assert not app.exception
    (info,) = [one.value for one in app.info]
    assert "recorded from somebody's own script" in info
