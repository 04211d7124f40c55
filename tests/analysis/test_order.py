from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis import order
from posviz.analysis.order import low_dct_share, nearest_neighbour_order, seriation
from posviz.analysis.references import random_normal, sinusoidal


def test_neighbours_of_a_sinusoidal_table_are_nearest() -> None:
    assert nearest_neighbour_order(sinusoidal(128, 64)) == 1


def test_neighbours_of_independent_rows_are_nearest_by_chance() -> None:
    # Two of the 511 others: about 0.004, and never above 0.03.
    assert (nearest_neighbour_order(random_normal(512, 64)) or 0) <= 0.03


def test_nearest_neighbours_are_those_of_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = np.cumsum(np.random.default_rng(0).normal(size=(50, 3)), axis=0)
    rows = walk - walk.mean(axis=0)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T - 2 * np.eye(50)
    expected = (np.abs(cosines.argmax(axis=1) - np.arange(50)) == 1).mean()
    assert nearest_neighbour_order(walk) == pytest.approx(expected)
    monkeypatch.setattr(order, "BLOCK", 7)
    assert nearest_neighbour_order(walk) == pytest.approx(expected)


def test_a_shuffled_curve_is_put_in_order_again(rng: np.random.Generator) -> None:
    table = sinusoidal(100, 64)
    shuffle = rng.permutation(100)
    found = seriation(table[shuffle])
    assert found is not None
    restored = shuffle[found.order]
    assert np.array_equal(restored, np.arange(100)) or np.array_equal(
        restored, np.arange(100)[::-1]
    )


def test_the_order_of_a_helix_is_found(helix_weights: np.ndarray) -> None:
    found = seriation(helix_weights)
    assert found is not None
    assert found.tau > 0.99
    assert found.order[:5].max() < 20  # it runs forwards


def test_independent_rows_have_no_order() -> None:
    found = seriation(random_normal(300, 64))
    assert found is not None
    assert found.tau < 0.2


def test_long_tables_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "SERIATED_ROWS", 40)
    found = seriation(sinusoidal(100, 64))
    assert found is not None
    np.testing.assert_array_equal(np.sort(found.order), np.arange(0, 100, 3))
    assert found.tau > 0.9


def test_low_dct_share_of_single_waves() -> None:
    position = (np.arange(64) + 0.5) / 64
    slow, fast = np.cos(np.pi * 3 * position), np.cos(np.pi * 20 * position)
    assert low_dct_share(np.stack([slow], axis=1) + 9) == pytest.approx(1)
    assert low_dct_share(np.stack([fast], axis=1)) == pytest.approx(0, abs=1e-12)
    assert low_dct_share(np.stack([slow, 3 * fast], axis=1)) == pytest.approx(0.1)


def test_low_dct_share_of_independent_rows_is_eight_bins_of_all() -> None:
    assert low_dct_share(random_normal(400, 200)) == pytest.approx(8 / 399, rel=0.05)


def test_gpt2_and_references(gpt2_weights: np.ndarray) -> None:
    assert nearest_neighbour_order(gpt2_weights) == pytest.approx(0.868, abs=1e-3)
    assert low_dct_share(gpt2_weights) == pytest.approx(0.941, abs=5e-4)
    found = seriation(gpt2_weights)
    assert found is not None
    assert found.tau > 0.999


def test_minilm(minilm_weights: np.ndarray) -> None:
    assert nearest_neighbour_order(minilm_weights) == pytest.approx(0.998, abs=5e-4)
    assert low_dct_share(minilm_weights) == pytest.approx(0.353, abs=5e-4)


def test_awkward_tables_have_an_order_or_none(awkward: np.ndarray) -> None:
    for share in (nearest_neighbour_order(awkward), low_dct_share(awkward)):
        assert share is None or 0 <= share <= 1 + 1e-9
    found = seriation(awkward)
    assert found is None or 0 <= found.tau <= 1
    if (awkward == awkward[0]).all():
        assert nearest_neighbour_order(awkward) is low_dct_share(awkward) is found is None
