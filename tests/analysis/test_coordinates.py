from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.references import random_normal


def test_shares_by_hand() -> None:
    found = coordinate_energy(np.array([[1.0, 5.0, 0.0], [-1.0, 5.0, 3.0], [1.0, 5.0, 0.0],
                                        [-1.0, 5.0, 3.0]]))  # fmt: skip
    np.testing.assert_allclose(found.deviation, [1, 0, 1.5])
    assert found.order.tolist() == [2, 0, 1]
    assert found.cumulative is not None
    np.testing.assert_allclose(found.cumulative, [2.25 / 3.25, 1, 1])
    assert found.share_of(1) == pytest.approx(2.25 / 3.25)
    assert found.share_of(99) == pytest.approx(1)
    assert found.share_of(0) is None


def test_order_of_rows_and_shift_change_nothing(rng: np.random.Generator) -> None:
    weights = random_normal(30, 6).astype(np.float64)
    expected = coordinate_energy(weights).deviation
    for other in (rng.permutation(weights), weights + 4):
        np.testing.assert_allclose(coordinate_energy(other).deviation, expected, rtol=1e-9)


def test_gpt2_writes_positions_in_few_dimensions(gpt2_weights: np.ndarray) -> None:
    found = coordinate_energy(gpt2_weights)
    assert (found.deviation > 0.1).sum() == 63
    assert found.share_of(40) == pytest.approx(0.827, abs=5e-4)
    assert found.share_of(64) == pytest.approx(0.989, abs=5e-4)


def test_minilm_writes_them_in_many(minilm_weights: np.ndarray) -> None:
    assert coordinate_energy(minilm_weights).share_of(64) == pytest.approx(0.37, abs=5e-3)


def test_awkward_tables_have_finite_energy(awkward: np.ndarray) -> None:
    found = coordinate_energy(awkward)
    assert np.isfinite(found.deviation).all()
    share = found.share_of(awkward.shape[1])
    assert share is None or share == pytest.approx(1)


def test_the_fewest_dimensions_that_hold_a_share() -> None:
    weights = np.zeros((4, 3))
    weights[:, 1] = [3, -3, 3, -3]
    weights[:, 2] = [1, -1, 1, -1]
    found = coordinate_energy(weights)
    assert [found.dimensions_for(share) for share in (0.5, 0.9, 0.91, 1.0)] == [1, 1, 2, 2]
    assert coordinate_energy(np.ones((4, 3))).dimensions_for(0.9) is None
