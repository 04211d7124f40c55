from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import random_normal, sinusoidal


@pytest.mark.parametrize(("n_positions", "d_model"), [(64, 64), (128, 128), (50, 768)])
def test_every_sinusoidal_row_has_norm_root_half_the_width(n_positions: int, d_model: int) -> None:
    norms = np.linalg.norm(sinusoidal(n_positions, d_model).astype(np.float64), axis=1)
    # float32 sines: 6e-8 relative each.
    np.testing.assert_allclose(norms, np.sqrt(d_model / 2), rtol=1e-6)


def test_sinusoidal_dot_products_depend_on_the_offset_alone() -> None:
    table = sinusoidal(40, 16).astype(np.float64)
    frequencies = 10000.0 ** (-np.arange(0, 16, 2) / 16)
    offset = np.arange(40)[:, None] - np.arange(40)
    expected = np.cos(offset[..., None] * frequencies).sum(axis=-1)
    np.testing.assert_allclose(table @ table.T, expected, atol=1e-5)


def test_sines_and_cosines_are_interleaved() -> None:
    table = sinusoidal(5, 4)
    np.testing.assert_allclose(table[:, 0], np.sin(np.arange(5)), atol=1e-7)
    np.testing.assert_allclose(table[:, 1], np.cos(np.arange(5)), atol=1e-7)
    np.testing.assert_allclose(table[:, 2], np.sin(np.arange(5) / 100), atol=1e-7)


def test_an_odd_width_ends_on_a_sine() -> None:
    np.testing.assert_array_equal(sinusoidal(7, 5)[0], [0, 1, 0, 1, 0])
    assert sinusoidal(3, 1).shape == (3, 1)


def test_a_random_table_is_the_one_of_its_seed() -> None:
    expected = np.random.default_rng(3).normal(0, 0.02, (6, 5)).astype(np.float32)
    np.testing.assert_array_equal(random_normal(6, 5, seed=3), expected)
    assert not np.array_equal(random_normal(6, 5), expected)
