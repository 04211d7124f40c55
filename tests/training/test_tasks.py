"""Batches are what the tasks promise."""

from __future__ import annotations

import math

import pytest
import torch

from posviz.errors import TrainingError
from posviz.training.config import TrainConfig, default_config
from posviz.training.tasks import IGNORED, TASKS, Batch, sticky_chains
from posviz.training.text import library_text
from posviz.training.vocabulary import MASK, SPECIALS, UNKNOWN, Vocabulary

COUNT = 200


def batch_of(task: str, *, held_out: bool = False, **settings: object) -> tuple[Vocabulary, Batch]:
    config = default_config(task, **settings)
    data = TASKS[task].prepare(config)
    return data.vocabulary, data.sample(COUNT, torch.Generator().manual_seed(0), held_out)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_makes_symbols_of_its_vocabulary(task: str) -> None:
    vocabulary, batch = batch_of(task, n_positions=32)
    tokens = batch.inputs[0]
    assert tokens.shape == batch.targets.shape == (COUNT, 32)
    assert int(tokens.min()) >= 0
    assert int(tokens.max()) < len(vocabulary)
    asked = batch.targets[batch.targets != IGNORED]
    assert len(asked) > 0
    assert {vocabulary.symbols[n] for n in asked.unique()}.isdisjoint(SPECIALS)
    assert len(batch.inputs) == (2 if TASKS[task].architecture == "bert" else 1)


@pytest.mark.parametrize("task", TASKS)
def test_every_vocabulary_knows_the_unknown(task: str) -> None:
    vocabulary, _ = batch_of(task)
    assert vocabulary.encode("\N{SNOWMAN}") == [vocabulary[UNKNOWN]]
    assert vocabulary.unseen("a\N{SNOWMAN}b\N{SNOWMAN}") == ("\N{SNOWMAN}",)


@pytest.mark.parametrize("task", ["sticky-mlm", "char-mlm"])
def test_masked_tasks_hide_the_share_asked_for_and_ask_for_nothing_else(task: str) -> None:
    vocabulary, batch = batch_of(task, mask=0.3)
    hidden = batch.inputs[0] == vocabulary[MASK]
    assert torch.equal(hidden, batch.targets != IGNORED)
    letters = hidden | (batch.inputs[0] >= len(SPECIALS))
    # 12,800 letters: four standard deviations of a share of 0.3 are 0.016.
    assert (hidden.sum() / letters.sum()).item() == pytest.approx(0.3, abs=0.016)


def test_sticky_chains_repeat_as_often_as_they_say() -> None:
    chains = sticky_chains(500, 100, torch.Generator().manual_seed(0), stay=0.85, letters=16)
    again = (chains[:, 1:] == chains[:, :-1]).float().mean().item()
    # A letter drawn anew may be the old one: .85 + .15 / 16; 49,500 draws, four sigma .006.
    assert again == pytest.approx(0.85 + 0.15 / 16, abs=0.006)
    assert chains.unique().tolist() == list(range(16))


def test_sticky_pairs_look_like_typed_text() -> None:
    vocabulary, batch = batch_of("sticky-mlm", mask=0.01)
    tokens, segments = batch.inputs
    with_class = tokens[:, 0] == vocabulary["[CLS]"]
    assert 0.35 < with_class.float().mean().item() < 0.65  # 200 fair coins: four sigma .14
    first, second = vocabulary.pair("aabb", "cc")
    assert first[0] == vocabulary["[CLS]"]
    assert second == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    for row, kinds in zip(tokens[with_class], segments[with_class], strict=True):
        ends = (row == vocabulary["[SEP]"]).nonzero().flatten().tolist()
        assert len(ends) == 2
        assert ends[1] == len(row) - 1
        assert kinds.tolist() == [int(place > ends[0]) for place in range(len(row))]


def test_copy_asks_for_the_letter_k_back() -> None:
    _, batch = batch_of("copy", lag=3, n_positions=16)
    tokens = batch.inputs[0]
    assert torch.equal(batch.targets[:, 3:], tokens[:, :-3])
    assert (batch.targets[:, :3] == IGNORED).all()


def test_char_lm_asks_for_the_next_character_of_the_text() -> None:
    vocabulary, batch = batch_of("char-lm", n_positions=24)
    text = library_text()
    for held_out in (False, True):
        vocabulary, batch = batch_of("char-lm", n_positions=24, held_out=held_out)
        tokens, targets = batch.inputs[0][0], batch.targets[0]
        window = "".join(vocabulary.symbols[n] for n in (*tokens, targets[-1]))
        assert window in text
        assert torch.equal(tokens[1:], targets[:-1])


def test_held_out_windows_are_never_trained_on(tmp_path: object) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a" * 450 + "ab" * 220 + "z" * 110)  # the last tenth is z alone
    settings = {"text": str(path), "n_positions": 16}
    vocabulary, trained = batch_of("char-lm", **settings)
    _, held_out = batch_of("char-lm", held_out=True, **settings)
    assert int(trained.targets.max()) < vocabulary["z"]
    assert int(held_out.inputs[0].min()) == vocabulary["z"]


def test_sequences_may_be_shorter_than_the_table() -> None:
    for task in TASKS:
        _, batch = batch_of(task, n_positions=64, sequence_length=20)
        assert batch.targets.shape == (COUNT, 20)


def test_an_unknown_task_is_answered_with_the_list() -> None:
    with pytest.raises(TrainingError) as refused:
        default_config("sorting")
    assert str(refused.value) == (
        "task is one of sticky-mlm, char-lm, char-mlm, copy; 'sorting' is none of them."
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_positions": 0}, "n-positions lies between 1 and 65536; 0 was given."),
        (
            {"n_positions": 32, "sequence_length": 33},
            "sequence-length lies between 2 and 32; 33 was given.",
        ),
        ({"learning_rate": math.nan}, "learning-rate lies between 1e-12 and 1e+06; nan was given."),
        ({"mask": 1.0}, "mask lies between 0.01 and 0.99; 1 was given."),
        ({"steps": -1}, "steps lies between 0 and 1e+09; -1 was given."),
        (
            {"d_model": 30},
            "d_model is shared evenly among the attention heads; 30 does not divide by 4. "
            "Choose a multiple of 4.",
        ),
        (
            {"table": "rotary"},
            "table is one of learned, sinusoidal, frozen, none; 'rotary' is none of them.",
        ),
    ],
)
def test_a_setting_out_of_range_is_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(TrainingError) as refused:
        default_config("copy", **settings)
    assert str(refused.value) == sentence


def test_every_sequence_hides_at_least_one_symbol() -> None:
    for task in ("sticky-mlm", "char-mlm"):
        vocabulary, batch = batch_of(task, mask=0.01, n_positions=8)
        assert (batch.inputs[0] == vocabulary[MASK]).any(dim=1).all()


@pytest.mark.parametrize("lag", [-1, 16])
def test_a_lag_that_leads_out_of_the_sequence_is_refused(lag: int) -> None:
    with pytest.raises(TrainingError) as refused:
        batch_of("copy", lag=lag, n_positions=16)
    assert str(refused.value) == f"lag lies between 0 and 15 in sequences of 16; {lag} was given."


def test_sequences_too_short_for_two_chains_are_refused() -> None:
    with pytest.raises(TrainingError) as refused:
        batch_of("sticky-mlm", n_positions=7)
    assert str(refused.value) == (
        "sticky-mlm needs sequences of at least 8 positions; sequence-length is 7."
    )


def test_a_configuration_comes_back_from_its_dictionary() -> None:
    config = default_config("copy", lag=7, seed=3)
    assert TrainConfig.from_dict(config.as_dict()) == config


def test_a_configuration_of_another_version_is_refused() -> None:
    with pytest.raises(TrainingError, match="does not know: dropout"):
        TrainConfig.from_dict({**default_config("copy").as_dict(), "dropout": 0.1})
    with pytest.raises(TrainingError, match="incomplete"):
        TrainConfig.from_dict({"task": "copy"})
