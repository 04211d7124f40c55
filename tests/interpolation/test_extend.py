from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.similarity import offset_profile, similarity
from posviz.errors import SettingError
from posviz.interpolation import GRIDS, METHODS, extend
from posviz.interpolation import extend as package_extend
from posviz.table import PositionTable, Provenance

every_method = pytest.mark.parametrize("method", METHODS)
APPENDING = [key for key, method in METHODS.items() if method.family == "append"]
RESAMPLING = [key for key, method in METHODS.items() if method.family == "resample"]


def table_of(weights: np.ndarray, **options: object) -> PositionTable:
    return PositionTable(weights, "made", Provenance("file", "made"), **options)


def random_table(n_rows: int = 16, d_model: int = 8, **options: object) -> PositionTable:
    return table_of(np.random.default_rng(0).normal(size=(n_rows, d_model)), **options)


def column(values: list[float], **options: object) -> PositionTable:
    return table_of(np.array(values, dtype=np.float32)[:, None], **options)


# Identities


@every_method
@pytest.mark.parametrize("grid", GRIDS)
def test_the_same_length_gives_the_same_bits(method: str, grid: str) -> None:
    table = random_table()
    np.testing.assert_array_equal(extend(table, 16, method=method, grid=grid).table.raw, table.raw)


@every_method
@pytest.mark.parametrize("length", [1, 2, 5, 15, 17, 24, 100])
def test_any_method_gives_the_length_that_was_asked_for(method: str, length: int) -> None:
    extended = extend(random_table(), length, method=method)
    assert extended.table.n_positions == length
    assert extended.table.raw.dtype == np.float32
    assert np.isfinite(extended.table.raw).all()
    assert (extended.grid is None) == (not METHODS[method].uses_grid)


@pytest.mark.parametrize("method", APPENDING)
def test_appending_leaves_the_old_rows_as_they_were(method: str) -> None:
    table = random_table()
    longer, shorter = (extend(table, n, method=method).table.weights for n in (24, 12))
    np.testing.assert_array_equal(longer[:16], table.weights)
    np.testing.assert_array_equal(shorter, table.weights[:12])


@pytest.mark.parametrize("method", [key for key in RESAMPLING if key != "repeat"])
def test_aligned_ends_are_kept(method: str) -> None:
    table = random_table()
    for length in (9, 40):
        new = extend(table, length, method=method).table.weights
        np.testing.assert_allclose(new[[0, -1]], table.weights[[0, -1]], atol=1e-6)


@pytest.mark.parametrize("method", [key for key in RESAMPLING if key != "repeat"])
def test_there_and_back_again_on_aligned_ends(method: str) -> None:
    table = random_table()
    there = extend(table, 31, method=method).table  # 2 · 16 - 1: every old row is on the new grid
    back = extend(there, 16, method=method).table
    np.testing.assert_allclose(back.weights, table.weights, atol=1e-5)
    np.testing.assert_allclose(there.weights[::2], table.weights, atol=1e-5)


def test_stretching_stretches_similarity_by_offset(gpt2_like_weights: np.ndarray) -> None:
    table = table_of(gpt2_like_weights)
    before = offset_profile(table.weights).mean
    for method in ("linear", "cubic", "fourier"):
        after = offset_profile(extend(table, 2048, method=method).table.weights).mean
        for offset in (64, 128, 256):
            # A row between two old ones has less of their jitter, so it is a little more alike:
            # by .001 in GPT-2, by .022 in the noisier table that stands in for it.
            assert after[offset] == pytest.approx(before[offset // 2], abs=0.03)


def test_draws_come_from_their_seed() -> None:
    first, again, other = (
        extend(random_table(), 20, method="gaussian", seed=seed).table.raw for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@every_method
def test_awkward_tables_can_be_stretched(method: str) -> None:
    for weights in (np.ones((5, 3)), np.zeros((4, 2)), np.eye(2), np.full((3, 3), 6e-8)):
        for length in (3, 4, 9):
            if method == "hierarchical" and length > len(weights) ** 2:
                continue
            assert np.isfinite(extend(table_of(weights), length, method=method).table.raw).all()


# By hand


@pytest.mark.parametrize(
    ("grid", "two", "four"),
    [
        (
            "align-corners",
            [0, 1 / 3, 2 / 3, 1],
            [0, 3 / 7, 6 / 7, 9 / 7, 12 / 7, 15 / 7, 18 / 7, 3],
        ),
        ("half-pixel", [0, 0.25, 0.75, 1], [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
    ],
)
def test_the_two_rules_for_the_ends(grid: str, two: list[float], four: list[float]) -> None:
    for values, expected in (([0, 1], two), ([0, 1, 2, 3], four)):
        new = extend(column(values), len(expected), grid=grid).table.weights[:, 0]
        np.testing.assert_allclose(new, expected, atol=1e-6)


def test_doubling_meets_the_old_rows_only_where_it_can() -> None:
    seven = extend(column([0, 1, 2, 3]), 7).table.weights[:, 0]
    np.testing.assert_array_equal(seven, [0, 0.5, 1, 1.5, 2, 2.5, 3])
    eight = extend(column([0, 1, 2, 3]), 8).table.weights[:, 0]
    assert [v for v in eight if v in (0, 1, 2, 3)] == [0, 3]


@pytest.mark.parametrize(("rows", "length"), [(514, 4096), (1026, 2048)])
def test_tiling_repeats_the_positions_and_not_the_rows_before_them(rows: int, length: int) -> None:
    table = random_table(rows, 16, row_offset=2)
    new = extend(table, length, method="tile").table
    assert new.raw.shape == (length + 2, 16)
    assert new.row_offset == 2
    np.testing.assert_array_equal(new.raw[:rows], table.raw)
    np.testing.assert_array_equal(new.raw[rows], table.raw[2])


def test_repeating_the_last_row_makes_positions_equal() -> None:
    table = random_table(512, 16)
    new = extend(table, 1024, method="clamp").table.weights
    assert (new[511:] == new[511]).all()
    ones = similarity(new) > 1 - 1e-6
    # A block of 513 × 513 and the rest of the diagonal: the picture's square of ones.
    assert ones.sum() == 513 * 513 + 511 == 263_680
    assert np.linalg.matrix_rank(new) == np.linalg.matrix_rank(table.weights)


def test_the_first_rows_can_be_kept_and_the_rest_stretched_by_four() -> None:
    extended = extend(column([float(i) for i in range(77)]), 77 * 4 - 60, keep="first:20")
    new = extended.table.weights[:, 0]
    assert len(new) == 248
    np.testing.assert_array_equal(new[:20], np.arange(20))
    assert (new[20], new[247]) == (20, 76)
    assert (np.diff(new[20:]) > 0).all()
    assert extended.kept == extended.places == tuple(range(20))


def test_growing_and_cutting_without_interpolation() -> None:
    table = random_table(16, 8)
    grown = extend(table, 24, method="zeros").table.weights
    np.testing.assert_array_equal(grown[:16], table.weights)
    assert not grown[16:].any()
    np.testing.assert_array_equal(
        extend(table, 12, method="zeros").table.weights, table.weights[:12]
    )
    assert np.abs(extend(table, 16, method="zeros").table.weights - table.weights).max() == 0


def _bfloat16(values: np.ndarray) -> np.ndarray:
    import torch

    return torch.tensor(values).to(torch.bfloat16).float().numpy()


@pytest.mark.parametrize("stored", [_bfloat16, np.float16], ids=["BF16", "F16"])
def test_half_precision_tables_are_resampled_in_float32(stored) -> None:
    values = stored(np.linspace(0, 1, 512, dtype=np.float32)[:, None]).astype(np.float32)
    places = np.arange(1024) * 511 / 1023
    expected = np.interp(places, np.arange(512), values[:, 0].astype(np.float64))
    new = extend(table_of(values), 1024).table.weights[:, 0]
    np.testing.assert_allclose(new, expected, atol=1e-6)


def test_a_grid_is_resampled_as_a_picture() -> None:
    table = column([0, 1, 2, 3], grid=(2, 2))
    new = extend(table, 9, grid_size=(3, 3)).table
    np.testing.assert_allclose(new.weights[:, 0], [0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3])
    assert new.grid == (3, 3)
    np.testing.assert_array_equal(extend(table, 9).table.raw, new.raw)


@pytest.mark.parametrize("method", ["linear", "bicubic"])
@pytest.mark.parametrize("size", [(7, 7), (5, 9), (20, 14)])
@pytest.mark.parametrize("antialias", [True, False])
def test_image_tables_are_resized_as_by_torch(
    method: str, size: tuple[int, int], antialias: bool
) -> None:
    import torch

    table = random_table(1 + 14 * 14, 16, grid=(14, 14), prefix_rows=1)
    extended = extend(
        table, method=method, grid="half-pixel", grid_size=size, antialias=antialias
    ).table
    assert extended.n_positions == 1 + size[0] * size[1]
    assert (extended.grid, extended.prefix_rows) == (size, 1)
    np.testing.assert_array_equal(extended.weights[0], table.weights[0])
    picture = torch.tensor(table.weights[1:].reshape(14, 14, 16).transpose(2, 0, 1)[None].copy())
    picture = picture.double()  # in float32 torch's own places are off by 1e-6
    expected = torch.nn.functional.interpolate(
        picture,
        size=size,
        mode={"linear": "bilinear", "bicubic": "bicubic"}[method],
        antialias=antialias,
        **({} if antialias else {"align_corners": False}),
    )[0]
    rows = expected.numpy().transpose(1, 2, 0).reshape(-1, 16)
    np.testing.assert_allclose(extended.weights[1:], rows, atol=2e-6)


# Rows that are kept


@every_method
def test_rows_outside_the_sequence_are_never_blended(method: str) -> None:
    table = random_table(20, 8, row_offset=2, prefix_rows=1, suffix_rows=2)
    new = extend(table, 30, method=method).table
    assert (new.row_offset, new.prefix_rows, new.suffix_rows) == (2, 1, 2)
    np.testing.assert_array_equal(new.raw[:3], table.raw[:3])
    np.testing.assert_array_equal(new.raw[-2:], table.raw[-2:])
    inner = table_of(table.raw[3:-2])
    alone = extend(inner, 27, method=method).table.weights
    np.testing.assert_allclose(new.weights[1:-2], alone, atol=1e-6)


def test_a_kept_row_stays_and_the_others_close_up_round_it() -> None:
    extended = extend(column([0, 1, 50, 3, 4, 99]), 9, keep="2,last:1")
    assert extended.kept == (2, 5)
    assert extended.places == (2, 8)
    new = extended.table.weights[:, 0]
    assert (new[2], new[8]) == (50, 99)
    rest = np.delete(new, [2, 8])
    np.testing.assert_allclose(rest, np.interp(np.arange(7) * 3 / 6, range(4), [0, 1, 3, 4]))


def test_keeping_all_rows_leaves_nothing_to_make_new_ones_from() -> None:
    with pytest.raises(SettingError) as refusal:
        extend(random_table(4), 6, keep="first:4")
    assert str(refusal.value) == (
        "2 new rows need rows to be made from; all 4 are kept. Keep fewer."
    )


# What it says of itself


def test_the_change_is_noted_in_the_provenance() -> None:
    table = extend(random_table(), 32).table
    assert table.provenance.note == "linear align-corners, 16 to 32"
    again = extend(table, 8, method="tile").table
    assert again.provenance.note == "linear align-corners, 16 to 32; tile, 32 to 8"
    assert package_extend is extend


# Refusals


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "spline"},
            "There is no method named “spline”. Choose one of linear, cubic, bicubic, fourier, "
            "repeat, tile, mirror, clamp, hierarchical, zeros, gaussian, sinusoid-fit.",
        ),
        (
            {"grid": "corners"},
            "There is no grid named “corners”. Choose one of align-corners, half-pixel, anchored.",
        ),
        (
            {"grid_size": (2, 2)},
            "made has no grid: its positions are a sequence. Give a length instead of a grid size.",
        ),
        (
            {"method": "cubic", "antialias": True},
            "Smoothing (antialias) is there for linear, bicubic; cubic was chosen. Choose one of "
            "those or leave it off.",
        ),
    ],
)
def test_settings_that_do_not_exist_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError) as refusal:
        extend(random_table(), 20, **options)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("length", [0, -3, None, 2**40])
def test_impossible_lengths_are_refused(length: int | None) -> None:
    with pytest.raises(SettingError) as refusal:
        extend(random_table(), length)
    assert str(refusal.value) == (
        f"The new length is a whole number from 1 to 33554432 for this table; {length} was given. "
        f"Choose one of those."
    )


@pytest.mark.parametrize(
    ("length", "size"), [(9, (2, 4)), (7, None), (None, None), (0, None), (4, (0, 4))]
)
def test_a_grid_needs_a_size_that_fills_its_length(
    length: int | None, size: tuple[int, int] | None
) -> None:
    table = random_table(4, grid=(2, 2))
    with pytest.raises(SettingError, match="Give the grid size"):
        extend(table, length, grid_size=size)


@pytest.mark.parametrize("options", [{"method": "tile"}, {"keep": "0"}])
def test_a_grid_is_never_treated_as_a_sequence(options: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="resampled in two dimensions"):
        extend(random_table(4, grid=(2, 2)), 9, **options)
