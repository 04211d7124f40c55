"""Whole models with another table in place: the same losses as transformers, and the wall."""

from __future__ import annotations

import copy
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from posviz.errors import ModelError
from posviz.interpolation import METHODS, extend
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.runner import Model, wall
from posviz.model.texts import Sequences, sequences
from posviz.sources.demos import DEMOS
from posviz.training.tasks import IGNORED

LAYOUTS = {
    "gpt2": "causal",
    "openai-gpt": "causal",
    "gpt-neo": "causal",
    "opt": "causal",
    "bert": "masked",
    "roberta": "masked",
    "distilbert": "masked",
    "electra": "masked",
}
DEMO_REFS = ("demo:gpt-mini", "demo:bert-mini")
Make = Callable[[str], tuple[Path, Any]]


@pytest.fixture(scope="module", params=DEMO_REFS)
def demo(request: pytest.FixtureRequest) -> Model:
    return open_model(request.param)


def theirs(ref: str) -> Any:
    from transformers import BertForMaskedLM, GPT2LMHeadModel

    kind = GPT2LMHeadModel if ref.endswith("gpt-mini") else BertForMaskedLM
    return kind.from_pretrained(DEMOS / ref.partition(":")[2]).eval()


def mean_loss_of(network: Any, read: Sequences) -> float:
    """transformers' own loss."""
    tokens = torch.from_numpy(read.tokens)
    labels = torch.from_numpy(read.targets)
    with torch.no_grad():
        if "ForMaskedLM" in type(network).__name__:
            segments = torch.from_numpy(read.segments)
            takes = {} if "Distil" in type(network).__name__ else {"token_type_ids": segments}
            return float(network(input_ids=tokens, labels=labels, **takes).loss)
        return float(network(input_ids=tokens, labels=tokens, shift_labels=labels).loss)


def test_a_demo_has_the_loss_that_transformers_gives_it(demo: Model) -> None:
    read = sequences(demo, length=demo.table.n_positions, count=8)
    own = loss_by_position(demo, read).mean
    # Two implementations of attention sum in another order: the sixth digit differs.
    assert own == pytest.approx(mean_loss_of(theirs(demo.ref), read), rel=1e-5)


def test_a_demo_at_twice_its_length_has_the_loss_that_transformers_gives_it(demo: Model) -> None:
    length = 2 * demo.table.n_positions
    read = sequences(demo, length=length, count=4)
    rows = extend(demo.table, length).table.weights
    network = theirs(demo.ref)
    table = network.get_parameter(demo.table.provenance.parameter)
    table.data = torch.from_numpy(rows.copy())
    holder = network.get_submodule(demo.table.provenance.parameter.rpartition(".")[0])
    holder.num_embeddings = length
    if demo.objective == "masked":
        network.bert.embeddings.position_ids = torch.arange(length)[None]
    own = loss_by_position(demo, read, rows).mean
    assert own == pytest.approx(mean_loss_of(network, read), rel=1e-5)


def test_its_own_rows_are_the_same_as_none(demo: Model) -> None:
    read = sequences(demo, length=20, count=3)
    assert np.array_equal(
        demo.losses(read), demo.losses(read, rows=demo.table.weights), equal_nan=True
    )


def test_the_model_is_as_it_was_after_reading_with_other_rows(demo: Model) -> None:
    read = sequences(demo, length=20, count=3)
    before = demo.losses(read)
    demo.losses(read, rows=np.zeros((40, demo.table.d_model), np.float32))
    assert np.array_equal(before, demo.losses(read), equal_nan=True)
    assert demo.positions.num_embeddings == demo.table.n_positions


def test_a_loss_stands_exactly_where_a_symbol_is_scored(demo: Model) -> None:
    read = sequences(demo, length=24, count=5)
    assert np.array_equal(np.isfinite(demo.losses(read)), read.targets != IGNORED)


def test_reading_past_the_table_is_explained(demo: Model) -> None:
    n_positions = demo.table.n_positions
    read = sequences(demo, length=n_positions + 1, count=1)
    with pytest.raises(ModelError) as caught:
        demo.losses(read)
    assert str(caught.value) == (
        f"{demo.name} has rows for positions 0 to {n_positions - 1}, and this text also needs "
        f"position {n_positions}: “index out of range”. Stretch the table or shorten the text."
    )


def test_the_wall_is_in_the_words_of_the_library(demo: Model) -> None:
    past = sequences(demo, length=demo.table.n_positions + 1, count=1)
    inside = sequences(demo, length=demo.table.n_positions, count=1)
    assert wall(demo, past) == "IndexError: index out of range in self"
    assert wall(demo, inside) == ""


def test_rows_of_another_width_are_refused(demo: Model) -> None:
    read = sequences(demo, length=8, count=1)
    with pytest.raises(ModelError, match="reads rows of 64 numbers; these have the shape 8 × 3"):
        demo.losses(read, rows=np.zeros((8, 3), np.float32))


def test_two_threads_do_not_see_each_others_rows(demo: Model) -> None:
    read = sequences(demo, length=32, count=4)
    tables = [demo.table.weights, np.zeros((32, demo.table.d_model), np.float32)]
    alone = [demo.losses(read, rows=rows) for rows in tables]
    found: dict[int, list[np.ndarray]] = {0: [], 1: []}

    def measure(which: int) -> None:
        found[which] += [demo.losses(read, rows=tables[which]) for _ in range(5)]

    threads = [threading.Thread(target=measure, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for which in (0, 1):
        assert all(np.array_equal(alone[which], each, equal_nan=True) for each in found[which])


# Other people's layouts ---------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_layout_has_its_own_loss_and_is_stretched(
    layout: str, folder_of_layout: Make, text: str
) -> None:
    folder, network = folder_of_layout(layout)
    model = open_model(str(folder))
    assert model.objective == LAYOUTS[layout]
    assert model.table.n_positions == 16
    read = sequences(model, length=16, count=4, text=text)
    own = loss_by_position(model, read)
    assert own.mean == pytest.approx(mean_loss_of(network, read), rel=1e-5)
    for key in METHODS:
        rows = extend(model.table, 24, method=key).table.weights
        longer = sequences(model, length=24, count=2, text=text)
        assert np.isfinite(loss_by_position(model, longer, rows).mean)
        same = loss_by_position(model, read, rows).mean == own.mean
        assert same == (METHODS[key].family == "append"), key


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stretched_table_reads_as_a_model_built_at_that_length(
    layout: str, folder_of_layout: Make, text: str
) -> None:
    """The model that transformers itself builds with a longer table is the independent truth."""
    _, network = folder_of_layout(layout)
    model = open_model(str(folder_of_layout(layout)[0]))
    rows = extend(model.table, 24, method="cubic").table
    config = copy.deepcopy(network.config)
    name = "n_positions" if layout in ("gpt2", "openai-gpt") else "max_position_embeddings"
    setattr(config, name, getattr(config, name) + 8)
    longer = type(network)(config).eval()
    weights = network.state_dict()
    holder = next(n for n, w in weights.items() if tuple(w.shape) == model.table.raw.shape)
    longer.load_state_dict(weights | {holder: torch.from_numpy(rows.raw.copy())})
    read = sequences(model, length=24, count=3, text=text)
    own = loss_by_position(model, read, rows.weights).mean
    assert own == pytest.approx(mean_loss_of(longer, read), rel=1e-5)


@pytest.mark.parametrize("layout", ["gpt2", "bert", "roberta", "opt", "distilbert"])
def test_the_wall_of_another_layout_is_its_own(
    layout: str, folder_of_layout: Make, text: str
) -> None:
    model = open_model(str(folder_of_layout(layout)[0]))
    said = wall(model, sequences(model, length=24, count=1, text=text))
    assert said.startswith(("IndexError: ", "RuntimeError: "))
    assert "out of range" in said or "must match" in said or "expanded size" in said


def test_a_bare_gpt2_has_a_loss_and_a_bare_bert_has_not(
    folder_of_layout: Make, tmp_path: Path, text: str
) -> None:
    for layout, base, expected in (("gpt2", "transformer", "causal"), ("bert", "bert", "encoder")):
        source, network = folder_of_layout(layout)
        folder = tmp_path / layout
        getattr(network, base).save_pretrained(folder)
        for file in source.glob("tokenizer*"):
            shutil.copy(file, folder)
        model = open_model(str(folder))
        assert model.objective == expected
    read = sequences(model, length=16, count=2, text=text)
    with pytest.raises(ModelError, match="has no output head"):
        model.losses(read)
    vectors = model.vectors(read)
    with torch.no_grad():
        own = network.bert(input_ids=torch.from_numpy(read.tokens)).last_hidden_state.numpy()
    np.testing.assert_allclose(vectors, own, atol=2e-5)
