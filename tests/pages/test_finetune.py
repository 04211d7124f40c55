"""Fine-tuning on the Interpolation page, without a browser: a real run from button to result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz.training.finetune import DEMOS, fine_tune_config
from posviz.training.runs import open_run
from posviz.ui import finetune, lab

if TYPE_CHECKING:
    from posviz.training.jobs import Jobs

PROJECT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("home", "registry")


def visit(**query: str) -> AppTest:
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    for name, value in {"expert": "true", **query}.items():
        app.query_params[name] = value
    app = app.run().switch_page("pages/interpolation.py").run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    texts = (str(one.value) for one in (*app.markdown, *app.caption, *app.info, *app.error))
    return "\n".join(texts).replace("\\", "")


def until_it_ends(app: AppTest, jobs: Jobs, seconds: float = 240) -> None:
    """Patient, since a training process gives way to everything else on a busy machine."""
    deadline = time.monotonic() + seconds
    while jobs.running():
        assert time.monotonic() < deadline, "it did not end in time"
        time.sleep(0.2)
    app.run()
    assert not app.exception


def test_the_new_rows_learn_and_the_result_is_a_run(home: Path, registry: Jobs) -> None:
    app = visit(table="demo:bert-mini", length="96", method="Tile")
    assert "Positions 64 to 95 learn, those before stay bit for bit" in said(app)
    app.number_input(key="tuning_steps").set_value(4).run()
    app.button(key="fine-tune").click().run()
    until_it_ends(app, registry)
    run = open_run("bert-mini-96-1")
    assert f"**{run.name}.** In 4 steps the loss at 96 positions went from " in said(app)
    before = open_run(DEMOS / "bert-mini").metrics[-1]["loss"]
    assert f"before it was stretched, at 64, it was {before:.3f}" in said(app)
    old, new = posviz.load("demo:bert-mini").raw, run.snapshot()
    assert new[:64].tobytes() == old.tobytes()
    assert np.abs(new[64:] - old[:32]).max() > 0
    app.button(key="open-tuned").click().run()
    assert not app.exception
    assert app.query_params["table"] in ("run:bert-mini-96-1", ["run:bert-mini-96-1"])


def test_the_loss_is_held_against_the_one_before_and_not_against_chance() -> None:
    config = fine_tune_config("demo:bert-mini", 96, method="tile")
    run = open_run(DEMOS / "bert-mini")
    level = finetune._level(config)
    assert level == (run.metrics[-1]["loss"], "before, at 64 positions")
    notes = [one.text for one in lab.loss(run, level=level).figure.layout.annotations]
    assert notes == ["before, at 64 positions"]


def test_what_the_button_will_do_is_told_before(home: Path) -> None:
    app = visit(table="demo:gpt-mini", length="200", method="Cubic spline")
    assert "Every row of the table learns; no other weight moves." in said(app)


@pytest.mark.parametrize("table", ["random:64x8", "sinusoidal:64x8"])
def test_a_table_without_a_model_of_posviz_says_so(table: str) -> None:
    assert "Models that posviz trained are fine-tuned here" in said(visit(table=table))


def test_a_refusal_of_the_worker_is_shown(home: Path, registry: Jobs) -> None:
    app = visit(table="demo:bert-mini", length="40", method="Tile")
    app.button(key="fine-tune").click().run()
    until_it_ends(app, registry)
    assert "there is no new row to train" in said(app)
    assert not list(home.iterdir())
