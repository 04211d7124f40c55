"""Fine-tuning on the Interpolation page, without a browser: a real run from button to result."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz.training.finetune import DEMOS, fine_tune_config
from posviz.training.runs import open_run
from posviz.ui import finetune, lab

if TYPE_CHECKING:
    from posviz.training.jobs import Jobs

pytestmark = pytest.mark.usefixtures("home", "registry")

Visit = Callable[..., AppTest]


def said(app: AppTest) -> str:
    texts = (str(one.value) for one in (*app.markdown, *app.caption, *app.info, *app.error))
    return "\n".join(texts).replace("\\", "")


def until_it_ends(app: AppTest, jobs: Jobs) -> None:
    while jobs.running():  # pytest's own time limit ends a hang
        time.sleep(0.2)
    app.run()
    assert not app.exception


def test_the_new_rows_learn_and_the_result_is_a_run(
    interpolation: Visit, home: Path, registry: Jobs
) -> None:
    app = interpolation(table="demo:bert-mini", length="96", method="Tile")
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
    level = finetune._level(config, run)
    assert level == (run.metrics[-1]["loss"], "before, at 64 positions")
    notes = [one.text for one in lab.loss(run, level=level).figure.layout.annotations]
    assert notes == ["before, at 64 positions"]


def test_a_run_stopped_at_once_is_not_said_to_have_gone_anywhere() -> None:
    begun = {"step": 0, "loss": 7.0}
    stopped = "Stopped before its first step: the loss at 96 positions is 7.000 nats"
    assert finetune._went([begun], 96) == stopped
    moved = "In 1 step the loss at 96 positions went from 7.000 to 6.500 nats"
    assert finetune._went([begun, {"step": 1, "loss": 6.5}], 96) == moved


def test_what_the_button_will_do_is_told_before(interpolation: Visit, home: Path) -> None:
    app = interpolation(table="demo:gpt-mini", length="200", method="Cubic spline")
    new = "Resampled, every row of the table is new and learns; no other weight moves."
    assert new in said(app)
    whole = {"length": "200", "method": "Cubic spline", "moving": "The whole table"}
    app = interpolation(table="demo:gpt-mini", **whole)
    assert "Every row of the table learns; no other weight moves." in said(app)


@pytest.mark.parametrize("table", ["random:64x8", "sinusoidal:64x8"])
def test_a_table_without_a_model_of_posviz_says_so(interpolation: Visit, table: str) -> None:
    assert "is a table by itself, without a model" in said(interpolation(table=table))


def test_a_refusal_of_the_worker_is_shown(interpolation: Visit, home: Path, registry: Jobs) -> None:
    app = interpolation(table="demo:bert-mini", length="40", method="Tile")
    app.button(key="fine-tune").click().run()
    until_it_ends(app, registry)
    assert "there is no new row to train" in said(app)
    assert not list(home.iterdir())


@pytest.fixture
def roberta(tmp_path: Path) -> Path:
    """A tiny RoBERTa with random weights, and a tokenizer of letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    symbols = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"abcdefghijklmnopqrstuvwxyz"]
    inner = Tokenizer(models.WordLevel({s: n for n, s in enumerate(symbols)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    special = {"unk": "<unk>", "pad": "<pad>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    tokens = {f"{name}_token": symbol for name, symbol in special.items()}
    folder = tmp_path / "roberta"
    PreTrainedTokenizerFast(tokenizer_object=inner, **tokens).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(symbols), hidden_size=12, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=18, type_vocab_size=1, pad_token_id=1,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


def test_the_table_of_somebody_elses_model_is_fine_tuned(
    interpolation: Visit, roberta: Path, home: Path, registry: Jobs
) -> None:
    folder = roberta
    app = interpolation(table=str(folder), length="24", method="Tile")
    words = said(app)
    assert "goes on with the text. Positions 16 to 23 learn, those before stay bit for bit" in words
    assert "MB of memory" in words
    assert app.number_input(key="tuning_few_steps").value == 20
    app.number_input(key="tuning_few_steps").set_value(2).run()
    app.button(key="fine-tune").click().run()
    until_it_ends(app, registry)
    run = open_run("roberta-24-1")
    assert not (run.folder / "model.safetensors").exists()
    assert f"**{run.name}.** In 2 steps the loss at 24 positions went from " in said(app)
    assert "before it was stretched, at 16, it was " in said(app)
    old, new = posviz.load(str(folder)).weights, run.snapshot()
    assert new[:16].tobytes() == old.tobytes()
    assert app.number_input(key="tuning_few_steps").value == 2
    app.button(key="open-tuned").click().run()
    assert not app.exception
    for page in ("overview", "curve", "training", "checkpoint", "inside"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        if page == "training":
            words = said(app)
            assert "A stretched table, fine-tuned at its new length." in words
            assert "Rows 0–15 were left as before." in words
            assert "is the table of somebody else's model" in words


def test_the_number_of_steps_outlives_the_section(interpolation: Visit, home: Path) -> None:
    """The box is not on the page while the section is closed or a run is watched."""
    app = interpolation(table="demo:bert-mini", length="96", method="Tile")
    app.number_input(key="tuning_steps").set_value(7).run()
    app.segmented_control(key="moving").set_value("table").run()
    assert app.number_input(key="tuning_steps").value == 7
    app.switch_page("pages/overview.py").run()
    app.switch_page("pages/interpolation.py").run()
    assert app.number_input(key="tuning_steps").value == 7
    app.selectbox(key="method").set_value("linear").run()
    assert app.number_input(key="tuning_steps").value == 7


def test_a_hub_model_that_is_not_here_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    from posviz.ui import measuring, tunable

    note = "Of x only the table has been read."
    monkeypatch.setattr(
        measuring, "place", lambda ref: measuring.Place(ours=False, hub=True, fetch=9, note=note)
    )

    class Found:
        ref = "hub:x/y"

    found: Any = Found()
    assert "Measure its loss first" in str(tunable.behind(found, 64))
    assert "need pictures" in str(tunable.behind(found, (4, 4)))
