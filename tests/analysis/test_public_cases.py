"""Faults that other tools were reported to have, each as the small input that showed it.

The number at the head of a docstring is that of the case; behind it stands where it was reported.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from posviz.analysis.decomposition import decompose
from posviz.analysis.references import random_normal
from posviz.analysis.similarity import similarity
from posviz.analysis.summary import Analysis, analyze
from posviz.errors import TableError
from posviz.table import PositionTable, Provenance


def table_of(weights: np.ndarray) -> PositionTable:
    return PositionTable(np.asarray(weights), "made", Provenance("file", "made"))


def analysed(weights: np.ndarray) -> Analysis:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return analyze(table_of(weights))


def test_curves_are_not_mirrored_from_run_to_run() -> None:
    """N01: scikit-learn#28826, scikit-learn#8798, BinPro/CONCOCT#34."""
    weights = random_normal(64, 16)
    first, second = (decompose(weights.copy()) for _ in range(2))
    np.testing.assert_allclose(first.scores(15), second.scores(15), atol=1e-8)
    largest = np.abs(first.axes).argmax(axis=1)
    loadings = first.axes[np.arange(len(largest)), largest]
    assert (loadings[: first.rank] > 0).all()


@pytest.mark.parametrize(
    ("shape", "shares"), [((2, 8), [1.0, 0.0]), ((1, 8), None), ((16, 1), [1.0])]
)
def test_three_components_of_a_tiny_table(
    shape: tuple[int, int], shares: list[float] | None
) -> None:
    """N03: GenoTools#122, clmtools#15, scikit-learn#7947."""
    numbers = analysed(random_normal(*shape))
    found = numbers.explained_variance_ratio
    assert (None if found is None else found.tolist()) == shares
    assert numbers.decomposition.scores(3).shape == (shape[0], min(*shape))
    if shape[0] == 1:
        assert numbers.verdict[0].text == "One row."
        assert "there is no curve and no spectrum" in numbers.verdict[1].text


def test_a_constant_table_has_no_shares_and_cosines_of_one() -> None:
    """N05: hoggorm#51, mljs/pca#10."""
    weights = np.ones((16, 8), dtype=np.float32)
    numbers = analysed(weights)
    assert not numbers.singular_values.any()
    assert numbers.explained_variance_ratio is None
    assert set(numbers.components.values()) == {None}
    np.testing.assert_allclose(similarity(weights), 1, atol=2e-7)


def test_a_zero_row_leaves_all_other_cosines_alone() -> None:
    """N06: tracel-ai/burn#5584, HKUDS/LightRAG#3421."""
    weights = random_normal(512, 768)
    weights[1] = 0
    cosines = similarity(weights)
    assert np.isfinite(cosines).all()
    assert not cosines[1].any()
    assert not cosines[:, 1].any()
    assert (np.delete(np.diag(cosines), 1) == 1).all()
    assert [(row.position, row.reason) for row in analysed(weights).special_rows] == [
        (1, "every value is zero")
    ]


def test_no_cosine_is_above_one() -> None:
    """N08: NVIDIA/apex#211."""
    weights = np.random.default_rng(0).normal(size=(512, 768)).astype(np.float32)
    cosines = similarity(weights)
    assert cosines.max() <= 1
    assert cosines.min() >= -1
    assert np.isfinite(np.arccos(np.diag(cosines))).all()


@pytest.mark.parametrize(
    ("weights", "rows"),
    [
        ([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0], [7.0, 8.0, 9.0]], "row 1 of 3"),
        ([[1.0, np.inf], [0.0, 1.0]], "row 0 of 2"),
    ],
)
def test_values_that_are_not_finite_are_named_before_any_decomposition(
    weights: list[list[float]], rows: str
) -> None:
    """N09: GaLore#26, InfiniGen#3."""
    with pytest.raises(TableError) as refusal:
        analyze(table_of(np.array(weights)))
    assert rows in str(refusal.value)
    assert "finite" in str(refusal.value)


def test_a_circle_is_a_circle() -> None:
    """N10: the helix of GPT-2, LessWrong qvWP3aBDBaqXvPNhS."""
    plane = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 2)))[0]
    angle = 2 * np.pi * np.arange(64) / 64
    weights = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane.T
    numbers = analysed(weights)
    assert numbers.explained_variance_ratio is not None
    np.testing.assert_allclose(numbers.explained_variance_ratio[:3], [0.5, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(numbers.singular_values[:2], 5.656854, atol=1e-6)
    assert numbers.singular_values[2] < 1e-6
    np.testing.assert_allclose(np.hypot(*numbers.decomposition.scores(2).T), 1, atol=1e-6)
    assert numbers.verdict[0].text == "A circle in two dimensions."
