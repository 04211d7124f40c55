from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import decompose
from posviz.analysis.definitions import DEFINITIONS
from posviz.analysis.knowledge import Order, measure_order
from posviz.analysis.order import low_dct_share, nearest_neighbour_order, seriation
from posviz.analysis.references import random_normal, sinusoidal


def of(weights: np.ndarray) -> Order:
    return measure_order(decompose(weights))


def test_every_number_is_defined() -> None:
    assert vars(of(random_normal(9, 4))).keys() <= DEFINITIONS.keys()


def test_each_number_is_that_of_its_own_function() -> None:
    weights = sinusoidal(120, 32)
    found, order = of(weights), seriation(weights)
    assert order is not None
    assert found.seriation.value == order.tau
    assert found.nearest_neighbour_order.value == nearest_neighbour_order(weights)
    assert found.low_dct_share.value == low_dct_share(weights)


def test_an_ordered_table_is_far_from_chance() -> None:
    found = of(sinusoidal(120, 32))
    for name in ("nearest_neighbour_order", "seriation", "low_dct_share"):
        one = getattr(found, name)
        assert one.value > 3 * one.chance, name
    assert found.position_probe.value < 0.1 * found.position_probe.chance
    assert found.relative_order_error.value < 0.3


def test_chance_is_the_mean_of_independent_rows() -> None:
    drawn = [of(random_normal(40, 100, seed=seed)) for seed in range(12)]
    for name, room in (
        ("nearest_neighbour_order", 0.03),
        ("seriation", 0.05),
        ("low_dct_share", 0.02),
    ):
        values = [getattr(one, name).value for one in drawn]
        assert np.mean(values) == pytest.approx(getattr(drawn[0], name).chance, abs=room), name


def test_awkward_tables_have_numbers_or_none(awkward: np.ndarray) -> None:
    for one in vars(of(awkward)).values():
        for value in (one.value, one.chance):
            assert value is None or np.isfinite(value)
