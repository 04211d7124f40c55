from __future__ import annotations

import json

import numpy as np
import pytest

from posviz.analysis.compare import compare
from posviz.analysis.decomposition import decompose
from posviz.analysis.likeness import cka, cosine_agreement
from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.similarity import similarity
from posviz.analysis.summary import analyze
from posviz.errors import TableError
from posviz.table import PositionTable, Provenance


def table_of(weights: np.ndarray) -> PositionTable:
    return PositionTable(weights, "made", Provenance("file", "made"))


def walk(n_rows: int = 60, d_model: int = 5, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(n_rows, d_model)), axis=0)


def rotation(d_model: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(9).normal(size=(d_model, d_model)))[0]


def test_a_table_is_like_itself_rotated_scaled_and_shifted() -> None:
    weights = walk()
    for other in (weights, 3 * weights @ rotation(5) + 7, -weights):
        found = compare(table_of(weights), table_of(other))
        assert found.cka == pytest.approx(1, abs=1e-6)
        assert found.procrustes == pytest.approx(0, abs=1e-6)


def test_more_dimensions_of_nothing_change_nothing() -> None:
    weights = walk()
    padded = np.hstack([weights, np.zeros((60, 3))]) @ rotation(8)
    found = compare(table_of(weights), table_of(padded))
    assert found.cka == pytest.approx(1, abs=1e-6)
    assert found.procrustes == pytest.approx(0, abs=1e-6)
    assert found.principal_angles is None


def test_comparing_is_symmetric() -> None:
    first, second = table_of(walk()), table_of(walk(70, 4, seed=1))
    there, back = compare(first, second), compare(second, first)
    assert there.cka == pytest.approx(back.cka)
    assert there.procrustes == pytest.approx(back.procrustes)
    assert (there.rows_compared, there.a, there.b) == (60, back.b, back.a)


def test_cka_is_its_definition() -> None:
    x, y = walk(), walk(60, 3, seed=1)
    xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
    norm = np.linalg.norm
    expected = norm(xc.T @ yc) ** 2 / (norm(xc.T @ xc) * norm(yc.T @ yc))
    assert cka(x, y) == pytest.approx(expected)
    assert compare(table_of(x), table_of(y)).cka == pytest.approx(expected, abs=1e-6)


def test_the_null_tells_likeness_from_few_rows() -> None:
    # Fewer rows than dimensions: CKA of two unrelated tables is high, and the null says so.
    apart = compare(table_of(random_normal(20, 200)), table_of(random_normal(20, 200, seed=1)))
    assert apart.cka is not None
    assert apart.cka_null is not None
    assert apart.cka > 0.5
    assert apart.cka < apart.cka_null + 0.05
    related = compare(table_of(sinusoidal(60, 16)), table_of(sinusoidal(60, 40)))
    assert related.cka is not None
    assert related.cka_null is not None
    assert related.cka > related.cka_null + 0.3


def test_the_null_is_the_share_of_shuffled_rows() -> None:
    x, y = walk(), walk(60, 3, seed=1)
    found = compare(table_of(x), table_of(y), repeats=30, seed=4)
    rng = np.random.default_rng(4)
    values = [cka(x, rng.permutation(y)) for _ in range(30)]
    assert found.cka_null == pytest.approx(np.percentile(values, 95), abs=1e-6)


@pytest.mark.parametrize("other", ["awkward", "walk"])
def test_awkward_tables_give_strict_json(awkward: np.ndarray, other: str) -> None:
    second = awkward[::-1] if other == "awkward" else walk(10, 3)
    found = compare(table_of(awkward), table_of(second), repeats=3)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data.keys() >= {"cka", "procrustes", "principal_angles", "rows_compared", "a", "b"}
    for name in ("cka", "procrustes"):
        assert data[name] is None or -1e-9 <= data[name] <= 1 + 1e-9


def test_agreement_is_the_correlation_of_the_two_cosine_matrices() -> None:
    x, y = walk(), walk(60, 3, seed=1)
    x[7] = 0
    upper = np.triu_indices(60, 1)
    expected = np.corrcoef(similarity(x)[upper], similarity(y)[upper])[0, 1]
    assert cosine_agreement(x, y) == pytest.approx(expected, abs=1e-6)
    found = compare(table_of(x), table_of(y))
    assert found.cosine_agreement == pytest.approx(expected, abs=1e-6)


def test_shuffled_rows_are_less_alike_by_every_number() -> None:
    weights = walk(80, 6)
    noisy = weights @ rotation(6) + np.random.default_rng(3).normal(size=weights.shape)
    found = compare(table_of(weights), table_of(noisy))
    assert found.cka > 2 * found.cka_null
    assert found.cosine_agreement > 2 * abs(found.cosine_agreement_null)
    assert found.procrustes < 0.5 * found.procrustes_null


def test_positions_left_out_take_no_part() -> None:
    x, y = walk(), walk(50, 3, seed=1)
    spoilt = x.copy()
    spoilt[[4, 9]] *= 1000
    found = compare(table_of(spoilt), table_of(y), exclude=(4, 9, 55))
    rest = np.delete(np.arange(50), [4, 9])
    assert found.positions.tolist() == rest.tolist()
    assert found.rows_compared == 48
    assert found.cka == pytest.approx(cka(x[rest], y[rest]), abs=1e-6)
    assert found.curve_first.shape == found.curve_second.shape == (48, 3)


def test_leaving_out_every_position_is_refused() -> None:
    with pytest.raises(TableError) as refusal:
        compare(table_of(walk(3)), table_of(walk(5)), exclude=range(5))
    assert str(refusal.value) == (
        "made and made: at least one position must be left; all 3 that both have are left out. "
        "Keep the special rows."
    )


def test_the_second_curve_is_laid_over_the_first() -> None:
    weights = walk()
    found = compare(table_of(weights), table_of(5 * weights @ rotation(5) - 1))
    scores = decompose(weights.astype(np.float32)).scores(3)
    np.testing.assert_allclose(found.curve_first, scores, atol=1e-5)
    np.testing.assert_allclose(found.curve_second, scores, atol=1e-4)


def test_a_comparison_and_an_analysis_tell_the_same_numbers(helix_weights: np.ndarray) -> None:
    table = PositionTable(helix_weights[:200, :64], "made", Provenance("file", "made"))
    alone, beside = analyze(table), compare(table, table)
    assert beside.a == beside.b == pytest.approx(alone.scalars(), abs=1e-6)
    assert beside.helix_first.turns == pytest.approx(alone.helix.turns, abs=1e-6)
    np.testing.assert_allclose(beside.first.cosine.by_offset, alone.cosine.by_offset, atol=1e-6)
