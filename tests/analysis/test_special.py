from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.special import RULE, SAME, UNKNOWN, special_rows, usable_length


def positions(weights: np.ndarray) -> list[int]:
    return [row.position for row in special_rows(weights)]


def curve(n_rows: int = 128, d_model: int = 48, seed: int = 0) -> np.ndarray:
    """A trained-like table: a slow curve with a tenth of noise."""
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 5, n_rows)
    waves = np.stack([np.sin(place), np.cos(place), place / 4], axis=1)
    rows = waves @ np.linalg.qr(rng.normal(size=(d_model, 3)))[0].T
    return (rows + rng.normal(0, 0.1 / np.sqrt(d_model), rows.shape)).astype(np.float32)


@pytest.mark.parametrize(
    "weights",
    [
        random_normal(64, 64),
        random_normal(512, 384),
        random_normal(1024, 16),
        random_normal(300, 2),
        sinusoidal(64, 64),
        sinusoidal(512, 768),
        sinusoidal(40, 3),
        curve(),
    ],
    ids=lambda weights: f"{weights.shape}",
)
def test_ordinary_tables_have_no_special_row(weights: np.ndarray) -> None:
    assert special_rows(weights) == ()


@pytest.mark.parametrize("seed", range(20))
def test_fresh_tables_have_no_special_row(seed: int) -> None:
    assert special_rows(random_normal(128, 64, seed=seed)) == ()


def test_long_short_and_zero_rows_are_named_with_their_reason() -> None:
    weights = curve()
    median = np.median(np.linalg.norm(weights, axis=1))
    weights[0] *= 5 * median / np.linalg.norm(weights[0])
    weights[60] *= 0.01 * median / np.linalg.norm(weights[60])
    weights[100] = 0
    rows = special_rows(weights)
    assert [row.position for row in rows] == [0, 60, 100]
    assert rows[0].reason == "norm 5 times the median"
    assert rows[1].reason == "norm 0.01 times the median"
    assert rows[2].reason == "every value is zero"
    assert [row.norm for row in rows] == pytest.approx(
        np.linalg.norm(weights, axis=1)[[0, 60, 100]]
    )
    weights[0] *= 24
    assert special_rows(weights)[0].reason == "norm 120 times the median"


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_special_rows_do_not_depend_on_scale(factor: float) -> None:
    weights = curve()
    weights[3] *= 8
    assert positions(weights * np.float32(factor)) == positions(weights) == [3]


def test_special_rows_do_not_depend_on_rotation(rng: np.random.Generator) -> None:
    weights = curve()
    weights[3] *= 8
    rotation = np.linalg.qr(rng.normal(size=(48, 48)))[0]
    assert positions(weights @ rotation) == [3]


@pytest.mark.parametrize("trained", [20, 64, 120])
def test_rows_that_training_never_reached_are_found(trained: int) -> None:
    weights = curve()
    fresh = random_normal(128 - trained, 48, std=float(weights.std()) / 2)
    weights[trained:] = fresh
    usable = usable_length(weights)
    # One fresh row in some ten thousand passes by chance; those on the border see trained ones.
    assert usable.length == pytest.approx(trained, abs=1)
    assert set(usable.failing) <= set(range(trained - 1, 128))
    assert usable.rule == RULE
    assert set(usable.failing) <= set(positions(weights))


def test_every_row_of_an_ordered_table_is_usable() -> None:
    for weights in (curve(), sinusoidal(64, 64)):
        usable = usable_length(weights)
        assert (usable.length, usable.failing) == (len(weights), ())


def test_a_class_row_unlike_its_neighbours_counts_as_trained() -> None:
    weights = curve()
    weights[0] = random_normal(1, 48)[0] * 100
    assert positions(weights) == [0]
    assert usable_length(weights).length == len(weights)


def test_nothing_is_said_where_rows_resemble_no_neighbour() -> None:
    usable = usable_length(random_normal(128, 64))
    assert (usable.length, usable.failing, usable.rule) == (None, (), UNKNOWN)


def test_zero_rows_fail_even_where_nothing_else_is_known() -> None:
    weights = random_normal(128, 64)
    weights[[0, 7]] = 0
    assert usable_length(weights).failing == (0, 7)
    assert positions(weights) == [0, 7]


def test_in_a_table_of_zeros_no_row_is_special() -> None:
    assert special_rows(np.zeros((6, 4))) == ()


def test_awkward_tables_have_no_more_special_rows_than_rows(awkward: np.ndarray) -> None:
    rows = special_rows(awkward)
    assert len(rows) < len(awkward)
    assert all(np.isfinite(row.norm) for row in rows)
    usable = usable_length(awkward)
    assert usable.length is None or usable.length == len(awkward) - len(usable.failing)


@pytest.mark.parametrize("rows", [np.ones((64, 16)), np.tile(np.arange(16.0), (64, 1))])
def test_of_rows_that_are_all_the_same_none_looks_trained(rows: np.ndarray) -> None:
    usable = usable_length(rows)
    assert (usable.length, usable.failing, usable.rule) == (None, tuple(range(1, 64)), SAME)


def test_a_copied_block_counts_once() -> None:
    weights = np.tile(curve(), (2, 1))
    usable = usable_length(weights)
    assert (usable.length, usable.failing, usable.rule) == (128, tuple(range(128, 256)), RULE)


def test_a_block_of_one_value_does_not_make_noise_look_like_an_order() -> None:
    weights = random_normal(128, 64)
    weights[64:] = 0.5
    usable = usable_length(weights)
    assert (usable.length, usable.failing, usable.rule) == (None, tuple(range(65, 128)), UNKNOWN)
