"""Which tensor posviz.record keeps of other people's models, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import posviz
from posviz.errors import NoTableError, SettingError, SourceError, TrainingError
from posviz.recorder import RecordingWarning
from posviz.training.runs import open_run

Model = Callable[..., Any]


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
def test_compiled_and_parallel_models_are_unwrapped(nano_gpt: Model, tmp_path: Path) -> None:
    model = nano_gpt()
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
def test_a_model_that_is_wrapped_or_moved_on_its_way_is_still_the_same_one(nano_gpt: Model) -> None:
    model = nano_gpt()
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


def test_a_tied_table_is_kept_as_one_that_is_not(nano_gpt: Model) -> None:
    model = nano_gpt()
    model.lm_head.weight = model.transformer["wte"].weight
    posviz.record(model, 0, run="tied")
    own = model.transformer["wpe"].weight.detach().numpy()
    assert np.array_equal(posviz.load("run:tied").weights, own)


@pytest.mark.parametrize("how", ["resized", "gone", "meta"])
def test_a_table_that_cannot_be_read_any_more_never_ends_the_training(
    nano_gpt: Model, how: str
) -> None:
    model = nano_gpt()
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


def test_half_precision_is_kept_exactly_as_float32(nano_gpt: Model) -> None:
    model = nano_gpt(dtype=torch.bfloat16)
    posviz.record(model, 0, run="half")
    assert np.array_equal(
        posviz.load("run:half").weights, model.transformer["wpe"].weight.detach().float().numpy()
    )


def test_a_state_dict_is_recorded_too(nano_gpt: Model) -> None:
    posviz.record(nano_gpt().state_dict(), 0, run="mapping")
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


def test_what_cannot_be_recorded_is_refused_at_the_first_call(nano_gpt: Model) -> None:
    no_table = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 3))
    with pytest.raises(NoTableError, match=r"parameter=… to record it all the same") as refused:
        posviz.record(no_table, 0, run="mine")
    assert "0.weight (6 × 4)" in str(refused.value)
    assert posviz.record(no_table, 0, run="mine", parameter="0.weight") == "run:mine@0"
    with pytest.raises(SourceError, match="holds no single tensor named wpe2"):
        posviz.record(nano_gpt(), 0, run="other", parameter="wpe2")
    with pytest.raises(SourceError, match="str is neither"):
        posviz.record("model", 0, run="other")
    with pytest.raises(TrainingError, match="run's name has up to 64"):
        posviz.record(nano_gpt(), 0, run="../other")
    for step in (-1, 1.5, "x"):
        with pytest.raises(SettingError, match="step is a whole number"):
            posviz.record(nano_gpt(), step, run="other")
    with pytest.raises(SettingError, match="every is a whole number"):
        posviz.record(nano_gpt(), 0, run="other", every=0)


def test_a_tensor_spread_over_processes_is_refused_in_words() -> None:
    class Spread(np.ndarray):
        def full_tensor(self) -> None: ...

    rows = np.ones((6, 3), np.float32).view(Spread)
    with pytest.raises(SourceError, match="spread over several processes"):
        posviz.record({"wpe.weight": rows}, 0, run="mine")
