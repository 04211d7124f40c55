"""How alike two shapes are, beside SciPy's own functions and the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import decompose
from posviz.analysis.likeness import align, cosine_agreement, principal_angles
from posviz.analysis.references import random_normal


def walk(n_rows: int = 60, d_model: int = 5, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(n_rows, d_model)), axis=0)


def test_procrustes_is_that_of_scipy() -> None:
    from scipy.spatial import procrustes

    x, y = walk(), walk(60, 5, seed=1)
    assert align(x, y).residual == pytest.approx(procrustes(x, y)[2])


def test_the_aligned_shape_is_the_rotated_one_nearest_to_the_first() -> None:
    x, y = walk(), walk(60, 3, seed=1)
    found = align(x, y)
    assert found.aligned.shape == found.reference.shape == (60, 5)
    spread = np.square(found.reference).sum()
    apart = np.square(found.aligned - found.reference).sum()
    assert apart / spread == pytest.approx(found.residual)
    generator = np.random.default_rng(0)
    for _ in range(20):
        other = found.aligned @ np.linalg.qr(generator.normal(size=(5, 5)))[0]
        assert np.square(other - found.reference).sum() >= apart


def test_principal_angles_are_those_of_scipy() -> None:
    from scipy.linalg import subspace_angles

    first, second = decompose(random_normal(30, 12)), decompose(random_normal(30, 12, seed=1))
    expected = np.degrees(np.sort(subspace_angles(first.axes[:4].T, second.axes[:4].T)))
    found = principal_angles(first, second, k=4)
    assert found is not None
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_agreement_does_not_exist_where_all_rows_point_one_way() -> None:
    assert cosine_agreement(np.ones((9, 4)), walk(9)) is None
    assert cosine_agreement(walk(2), walk(2)) is None
