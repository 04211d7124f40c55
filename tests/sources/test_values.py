"""What numbers alone tell: fixed sinusoids of every published layout, and learned tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz.analysis.references import random_normal, sinusoidal
from posviz.sources import values

BF16 = "BF16"


def halves(n_positions: int, d_model: int) -> np.ndarray:
    """Sines first, then cosines (tensor2tensor, Marian, Pegasus, Whisper)."""
    table = sinusoidal(n_positions, d_model)
    return np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)


def image(side: int, d_model: int) -> np.ndarray:
    """Half of the dimensions for the column, half for the row, after a class row of zeros (MAE)."""
    axis = halves(side, d_model // 2)
    cells = [
        np.concatenate([axis[column], axis[row]]) for row in range(side) for column in range(side)
    ]
    return np.stack([np.zeros(d_model), *cells]).astype(np.float32)


def standardised(n_positions: int, d_model: int) -> np.ndarray:
    """PatchTST's, moved and scaled as a whole."""
    table = sinusoidal(n_positions, d_model)
    return ((table - table.mean()) / (table.std() * 10)).astype(np.float32)


def as_bfloat16(table: np.ndarray) -> np.ndarray:
    return (table.view(np.uint32) & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        (sinusoidal(512, 64), "F32"),
        (sinusoidal(8, 4), "F32"),
        (halves(1500, 80), "F32"),
        (np.concatenate([np.zeros((2, 64), np.float32), halves(100, 64)]), "F32"),
        (image(14, 64), "F32"),
        (standardised(32, 128), "F32"),
        (sinusoidal(128, 64).astype(np.float16).astype(np.float32), "F16"),
        (as_bfloat16(sinusoidal(128, 64)), BF16),
        (sinusoidal(100, 64) * 0.02, "F32"),
        (np.concatenate([sinusoidal(64, 16), random_normal(64, 1, std=3.0)], axis=1), "F32"),
    ],
)
def test_fixed_sinusoids_are_told(table, dtype):
    assert values.is_sinusoid(table, dtype)


@given(
    n_positions=st.integers(8, 200),
    quarter=st.integers(4, 40),
    made=st.sampled_from([sinusoidal, halves]),
    radius=st.floats(1e-3, 1e3),
    centre=st.floats(-0.5, 0.5),
    zeros=st.integers(0, 2),
)
def test_any_fixed_sinusoid_is_told_wherever_its_circle_lies(
    n_positions, quarter, made, radius, centre, zeros
):
    table = radius * (made(n_positions, 4 * quarter) + np.float32(centre))
    table = np.concatenate([np.zeros((zeros, 4 * quarter)), table]).astype(np.float32)
    assert values.is_sinusoid(table)


def test_gpt2_is_learned(gpt2_like_weights):
    assert not values.is_sinusoid(gpt2_like_weights)


@pytest.mark.parametrize(
    "table",
    [
        random_normal(512, 64),
        np.ones((16, 8), np.float32),
        np.zeros((16, 8), np.float32),
        np.full((16, 8), np.nan, np.float32),
        np.random.default_rng(0).choice([-1.0, 1.0], (64, 16)).astype(np.float32),  # same norms
        np.eye(8, dtype=np.float32),
        np.ones((1, 4), np.float32),
        np.full((16, 8), 0x7FA00000, np.uint32).view(np.float32),  # signalling NaN
        np.arange(12, dtype=np.float32).reshape(12, 1),
        sinusoidal(512, 768) + random_normal(512, 768, seed=1, std=0.1),  # DistilBERT's start
        sinusoidal(512, 64) + random_normal(512, 64, seed=1, std=0.02),
    ],
)
def test_everything_else_is_not_a_sinusoid(table):
    assert not values.is_sinusoid(table)


def test_zero_and_unfinite_rows_are_named():
    table = random_normal(6, 4)
    table[1] = 0
    table[3, 2] = np.nan
    table[4, 0] = np.inf
    found = values.look(table, "F32")
    assert found.zero_rows.tolist() == [1]
    assert found.unfinite_rows.tolist() == [3, 4]


def test_values_whose_squares_leave_float32_are_neither():
    table = np.full((3, 4), 1e30, np.float32)
    table[1] = 1e-30
    found = values.look(table, "F32")
    assert len(found.zero_rows) == len(found.unfinite_rows) == 0


@pytest.mark.parametrize("tail", [2, 3, 100, 512])
def test_equal_rows_that_a_few_give_away_are_all_found(tail):
    table = random_normal(512, 64)
    table[-tail:] = 0.5
    found = values.look(table, "F32").first_equal
    assert found.tolist() == [*range(512 - tail), *[512 - tail] * tail]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 8, 9, 15, 16, 17, 512])
def test_of_rows_that_differ_only_a_few_are_compared(n_rows):
    assert values.look(random_normal(n_rows, 64), "F32").first_equal is None
    if n_rows > 1:
        assert not values.look(np.ones((n_rows, 64), np.float32), "F32").first_equal.any()
