"""Traces of dimensions, power by period, energy by dimension."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.waves import PowerLine, PowerSpectrum, power_lines, power_spectrum
from posviz.figures.energy import energy_by_dimension
from posviz.figures.names import NARROW, box_of, in_shares, overprints
from posviz.figures.periods import power_by_period
from posviz.figures.theme import LIGHT
from posviz.figures.traces import trace_lines, trace_map

if TYPE_CHECKING:
    from posviz.figures.picture import Picture


def waves(n_positions: int = 200) -> np.ndarray:
    """Two waves, of 50 and of 5 positions, and a dimension of nothing."""
    place = 2 * np.pi * np.arange(n_positions)
    return np.stack([2 * np.sin(place / 50), np.sin(place / 5), 0 * place], axis=1)


def notes(picture: Picture) -> list[str]:
    return [note.text for note in picture.figure.layout.annotations]


def whole(picture: Picture, name: str) -> np.ndarray:
    """The values of a line that is drawn in pieces, each beginning where the last one ended."""
    pieces = [trace.y for trace in picture.figure.data if trace.name == name]
    return np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])


def test_the_map_has_a_row_a_dimension_and_a_column_a_position() -> None:
    values = waves().T
    picture = trace_map(values, limit=2.0, ranked=False)
    assert picture.raster is not None
    assert picture.raster.values.shape == (3, 200)
    assert (picture.raster.values[2] == 128).all(), "0 is the middle colour"
    assert (picture.raster.first_row, picture.raster.first_col) == (0, 0)
    layout = picture.figure.layout
    assert layout.yaxis.range == (2.5, -0.5), "the first dimension on top"
    assert layout.xaxis.range == (-0.5, 199.5)
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("position", "dimension")
    assert "dimension {row}" in picture.raster.hover


def test_ranked_dimensions_are_counted_from_one_and_say_how_many_are_drawn() -> None:
    picture = trace_map(waves().T, limit=2.0, ranked=True, total=70)
    assert picture.raster is not None
    assert picture.raster.first_row == 1
    assert "strongest no. {row}" in picture.raster.hover
    assert picture.figure.layout.yaxis.title.text == "dimension, strongest first · 3 of 70"


def test_positions_left_out_stay_blank() -> None:
    values = waves().T
    values[:, 7] = np.nan
    picture = trace_map(values, limit=2.0, ranked=False)
    assert picture.raster is not None
    assert (picture.raster.values[:, 7] == 0).all()
    assert "NaN" not in picture.spec


def test_lines_keep_their_shape_and_never_touch_a_neighbour_of_the_same_size() -> None:
    values = waves().T[:2]
    picture = trace_lines(values, [4, 9], np.arange(200), shares=[0.8, 0.2])
    first, second = (whole(picture, f"dimension {number}") for number in (4, 9))
    np.testing.assert_allclose(first, values[0], atol=1e-6)
    np.testing.assert_allclose(second - np.mean(second), values[1], atol=1e-5)
    assert picture.figure.layout.yaxis.ticktext == ("4 · 80.0 %", "9 · 20.0 %")
    assert np.mean(second) < np.mean(first)
    assert "9 (20.0 % of the variance)" in picture.alt


def test_lines_have_the_colours_of_their_positions() -> None:
    picture = trace_lines(waves().T[:2], [0, 1], np.arange(200), shares=[0.8, 0.2])
    colours = [trace.line.color for trace in picture.figure.data]
    half = len(colours) // 2
    assert colours[:half] == colours[half:]
    assert len(set(colours)) == half > 10


def test_power_is_in_percent_against_the_period_short_ones_first() -> None:
    rows = waves(204)  # of which 200 count
    spectrum = power_spectrum(rows)
    picture = power_by_period(spectrum, lines=power_lines(rows), nulls={"shuffled": spectrum})
    (line,) = [trace for trace in picture.figure.data if trace.meta == "walk"]
    np.testing.assert_allclose(line.y, 100 * spectrum.share[::-1])
    assert list(line.x) == sorted(line.x)
    assert picture.figure.layout.xaxis.type == "log"
    named = [text for text in notes(picture) if "%" in text]
    assert [text.split(" · ")[0] for text in named] == ["period 50", "period 5"]
    assert "shuffled" in notes(picture)


def test_names_of_neighbouring_periods_do_not_overprint() -> None:
    spectrum = PowerSpectrum(100 / np.arange(1, 51), np.full(50, 0.02))
    lines = [PowerLine(period, 0.1) for period in (50.0, 49.0, 10.0, 9.5, 2.0)]
    named = [text for text in notes(power_by_period(spectrum, lines=lines)) if "%" in text]
    assert [text.split(" · ")[0] for text in named] == ["period 50", "period 10", "period 2"]


@pytest.mark.parametrize("strongest", [(120, 10, 15), (4, 2.4, 30), (5, 2.5, 2), (40, 20, 60)])
def test_names_of_periods_are_whole_and_apart_on_a_narrow_screen(
    strongest: tuple[float, ...],
) -> None:
    spectrum = PowerSpectrum(120 / np.arange(1, 61), np.full(60, 0.03))
    lines = [PowerLine(period, 0.1) for period in strongest]
    picture = power_by_period(spectrum, lines=lines, nulls={"shuffled rows": spectrum})
    boxes = []
    for note in picture.figure.layout.annotations:
        if "period" not in note.text:
            continue
        point = in_shares(picture.figure, 10**note.x, note.y)
        place = {"xanchor": note.xanchor, "xshift": note.xshift or 0, "yshift": note.yshift}
        boxes.append(box_of(point, note.text, size=NARROW, **place))
    assert boxes
    assert not any(overprints(one, other) for one, other in itertools.combinations(boxes, 2))
    assert all(-0.06 < box.left < box.right < 1.06 for box in boxes)
    assert f"period {strongest[0]}" in " ".join(notes(picture))


def test_long_periods_are_written_out() -> None:
    spectrum = PowerSpectrum(4080 / np.arange(1, 9), np.full(8, 0.1))
    picture = power_by_period(spectrum, lines=[PowerLine(4080.0, 0.2), PowerLine(1020.0, 0.1)])
    assert [text.split(" · ")[0] for text in notes(picture)] == ["period 4,080", "period 1,020"]
    assert "e+" not in picture.alt


def test_energy_rises_to_all_and_marks_what_was_asked() -> None:
    energy = coordinate_energy(waves())
    assert energy.cumulative is not None
    picture = energy_by_dimension(
        energy.cumulative, nulls={"random rows": [0.4, 0.7, 1.0]}, thresholds={90: 2}
    )
    (line,) = [trace for trace in picture.figure.data if trace.meta == "walk"]
    np.testing.assert_allclose(line.y, 100 * energy.cumulative)
    assert line.y[-1] == pytest.approx(100)
    assert "2 hold 90 %" in notes(picture)
    assert "2 hold 90 %" in picture.alt
    (mark,) = [t for t in picture.figure.data if t.mode == "markers"]
    assert (mark.x[0], mark.marker.color) == (2, LIGHT.accent)


@pytest.mark.parametrize("width", [1, 2, 9, 10, 1000])
def test_any_width_gives_strict_json(width: int) -> None:
    values = np.random.default_rng(0).normal(size=(width, 12))
    few = values[:6]
    for picture in (
        trace_map(values, limit=1.0, ranked=True),
        trace_lines(few, range(len(few)), np.arange(12), shares=[0.1] * len(few)),
        trace_lines(few[:, :1], range(len(few)), [3], shares=[0.1] * len(few)),
        energy_by_dimension(np.linspace(0.1, 1, width), thresholds={90: width}),
    ):
        json.loads(picture.spec, parse_constant=lambda name: pytest.fail(name))
