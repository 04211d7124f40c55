"""What holds for the transformers whatever their weights."""

from __future__ import annotations

import math

import pytest
import torch

from posviz.errors import TrainingError
from posviz.training.bert import BERT, BERTConfig
from posviz.training.gpt import GPT, GPTConfig
from posviz.training.positions import TABLE_KINDS, position_table

TOKENS = torch.arange(20).remainder(7).reshape(2, 10)
SEGMENTS = (torch.arange(10) > 4).long().expand(2, 10)


def gpt(**settings: object) -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(7, **{"n_positions": 16, "d_model": 32, "weight_scale": 0.2, **settings}))


def bert(**settings: object) -> BERT:
    torch.manual_seed(0)
    return BERT(
        BERTConfig(7, **{"n_positions": 16, "d_model": 32, "weight_scale": 0.2, **settings})
    )


def test_a_causal_model_does_not_look_ahead() -> None:
    changed = TOKENS.clone()
    changed[:, 6:] = 0
    before, after = gpt()(TOKENS), gpt()(changed)
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6:], after[:, 6:])


def test_a_masked_model_sees_both_sides() -> None:
    changed = TOKENS.clone()
    changed[:, 9] = 0
    assert (bert()(TOKENS, SEGMENTS) - bert()(changed, SEGMENTS))[:, 0].abs().max() > 1e-4


def test_segments_matter() -> None:
    model = bert()
    one = torch.zeros_like(SEGMENTS)
    assert (model(TOKENS, SEGMENTS) - model(TOKENS, one)).abs().max() > 1e-4


def test_without_positions_a_masked_model_cannot_tell_the_order() -> None:
    model = bert(table="none")
    one = torch.zeros_like(SEGMENTS)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(model(TOKENS, one)[:, order], model(TOKENS[:, order], one))


def test_with_positions_it_can() -> None:
    model = bert(table="sinusoidal")
    one = torch.zeros_like(SEGMENTS)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    difference = model(TOKENS, one)[:, order] - model(TOKENS[:, order], one)
    assert difference.abs().max() > 1e-3


@pytest.mark.parametrize("width", [16, 64, 256])
@pytest.mark.parametrize("token_scale", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("make", [gpt, bert])
def test_an_untrained_model_knows_nothing(make: object, token_scale: float, width: int) -> None:
    """Loss within 0.1 of ln V, on symbols that are not the input, whatever scale and width."""
    model = make(d_model=width, token_scale=token_scale, weight_scale=0.02)
    inputs = (TOKENS,) if isinstance(model, GPT) else (TOKENS, SEGMENTS)
    loss = torch.nn.functional.cross_entropy(model(*inputs).flatten(0, 1), TOKENS.flip(1).flatten())
    assert abs(loss.item() - math.log(7)) < 0.1


@pytest.mark.parametrize("make", [gpt, bert])
def test_an_input_longer_than_the_table_meets_the_wall(make: object) -> None:
    model = make(n_positions=9)
    inputs = (TOKENS,) if isinstance(model, GPT) else (TOKENS, SEGMENTS)
    with pytest.raises(TrainingError) as refused:
        model(*inputs)
    assert str(refused.value) == (
        "The position table has 9 rows, and this input needs row 9 too. "
        "Shorten the input or stretch the table."
    )


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_only_a_learned_table_takes_a_gradient(kind: str) -> None:
    assert position_table(kind, 6, 8, 0.02).weight.requires_grad == (kind == "learned")


def test_random_tables_have_the_scale_asked_for() -> None:
    rows = position_table("frozen", 200, 100, 0.05).weight
    assert rows.std().item() == pytest.approx(0.05, rel=0.02)  # 20,000 draws: 3.5 sigma


def test_a_sinusoidal_table_starts_with_sine_zero_and_cosine_one() -> None:
    rows = position_table("sinusoidal", 5, 8, 0.02).weight
    assert rows[0].tolist() == [0, 1] * 4
    torch.testing.assert_close(rows.norm(dim=1), torch.full((5,), 2.0))  # sqrt(8 / 2)
