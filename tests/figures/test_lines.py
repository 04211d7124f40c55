"""Spectra, offset profiles and lines along positions."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.analysis.similarity import OffsetProfile
from posviz.figures.along import along_positions
from posviz.figures.lines import Band
from posviz.figures.names import NARROW, Box, box_of, in_shares
from posviz.figures.offsets import offset_profile
from posviz.figures.spectrum import cumulative_share, spectrum
from posviz.figures.theme import LIGHT

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from posviz.figures.picture import Picture

VALUES = 50.0 / np.arange(1, 101) ** 1.5


def main_line(picture: Picture) -> go.Scatter:
    (line,) = [trace for trace in picture.figure.data if trace.meta == "walk"]
    return line


def named(picture: Picture, name: str) -> go.Scatter:
    (line,) = [trace for trace in picture.figure.data if trace.name == name]
    return line


def texts(picture: Picture) -> list[str]:
    return [note.text for note in picture.figure.layout.annotations]


def test_a_spectrum_draws_the_values_as_given_on_a_logarithmic_scale() -> None:
    picture = spectrum(VALUES)
    line = main_line(picture)
    np.testing.assert_array_equal(line.y, VALUES)
    assert line.x.tolist() == list(range(1, 101))
    assert line.line.color == LIGHT.accent
    layout = picture.figure.layout
    assert (layout.yaxis.type, layout.xaxis.type) == ("log", "log")
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("component", "singular value")
    assert layout.yaxis.range[0] < np.log10(VALUES[-1])
    assert layout.yaxis.range[1] > np.log10(VALUES[0])


def test_large_singular_values_are_written_out() -> None:
    assert "2 components from 12,300 down to 1,000." in spectrum([12_345.0, 1000.0]).alt


def test_the_component_axis_can_be_linear() -> None:
    axis = spectrum(VALUES, log_x=False).figure.layout.xaxis
    assert axis.type != "log"
    assert axis.range[0] < 1
    assert axis.range[1] > 100


def test_nulls_are_dotted_grey_lines_with_their_names_beside_them() -> None:
    band = Band(np.full(100, 2.0), np.full(100, 1.5), np.full(100, 2.5))
    picture = spectrum(VALUES, nulls={"random rows": np.full(100, 3.0), "shuffled": band})
    for name in ("random rows", "shuffled"):
        line = named(picture, name)
        assert line.line.color == LIGHT.null
        assert "px" in line.line.dash
        assert name in texts(picture)
        assert name in picture.alt
    (fill,) = [trace for trace in picture.figure.data if trace.fill == "tonexty"]
    assert fill.fillcolor == LIGHT.null_band
    assert fill.y.tolist() == [2.5] * 100
    assert picture.figure.data[-1].meta == "walk"  # the table itself lies on top


def test_a_null_may_have_more_components_than_the_table() -> None:
    picture = spectrum(VALUES[:10], nulls={"wide": np.full(40, 3.0)})
    assert named(picture, "wide").x.tolist() == list(range(1, 41))


def test_the_mark_says_how_many_components_hold_which_share() -> None:
    picture = spectrum(VALUES, holds=(3, 0.9))
    assert "3 components hold 90 %" in texts(picture)
    (dots,) = [trace for trace in picture.figure.data if trace.mode == "markers"]
    assert dots.x.tolist() == [1, 2, 3]
    assert "3 components hold 90 % of the variance" in picture.alt
    assert "1 component holds 90 %" in texts(spectrum(VALUES, holds=(1, 0.9)))


@pytest.mark.parametrize("k", [1, 3, 8, 16, 30, 60])
@pytest.mark.parametrize("fall", [0.05, 1.5])
def test_the_mark_is_seen_whole_on_a_narrow_screen(k: int, fall: float) -> None:
    picture = spectrum(50.0 / np.arange(1, 65) ** fall, holds=(k, 0.9))
    (mark,) = [note for note in picture.figure.layout.annotations if "hold" in note.text]
    point = in_shares(picture.figure, 10**mark.x, 10**mark.y)
    shifts = {"xshift": mark.xshift, "yshift": mark.yshift}
    box = box_of(point, mark.text, xanchor=mark.xanchor, size=NARROW, **shifts)
    beyond = 16 / np.array(NARROW)
    assert -beyond[0] < box.left < box.right < 1 + beyond[0]
    assert -beyond[1] < box.low < box.high < 1 + beyond[1]


def test_dots_of_many_components_do_not_hide_the_line() -> None:
    picture = spectrum(np.linspace(9, 1, 40), holds=(30, 0.9))
    (dots,) = [trace for trace in picture.figure.data if trace.mode == "markers"]
    assert dots.x.tolist() == [30]


def test_rounding_noise_below_the_floor_is_a_gap() -> None:
    noisy = np.array([10.0, 5.0, 1e-7, 0.0])
    picture = spectrum(noisy)
    assert np.isnan(main_line(picture).y).tolist() == [False, False, True, True]
    assert picture.figure.layout.yaxis.range[0] > 0.4


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [2.0], [3.0, 3.0]])
def test_spectra_without_extent_are_drawn(values: list[float]) -> None:
    picture = spectrum(values, holds=(1, 0.9))
    low, high = picture.figure.layout.yaxis.range
    assert low < high
    json.loads(picture.spec, parse_constant=pytest.fail)


def test_cumulative_shares_are_percent_with_their_thresholds_marked() -> None:
    shares = np.array([0.5, 0.9, 0.96, 0.999, 1.0])
    picture = cumulative_share(shares, thresholds={90: 2, 95: 3, 99: 4})
    np.testing.assert_allclose(main_line(picture).y, 100 * shares)
    assert {"2 for 90 %", "3 for 95 %", "4 for 99 %"} <= set(texts(picture))
    assert "50.0 % by one" in picture.alt
    assert picture.figure.layout.yaxis.range == (0, 104)


@pytest.mark.parametrize("k", [1, 12, 24, 30])
def test_a_threshold_is_named_whole_on_a_narrow_screen(k: int) -> None:
    picture = cumulative_share(np.linspace(0.3, 1, 32), thresholds={90: k})
    (mark,) = [note for note in picture.figure.layout.annotations if "for 90 %" in note.text]
    point = in_shares(picture.figure, 10**mark.x, mark.y)
    shifts = {"xshift": mark.xshift, "yshift": mark.yshift}
    box = box_of(point, mark.text, xanchor=mark.xanchor, size=NARROW, **shifts)
    assert -0.06 < box.left < box.right < 1.06


def test_cumulative_nulls_are_percent_too() -> None:
    picture = cumulative_share([0.5, 1.0], nulls={"random": np.array([0.3, 1.0])})
    np.testing.assert_allclose(named(picture, "random").y, [30, 100])


def test_an_offset_profile_is_a_line_with_one_deviation_on_both_sides() -> None:
    mean = np.linspace(1, -0.5, 50)
    std = np.full(50, 0.1)
    picture = offset_profile(OffsetProfile(mean, std), label="cosine")
    np.testing.assert_array_equal(main_line(picture).y, mean)
    assert main_line(picture).x.tolist() == list(range(50))
    low, high = [trace for trace in picture.figure.data if trace.fillcolor == LIGHT.band]
    np.testing.assert_allclose(low.y, mean - 0.1)
    np.testing.assert_allclose(high.y, mean + 0.1)
    layout = picture.figure.layout
    assert layout.xaxis.title.text == "offset between positions"
    assert layout.yaxis.title.text == "mean cosine"
    assert layout.yaxis.range[0] < -0.6
    assert layout.yaxis.range[1] > 1.1
    assert "lowest −0.500 at offset 49" in picture.alt


def test_offset_nulls_may_be_profiles_and_longer_than_the_table() -> None:
    table = OffsetProfile(np.ones(4), None)
    original = OffsetProfile(np.zeros(9), np.ones(9))
    picture = offset_profile(table, nulls={"original": original, "law": np.full(4, 0.5)})
    assert named(picture, "original").x.tolist() == list(range(9))
    assert picture.figure.layout.xaxis.range[1] > 8
    assert texts(picture) == ["original", "law"]
    assert "beside original and law" in picture.alt


def test_an_offset_without_a_value_is_a_gap() -> None:
    picture = offset_profile(OffsetProfile(np.array([1.0, np.nan, 0.2]), None))
    assert np.isnan(main_line(picture).y).tolist() == [False, True, False]
    empty = offset_profile(OffsetProfile(np.full(2, np.nan), None))
    assert empty.alt.endswith("no offset has a value.")


def test_long_lines_keep_their_peaks() -> None:
    mean = np.cos(np.arange(32_768) / 50)
    mean[20_001] = 7.0
    mean[11_111] = -7.0
    line = main_line(offset_profile(OffsetProfile(mean, None)))
    assert len(line.y) < 8_400
    assert line.y.max() == 7.0
    assert line.y.min() == -7.0
    assert line.x[0] == 0
    assert line.x[-1] == 32_767
    np.testing.assert_array_equal(line.y, mean[line.x.astype(int)])


def test_norms_run_along_the_positions_with_odd_rows_marked() -> None:
    norms = np.array([9.9, 3.0, 3.1, 0.1])
    picture = along_positions(norms, [1, 2, 3, 4], quantity="norm of the row", marked=(1, 4))
    assert main_line(picture).x.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(main_line(picture).y, norms)
    (dots,) = [trace for trace in picture.figure.data if trace.mode == "markers"]
    assert dots.x.tolist() == [1, 4]
    assert {"1", "4"} == set(texts(picture))
    assert picture.figure.layout.yaxis.title.text == "norm of the row"
    assert "lowest 0.1 at position 4, highest 9.9 at position 1" in picture.alt


def test_a_logarithmic_norm_axis_leaves_zero_rows_out() -> None:
    picture = along_positions([0.0, 1.0, 100.0], quantity="norm", log_y=True)
    assert np.isnan(main_line(picture).y).tolist() == [True, False, False]
    low, high = picture.figure.layout.yaxis.range
    assert low < 0
    assert 2 < high < 3


@pytest.mark.parametrize("values", [[1.0], [0.0, 0.0], [np.nan, np.nan]])
def test_lines_without_extent_are_drawn(values: list[float]) -> None:
    picture = along_positions(values, quantity="step")
    low, high = picture.figure.layout.yaxis.range
    assert low < high
    json.loads(picture.spec, parse_constant=pytest.fail)


def boxes(picture: Picture) -> dict[str, Box]:
    """Where the words of a figure stand, on the narrowest of our figures."""
    layout = picture.figure.layout
    found = {}
    for note in layout.annotations:
        point = [
            (note[name[0]] - axis.range[0]) / (axis.range[1] - axis.range[0])
            for name, axis in (("xaxis", layout.xaxis), ("yaxis", layout.yaxis))
        ]
        place = {name: note[name] for name in ("xanchor", "xshift", "yshift") if note[name]}
        found[note.text] = box_of(point, note.text, **place)
    return found


@pytest.mark.parametrize("k", [1, 3, 8, 20])
def test_the_words_on_a_spectrum_do_not_overprint(k: int) -> None:
    slow = VALUES[0] * np.exp(-np.arange(100) / 30)
    nulls = {"random rows": np.full(100, 5.0), "sinusoidal": slow}
    placed = list(boxes(spectrum(VALUES, nulls=nulls, holds=(k, 0.9))).values())
    assert len(placed) == 3
    for one, other in itertools.combinations(placed, 2):
        apart = one.right <= other.left or other.right <= one.left
        assert apart or one.high <= other.low or other.high <= one.low


def test_ticks_are_whole_numbers_with_commas() -> None:
    layout = spectrum(VALUES).figure.layout
    for axis in (layout.xaxis, layout.yaxis):
        assert (axis.tickformat or layout.template.layout.xaxis.tickformat) == ",~g"
    assert layout.yaxis.dtick == 1


@pytest.mark.parametrize("log_x", [True, False])
def test_few_components_are_counted_whole(log_x: bool) -> None:
    axis = spectrum([3.0, 2.0, 1.0], log_x=log_x).figure.layout.xaxis
    assert axis.tickvals == (1, 2, 3)
    assert axis.dtick is None
