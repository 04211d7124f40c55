from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.references import random_normal, sinusoidal
from posviz.interpolation import geometry


def test_numbers_of_a_line_by_hand() -> None:
    found = geometry(np.outer(np.arange(1.0, 6.0), [3.0, 4.0]))
    assert (found.step_median, found.step_max, found.min_norm) == (5, 5, 5)
    assert found.turning_cosine == pytest.approx(1)
    assert found.roughness == pytest.approx(4 / 10)
    assert found.toeplitz_r2 is None  # every cosine is 1


def test_a_sinusoidal_table_is_even_all_along() -> None:
    found = geometry(sinusoidal(64, 32))
    assert found.step_max == pytest.approx(found.step_median, rel=1e-4)
    assert found.toeplitz_r2 == pytest.approx(1)
    assert found.min_norm == pytest.approx(4, rel=1e-5)


def test_scale_changes_lengths_and_nothing_else() -> None:
    one, ten = geometry(random_normal(30, 6)), geometry(10 * random_normal(30, 6))
    for name in ("step_median", "step_max", "min_norm"):
        assert getattr(ten, name) == pytest.approx(10 * getattr(one, name), rel=1e-5)
    for name in ("turning_cosine", "roughness", "toeplitz_r2", "toeplitz_r2_centred"):
        assert getattr(ten, name) == pytest.approx(getattr(one, name), rel=1e-4)


def test_one_row_has_a_norm_and_no_steps() -> None:
    found = geometry(np.ones((1, 4)))
    assert found.min_norm == 2
    assert {value for name, value in vars(found).items() if name != "min_norm"} == {None}
