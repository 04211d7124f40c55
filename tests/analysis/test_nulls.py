from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import spectrum
from posviz.analysis.nulls import NULLS
from posviz.analysis.references import sinusoidal

every_null = pytest.mark.parametrize("null", NULLS.values(), ids=NULLS)


def walk() -> np.ndarray:
    steps = np.random.default_rng(0).normal(size=(40, 6))
    return np.cumsum(steps, axis=0).astype(np.float32)


@every_null
def test_a_null_has_the_shape_of_its_table_and_comes_from_its_seed(null) -> None:
    first, second = (null.make(walk(), np.random.default_rng(5)) for _ in range(2))
    assert first.shape == walk().shape
    np.testing.assert_array_equal(first, second)


@every_null
def test_a_null_keeps_the_spectrum_exactly_when_it_says_so(null) -> None:
    kept = np.allclose(
        spectrum(null.make(walk(), np.random.default_rng(1))), spectrum(walk()), rtol=1e-6
    )
    assert kept == null.keeps_spectrum


@every_null
def test_draws_differ_unless_the_null_is_fixed(null) -> None:
    rng = np.random.default_rng(2)
    same = np.array_equal(null.make(walk(), rng), null.make(walk(), rng))
    assert same == null.fixed


@every_null
def test_awkward_tables_have_finite_nulls(null, awkward: np.ndarray) -> None:
    assert np.isfinite(null.make(awkward, np.random.default_rng(3))).all()


def test_gaussian_rows_have_the_norms_of_the_table() -> None:
    weights = walk()
    weights[4] = 0
    null = NULLS["gaussian"].make(weights, np.random.default_rng(4))
    np.testing.assert_allclose(
        np.linalg.norm(null, axis=1), np.linalg.norm(weights, axis=1), rtol=1e-5
    )
    units = null[:4] / np.linalg.norm(null[:4], axis=1, keepdims=True)
    assert np.abs(np.triu(units @ units.T, 1)).max() < 0.99


def test_shuffled_rows_are_the_rows_in_another_order() -> None:
    null = NULLS["shuffled"].make(walk(), np.random.default_rng(4))
    assert sorted(map(tuple, null)) == sorted(map(tuple, walk()))
    assert not np.array_equal(null, walk())


def test_the_sinusoidal_null_is_the_reference_table() -> None:
    null = NULLS["sinusoidal"].make(walk(), np.random.default_rng(4))
    np.testing.assert_array_equal(null, sinusoidal(40, 6))
