"""posviz.record in other people's loops: what it keeps, what it costs, what it never breaks."""

from __future__ import annotations

import inspect
import json
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import posviz
from posviz import recorder
from posviz.errors import NoTableError, SettingError, SourceError, TrainingError
from posviz.recorder import RecordingWarning
from posviz.training.runs import open_run

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    recorder._recorders.clear()
    yield tmp_path / "runs"
    recorder._recorders.clear()


class NanoGPT(nn.Module):
    """Named as in nanoGPT; it does not need attention to have a table that learns."""

    def __init__(self, rows: int = 24, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {"wte": nn.Embedding(11, 8, dtype=dtype), "wpe": nn.Embedding(rows, 8, dtype=dtype)}
        )
        self.lm_head = nn.Linear(8, 11, dtype=dtype)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        place = torch.arange(tokens.shape[1])
        return self.lm_head(self.transformer["wte"](tokens) + self.transformer["wpe"](place))


def train(model: nn.Module, steps: int, *, length: int = 24, **recorded: object) -> list[str]:
    """A person's own loop; the references of what was kept."""
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    kept = []
    for step in range(steps):
        tokens = torch.randint(11, (4, length))
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        kept.append(posviz.record(model, step, loss=loss, **recorded))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [ref for ref in kept if ref]


def test_one_line_in_a_loop_makes_a_run_that_opens(home: Path) -> None:
    model = NanoGPT()
    before = model.transformer["wpe"].weight.detach().numpy().copy()
    kept = train(model, 31, run="mine")
    assert kept == ["run:mine@0", "run:mine@10", "run:mine@20", "run:mine@30"]
    assert {path.name for path in (home / "mine").iterdir()} == {
        "config.json", "metrics.jsonl", "snapshots.safetensors",
    }  # fmt: skip
    assert np.array_equal(posviz.load("run:mine@0").weights, before)
    run = open_run("mine")
    assert run.steps == (0, 10, 20, 30)
    assert abs(run.metrics[0]["loss"] - math.log(11)) < 0.5
    found = json.loads((home / "mine" / "config.json").read_text())["posviz"]["recorded"]
    assert found["parameter"] == "transformer.wpe.weight"


def test_the_table_kept_is_that_of_the_moment(home: Path) -> None:
    model = NanoGPT()
    for step in range(3):
        with torch.no_grad():
            model.transformer["wpe"].weight.fill_(step)
        posviz.record(model, step, every=1, run="mine")
    assert [float(rows.max()) for rows in open_run("mine").snapshots()] == [0, 1, 2]


def test_a_transformers_model_is_recorded_without_naming_its_table() -> None:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32,
    )  # fmt: skip
    model = BertForMaskedLM(config)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(11):
        tokens = torch.randint(20, (2, 12))
        loss = model(input_ids=tokens, labels=tokens).loss
        posviz.record(model, step, loss=loss, run="bert")
        loss.backward()
        optimizer.step()
    table = posviz.load("run:bert")
    own = model.bert.embeddings.position_embeddings.weight.detach().numpy()
    assert table.weights.shape == own.shape == (32, 16)
    assert not np.array_equal(table.weights, posviz.load("run:bert@0").weights)
    assert open_run("bert").metrics[-1]["rows_unseen"] == [[12, 31]]


def test_rows_that_no_position_uses_are_left_out() -> None:
    """RoBERTa counts from 2: position 0 is the third row stored."""
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=34, pad_token_id=1,
    )  # fmt: skip
    model = RobertaModel(config)
    posviz.record(model, 0, run="roberta")
    stored = model.embeddings.position_embeddings.weight.detach().numpy()
    assert np.array_equal(posviz.load("run:roberta").weights, stored[2:])


def test_patches_keep_their_grid() -> None:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        image_size=32, patch_size=8,
    )  # fmt: skip
    posviz.record(ViTModel(config), 0, run="vit")
    table = posviz.load("run:vit")
    assert (table.grid, table.prefix_rows, table.n_positions) == ((4, 4), 1, 17)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")  # torch.compile's own
def test_compiled_and_parallel_models_are_unwrapped(tmp_path: Path) -> None:
    model = NanoGPT()
    posviz.record(torch.compile(model), 0, run="compiled")
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(model)
        posviz.record(wrapped, 0, run="parallel")
    finally:
        torch.distributed.destroy_process_group()
    posviz.record(nn.DataParallel(model), 0, run="named", parameter="transformer.wpe.weight")
    own = model.transformer["wpe"].weight.detach().numpy()
    for name in ("compiled", "parallel", "named"):
        assert np.array_equal(posviz.load(f"run:{name}").weights, own)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")  # torch.compile's own
def test_a_model_that_is_wrapped_or_moved_on_its_way_is_still_the_same_one() -> None:
    model = NanoGPT()
    table = model.transformer["wpe"].weight
    compiled = torch.compile(model)
    ways = (model, compiled, nn.DataParallel(model), nn.DataParallel(compiled))
    for step, way in zip(range(0, 40, 10), ways, strict=True):
        with torch.no_grad():
            table.fill_(step)
        assert posviz.record(way, step, run="mine") == f"run:mine@{step}"
    posviz.record(model.double(), 40, run="mine")
    posviz.record(model.to(torch.bfloat16), 50, run="mine")
    model.transformer["wpe"] = torch.compile(model.transformer["wpe"])  # only a part of it
    assert posviz.record(model, 60, run="mine") == "run:mine@60"
    kept = [float(rows[0, 0]) for rows in open_run("mine").snapshots()]
    assert kept == [0, 10, 20, 30, 30, 30, 30]


def test_a_tied_table_is_kept_as_one_that_is_not() -> None:
    model = NanoGPT()
    model.lm_head.weight = model.transformer["wte"].weight
    posviz.record(model, 0, run="tied")
    own = model.transformer["wpe"].weight.detach().numpy()
    assert np.array_equal(posviz.load("run:tied").weights, own)


@pytest.mark.parametrize("how", ["resized", "gone", "meta"])
def test_a_table_that_cannot_be_read_any_more_never_ends_the_training(how: str) -> None:
    model = NanoGPT()
    posviz.record(model, 0, run="mine")
    if how == "resized":
        model.transformer["wpe"] = nn.Embedding(48, 8)
    elif how == "gone":
        del model.transformer["wpe"]
    else:
        model.to("meta")
    said = {
        "resized": "wpe.weight was of shape 24 × 8 and is now of shape 48 × 8. Record it as",
        "gone": "no longer holds a tensor named transformer.wpe.weight",
        "meta": "wpe.weight cannot be read from the model",
    }
    with pytest.warns(RecordingWarning, match=said[how]):
        assert posviz.record(model, 10, run="mine") is None
    assert open_run("mine").steps == (0,)


def test_two_processes_that_go_on_with_one_run_take_nothing_from_each_other() -> None:
    """Each process has its recorder: here the second is made while the first goes on."""
    train(NanoGPT(), 21, run="mine")
    (first,) = recorder._recorders.values()
    recorder._recorders.clear()  # as in another process
    second = NanoGPT()
    assert posviz.record(second, 25, run="mine") == "run:mine@25"
    with pytest.warns(RecordingWarning, match="records the run mine too, .* goes on as mine-2"):
        assert first.keep(NanoGPT(), 30, 1.0) == "run:mine-2@30"
    assert first.keep(NanoGPT(), 40, 1.0) == "run:mine-2@40"
    assert posviz.record(second, 35, run="mine") == "run:mine@35"
    assert open_run("mine").steps == (0, 10, 20, 25, 35)
    assert open_run("mine-2").steps == (0, 10, 20, 30, 40)
    assert open_run("mine-2").recorded_from == "transformer.wpe.weight"


def test_the_light_door_and_the_recorder_ask_for_the_same() -> None:
    door, behind = (inspect.signature(one) for one in (posviz.record, recorder.record))
    assert str(door) == str(behind)


def test_only_the_first_of_several_processes_records(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert posviz.record(NanoGPT(), 0, run="mine") is None
    assert not home.exists()


def test_half_precision_is_kept_exactly_as_float32() -> None:
    model = NanoGPT(dtype=torch.bfloat16)
    posviz.record(model, 0, run="half")
    assert np.array_equal(
        posviz.load("run:half").weights, model.transformer["wpe"].weight.detach().float().numpy()
    )


def test_a_state_dict_is_recorded_too() -> None:
    posviz.record(NanoGPT().state_dict(), 0, run="mapping")
    posviz.record({"anything": np.ones((5, 3), np.float64)}, 0, run="alone")
    assert posviz.load("run:mapping").weights.shape == (24, 8)
    assert posviz.load("run:alone").weights.shape == (5, 3)


def test_a_table_in_two_parts_is_put_together() -> None:
    rows, columns = np.eye(3, 4, dtype=np.float32), np.ones((2, 4), np.float32)
    parts = {"row_position_embeddings.weight": rows, "column_position_embeddings.weight": columns}
    posviz.record(parts, 0, run="axes")
    table = posviz.load("run:axes")
    assert np.array_equal(table.weights[1], rows[0] + columns[1])
    assert table.grid == (3, 2)


def test_snapshots_are_as_often_as_asked_or_ever_more_rarely() -> None:
    model = NanoGPT()
    for step in range(0, 1000, 3):
        posviz.record(model, step, run="log")
        posviz.record(model, step, run="hundred", every=100)
    assert open_run("hundred").steps == (0, 102, 204, 306, 408, 510, 612, 714, 816, 918)
    steps = open_run("log").steps
    gaps = np.diff(steps)
    assert gaps[0] == 12
    assert 30 < len(steps) < 70
    assert gaps[-1] > 5 * gaps[0]


def test_the_last_table_is_kept_when_asked_for() -> None:
    model = NanoGPT()
    for step in range(15):
        posviz.record(model, step, run="mine")
    assert posviz.record(model, 15, run="mine", every=1) == "run:mine@15"


def test_a_step_without_a_snapshot_looks_at_nothing() -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(name)

    model = NanoGPT()
    posviz.record(model, 0, run="mine")
    assert posviz.record(model, 1, loss=Untouchable(), run="mine") is None


def test_a_run_broken_off_goes_on_and_nothing_before_it_is_lost() -> None:
    train(NanoGPT(), 41, run="mine")
    before = open_run("mine").snapshot(20)
    recorder._recorders.clear()  # as in a new process
    model = NanoGPT()
    for step in range(25, 47):
        posviz.record(model, step, run="mine")
    run = open_run("mine")
    assert run.steps == (0, 10, 20, 25, 35, 45)
    assert np.array_equal(run.snapshot(20), before)
    assert np.array_equal(run.snapshot(), model.transformer["wpe"].weight.detach().numpy())


def test_a_name_that_is_taken_is_never_overwritten() -> None:
    first, second = NanoGPT(), NanoGPT()
    posviz.record(first, 0, run="mine")
    with pytest.warns(RecordingWarning) as told:
        posviz.record(second, 0, run="mine")
    assert str(told[0].message) == (
        "There is a run mine already, so this one is recorded as mine-2."
    )
    assert told[0].filename == __file__
    assert np.array_equal(
        posviz.load("run:mine").weights, first.transformer["wpe"].weight.detach().numpy()
    )
    assert posviz.record(second, 10, run="mine") == "run:mine-2@10"


def test_a_run_trained_by_posviz_itself_is_never_continued(home: Path) -> None:
    from posviz.training.config import default_config
    from posviz.training.engine import train as train_run

    config = default_config("copy", steps=2, n_positions=8, d_model=8, batch_size=2)
    for _ in train_run(config, home / "copy-1"):
        pass
    written = (home / "copy-1" / "snapshots.safetensors").read_bytes()
    with pytest.warns(RecordingWarning, match="recorded as copy-1-2"):
        posviz.record(NanoGPT(), 5, run="copy-1")
    assert (home / "copy-1" / "snapshots.safetensors").read_bytes() == written


def test_without_a_name_the_script_gives_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/my train.py"])
    assert posviz.record(NanoGPT(), 0) == "run:my-train-1@0"
    assert posviz.record(NanoGPT(), 0) == "run:my-train-2@0"


def test_steps_that_start_again_each_epoch_are_told_once() -> None:
    model = NanoGPT()

    def epochs() -> None:
        for step in 3 * [*range(12)]:
            posviz.record(model, step, run="mine")

    with pytest.warns(RecordingWarning, match="step went back from 10 to 0") as told:
        epochs()
    assert len(told) == 1
    assert open_run("mine").steps == (0, 10)


@pytest.mark.parametrize("loss", [math.nan, torch.tensor(math.inf)])
def test_a_loss_that_is_not_finite_is_missing_and_told(loss: object, home: Path) -> None:
    with pytest.warns(RecordingWarning, match="at step 0; it is kept as missing"):
        posviz.record(NanoGPT(), 0, loss=loss, run="mine")
    assert open_run("mine").metrics[0]["loss"] is None
    text = (home / "mine" / "metrics.jsonl").read_text()
    assert "NaN" not in text


def test_a_table_that_is_not_finite_is_not_kept_and_the_good_ones_stay() -> None:
    model = NanoGPT()
    posviz.record(model, 0, run="mine")
    with torch.no_grad():
        model.transformer["wpe"].weight[3, 3] = math.nan
    with pytest.warns(RecordingWarning, match="position table is not finite at step 10"):
        assert posviz.record(model, 10, run="mine") is None
    assert open_run("mine").steps == (0,)


def test_a_folder_that_is_gone_is_a_warning_and_the_training_goes_on(home: Path) -> None:
    import shutil

    model = NanoGPT()
    posviz.record(model, 0, run="mine")
    shutil.rmtree(home / "mine")
    with pytest.warns(RecordingWarning, match="cannot be written"):
        assert posviz.record(model, 10, run="mine") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert posviz.record(model, 20, run="mine") is None


def test_a_long_recording_is_thinned_and_keeps_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_BYTES", 10 * 24 * 8 * 4)
    model = NanoGPT()
    for step in range(100):
        posviz.record(model, step, run="mine", every=1)
    steps = open_run("mine").steps
    assert steps[0] == 0
    assert steps[-1] > 80
    assert 5 <= len(steps) <= 10


def test_what_cannot_be_recorded_is_refused_at_the_first_call() -> None:
    no_table = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 3))
    with pytest.raises(NoTableError, match=r"parameter=… to record it all the same") as refused:
        posviz.record(no_table, 0, run="mine")
    assert "0.weight (6 × 4)" in str(refused.value)
    assert posviz.record(no_table, 0, run="mine", parameter="0.weight") == "run:mine@0"
    with pytest.raises(SourceError, match="holds no single tensor named wpe2"):
        posviz.record(NanoGPT(), 0, run="other", parameter="wpe2")
    with pytest.raises(SourceError, match="str is neither"):
        posviz.record("model", 0, run="other")
    with pytest.raises(TrainingError, match="run's name has up to 64"):
        posviz.record(NanoGPT(), 0, run="../other")
    for step in (-1, 1.5, "x"):
        with pytest.raises(SettingError, match="step is a whole number"):
            posviz.record(NanoGPT(), step, run="other")
    with pytest.raises(SettingError, match="every is a whole number"):
        posviz.record(NanoGPT(), 0, run="other", every=0)


def test_a_tensor_spread_over_processes_is_refused_in_words() -> None:
    class Spread(np.ndarray):
        def full_tensor(self) -> None: ...

    rows = np.ones((6, 3), np.float32).view(Spread)
    with pytest.raises(SourceError, match="spread over several processes"):
        posviz.record({"wpe.weight": rows}, 0, run="mine")


def test_a_kill_in_the_middle_leaves_a_run_that_opens(home: Path) -> None:
    script = """
import os, posviz, numpy as np
for step in range(60):
    posviz.record({"wpe.weight": np.full((4, 3), step, np.float32)}, step, run="killed", every=1)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, check=False)
    assert done.returncode == -9
    run = open_run("killed")
    assert run.steps == tuple(range(60))
    assert float(run.snapshot().max()) == 59


def test_importing_posviz_stays_light() -> None:
    script = (
        "import sys, posviz; "
        "print([name for name in ('torch', 'numpy', 'scipy', 'streamlit') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
