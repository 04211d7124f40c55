from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from posviz.analysis.measures import Measures, measure
from posviz.analysis.null_draws import MOST_REPEATS
from posviz.analysis.nulls import NULLS
from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.summary import analyze
from posviz.errors import TableError
from posviz.table import PositionTable, Provenance

CONTRACT = {
    "ref",
    "parameter",
    "n_positions",
    "d_model",
    "special_rows",
    "rows_used",
    "explained_variance_ratio",
    "components",
    "singular_values",
    "effective_rank",
    "norms",
    "cosine",
    "cosine_centred",
    "toeplitz_r2",
    "toeplitz_r2_centred",
    "roughness",
    "turning_cosine",
    "power",
    "helix",
    "usable_length",
    "nulls",
    "verdict",
}


def table_of(weights: np.ndarray, **options: object) -> PositionTable:
    provenance = Provenance("file", "made.npy", parameter="wpe.weight")
    return PositionTable(weights, "made", provenance, **options)


def bent(n_rows: int = 40) -> np.ndarray:
    """A curve with one long row in the middle."""
    place = np.linspace(0, 3, n_rows)
    weights = np.stack([np.sin(place), np.cos(place), 0 * place, 0 * place], axis=1)
    weights = np.hstack([weights, np.full((n_rows, 12), 0.1)])
    weights[7] *= 10
    return weights


def test_the_json_has_every_key_of_the_contract() -> None:
    data = analyze(table_of(bent())).as_dict()
    assert set(data) >= CONTRACT
    assert set(data["components"]) == {"90", "95", "99"}
    assert set(data["norms"]) == {"first", "last", "median", "min", "max"}
    assert set(data["helix"]) >= {"turns", "radius", "axis_component"}
    assert set(data["effective_rank"]) == {
        "singular_entropy",
        "variance_entropy",
        "participation",
        "stable",
    }
    for name in ("cosine", "cosine_centred"):
        assert set(data[name]) == {"adjacent_mean", "mean", "min", "by_offset"}
    assert set(data["nulls"]) == {"gaussian", "shuffled", "sinusoidal"}
    assert (data["ref"], data["parameter"]) == ("made.npy", "wpe.weight")
    assert all(isinstance(sentence, str) for sentence in data["verdict"])


def test_a_null_has_the_scalars_of_its_table() -> None:
    analysis = analyze(table_of(bent()))
    data = analysis.as_dict()
    for null in analysis.nulls.values():
        assert null.scalars.keys() == analysis.scalars().keys()
    for null in data["nulls"].values():
        assert null["repeats"] >= 1
        assert null["seed"] == 0
        for group in ("components", "effective_rank", "norms"):
            assert null[group].keys() == data[group].keys()


def test_every_scalar_appears_in_the_json_under_its_dotted_name() -> None:
    analysis = analyze(table_of(bent()))
    data = analysis.as_dict()
    for name, value in analysis.scalars().items():
        group, _, part = name.partition(".")
        assert (data[group][part] if part else data[group]) == value


def test_every_field_that_tables_and_nulls_share_is_listed_or_scalar() -> None:
    scalars = measure(bent()).scalars()
    lists = {"singular_values", "explained_variance_ratio", "power"}
    groups = {name.partition(".")[0] for name in scalars}
    assert groups | lists == {field.name for field in fields(Measures)}


def test_by_offset_starts_at_offset_zero() -> None:
    analysis = analyze(table_of(random_normal(30, 8)))
    assert len(analysis.cosine.by_offset) == 30
    assert analysis.cosine.by_offset[0] == pytest.approx(1)
    assert analysis.cosine.by_offset[1] == analysis.cosine.adjacent_mean


def test_means_and_minimum_are_over_pairs_of_different_rows() -> None:
    weights = random_normal(30, 8).astype(np.float64)
    units = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    off = (units @ units.T)[~np.eye(30, dtype=bool)]
    analysis = analyze(table_of(weights))
    assert analysis.cosine.mean == pytest.approx(off.mean(), abs=1e-6)
    assert analysis.cosine.min == pytest.approx(off.min(), abs=1e-6)


def test_special_rows_are_left_out_when_asked_and_listed_either_way() -> None:
    table = table_of(bent())
    kept, dropped = analyze(table), analyze(table, exclude_special=True)
    assert [row.position for row in kept.special_rows] == [7]
    assert dropped.special_rows == kept.special_rows
    assert (kept.rows_used, dropped.rows_used) == (40, 39)
    assert dropped.n_positions == 40
    assert 7 not in dropped.positions
    assert dropped.norms.max < kept.norms.max
    rest = np.delete(bent(), 7, axis=0).astype(np.float32)
    assert dropped.scalars() == pytest.approx(measure(rest).scalars(), rel=1e-5, abs=1e-6)


def test_curves_and_spectrum_come_from_one_decomposition() -> None:
    analysis = analyze(table_of(bent()), exclude_special=True)
    np.testing.assert_array_equal(analysis.singular_values, analysis.decomposition.singular_values)
    scores = analysis.decomposition.scores(2)
    assert scores.shape == (39, 2)
    np.testing.assert_allclose(
        np.linalg.norm(scores, axis=0), analysis.singular_values[:2], rtol=1e-9
    )


def test_offset_rows_are_not_counted() -> None:
    weights = random_normal(20, 6)
    padded = np.vstack([np.full((2, 6), 9.0), weights])
    plain, offset = analyze(table_of(weights)), analyze(table_of(padded, row_offset=2))
    assert offset.n_positions == 20
    assert offset.scalars() == plain.scalars()


def test_runs_repeat_and_another_seed_draws_others() -> None:
    table = table_of(random_normal(40, 8))
    first, again, other = analyze(table), analyze(table), analyze(table, seed=1)
    assert first.as_dict() == again.as_dict()
    assert first.nulls["shuffled"].scalars != other.nulls["shuffled"].scalars


def test_shuffling_keeps_the_spectrum_and_loses_the_order() -> None:
    analysis = analyze(table_of(sinusoidal(64, 32)))
    shuffled = analysis.nulls["shuffled"]
    for name in ("components.95", "effective_rank.stable", "effective_rank.singular_entropy"):
        assert shuffled.scalars[name] == pytest.approx(analysis.scalars()[name])
    assert analysis.toeplitz_r2 == pytest.approx(1)
    assert (shuffled.high["toeplitz_r2"] or 0) < 0.2


def test_repeats_give_a_band_round_the_median() -> None:
    analysis = analyze(table_of(random_normal(40, 8)), null_repeats=9)
    for key, null in analysis.nulls.items():
        assert null.repeats == len(null.draws) == (1 if NULLS[key].fixed else 9)
        for name, value in null.scalars.items():
            if value is not None:
                assert null.low[name] <= value <= null.high[name]
    band = analysis.nulls["gaussian"]
    draws = [draw.turning_cosine for draw in band.draws]
    assert band.scalars["turning_cosine"] == pytest.approx(np.median(draws))
    assert band.low["turning_cosine"] == pytest.approx(np.percentile(draws, 5))
    assert band.high["turning_cosine"] == pytest.approx(np.percentile(draws, 95))
    assert isinstance(band.scalars["components.90"], int)


def test_small_tables_get_many_draws_and_large_ones_few() -> None:
    assert analyze(table_of(random_normal(30, 8))).nulls["gaussian"].repeats == MOST_REPEATS
    assert analyze(table_of(random_normal(1100, 1000))).nulls["gaussian"].repeats == 1


def test_a_table_of_special_rows_only_is_refused() -> None:
    # Ten long rows that are alike, ninety fresh ones: the ten by their norm, the rest as fresh.
    weights = np.random.default_rng(0).normal(size=(100, 64)) / 8
    weights[40:50] = weights[40] * np.linspace(10, 10.01, 10)[:, None]
    table = table_of(weights)
    assert len(analyze(table).special_rows) == 100
    with pytest.raises(TableError) as refusal:
        analyze(table, exclude_special=True)
    assert str(refusal.value) == (
        "made: at least one row must be left; all 100 are special. Keep the special rows."
    )


def test_awkward_tables_give_strict_json(awkward: np.ndarray) -> None:
    for exclude in (False, True):
        analysis = analyze(table_of(awkward), exclude_special=exclude, null_repeats=2)
        text = json.dumps(analysis.as_dict(), allow_nan=False)
        assert json.loads(text)["rows_used"] == analysis.rows_used


def test_rows_that_are_all_the_same_have_no_shares() -> None:
    data = analyze(table_of(np.ones((16, 8)))).as_dict()
    assert data["explained_variance_ratio"] is None
    assert data["components"] == {"90": None, "95": None, "99": None}
    assert set(data["effective_rank"].values()) == {None}
    assert data["singular_values"] == [0.0] * 8
    assert data["cosine"]["mean"] == pytest.approx(1)
    assert data["toeplitz_r2"] is None
    assert data["roughness"] is None


def test_long_tables_go_by_fourier_and_leave_the_minimum_open() -> None:
    weights = random_normal(300, 4)
    by_pairs, by_fourier = measure(weights), measure(weights, every_pair=100)
    assert by_pairs.cosine.min is not None
    assert by_fourier.cosine.min is None
    assert by_fourier.toeplitz_r2 == pytest.approx(by_pairs.toeplitz_r2, abs=1e-6)
    np.testing.assert_allclose(by_fourier.cosine.by_offset, by_pairs.cosine.by_offset, atol=1e-6)


def test_long_random_nulls_are_measured_on_fewer_rows_and_say_so() -> None:
    analysis = analyze(table_of(random_normal(5000, 6)), null_repeats=1)
    nulls = analysis.nulls
    assert {key: null.order_rows for key, null in nulls.items()} == {
        "gaussian": 1667,
        "shuffled": 1667,
        "sinusoidal": 5000,
    }
    assert nulls["shuffled"].scalars["cosine.min"] is None
    for name in ("roughness", "turning_cosine", "cosine.adjacent_mean", "toeplitz_r2"):
        assert nulls["shuffled"].scalars[name] == pytest.approx(analysis.scalars()[name], abs=0.05)
    # The spectrum and the norms are of all rows.
    for name in ("effective_rank.stable", "components.95", "norms.max", "norms.median"):
        assert nulls["shuffled"].scalars[name] == pytest.approx(analysis.scalars()[name])
    assert nulls["gaussian"].scalars["norms.last"] == pytest.approx(analysis.norms.last, rel=1e-6)
    short = analyze(table_of(random_normal(300, 6)), null_repeats=1)
    assert short.nulls["shuffled"].order_rows == 300


def test_a_very_long_table_is_analysed() -> None:
    place = np.linspace(0, 3, 32_768)
    curve = np.stack([np.sin(place), np.cos(place), np.ones_like(place)], axis=1)
    analysis = analyze(table_of(np.hstack([curve, random_normal(32_768, 3)])), null_repeats=1)
    assert analysis.cosine.by_offset.shape == (32_768,)
    assert analysis.cosine.min is None  # half a billion pairs are not looked at one by one
    assert analysis.toeplitz_r2 is not None
    assert analysis.toeplitz_r2 > 0.9
    assert analysis.usable_length is None or 0 <= analysis.usable_length <= 32_768
    assert {null.order_rows for null in analysis.nulls.values()} == {2048, 32_768}
