"""A table before and after, on the same axes."""

from __future__ import annotations

import numpy as np

from posviz.analysis.similarity import OffsetProfile
from posviz.figures.offsets import offset_profile
from posviz.figures.stretched import before_and_after, film_labels, line_film, stretch_curve
from posviz.figures.theme import LIGHT


def frames(components: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, components)) for n in (4, 6, 8)]


def test_the_old_curve_stays_behind_the_film() -> None:
    picture = stretch_curve(frames(3), [0.5, 0.3, 0.2], name="made")
    assert picture.film is not None
    assert picture.film.labels == ("1 × · 4", "1.5 × · 6", "2 × · 8")
    (behind,) = (trace for trace in picture.figure.data if trace.name == "before")
    assert behind.line.color == LIGHT.faint
    assert len(behind.x) == 4
    scene = picture.figure.layout.scene
    for name, column in zip(("xaxis", "yaxis", "zaxis"), range(3), strict=True):
        low, high = scene[name].range
        assert all(low < frame[:, column].min() for frame in frames(3))
        assert all(high > frame[:, column].max() for frame in frames(3))


def test_two_ends_are_no_film() -> None:
    first, _, last = frames(3)
    picture = stretch_curve([first, last], None, name="made")
    assert picture.film is None
    (behind,) = (trace for trace in picture.figure.data if trace.name == "before")
    assert np.allclose(behind.x, first[:, 0])
    low, high = picture.figure.layout.scene.xaxis.range
    assert low < min(first[:, 0].min(), last[:, 0].min())
    assert high > max(first[:, 0].max(), last[:, 0].max())


def test_a_table_of_fewer_dimensions_is_drawn_flat() -> None:
    for components in (0, 1, 2):
        picture = stretch_curve(frames(components), None, name="made")
        assert np.all(picture.figure.data[-1].z == 0)


def test_both_tables_run_from_nought_to_one_on_one_value_axis() -> None:
    figure = before_and_after([1.0, 5.0], [2.0, 3.0, 9.0], quantity="norm", names=("a", "b")).figure
    old, new = figure.data[0], figure.data[-1]
    assert (old.x[0], old.x[-1], new.x[0], new.x[-1]) == (0, 1, 0, 1)
    low, high = figure.layout.yaxis.range
    assert low < 1
    assert high > 9


def test_a_single_row_and_missing_values_are_drawn_or_left_out() -> None:
    picture = before_and_after([1.0], [np.nan, 2.0], quantity="norm", names=("a", "b"))
    assert picture.alt == ("norm, row by row: a from 1 to 1, median 1; b from 2 to 2, median 2.")
    nothing = before_and_after([np.nan], [np.nan], quantity="norm", names=("a", "b"))
    assert "b has none" in nothing.alt


def test_a_line_plays_with_its_ends_and_without_the_spread_of_one_moment() -> None:
    mean = np.linspace(1, -1, 8)
    picture = offset_profile(OffsetProfile(mean, np.full(8, 0.1)), nulls={"before": mean[:4]})
    points = [np.stack([np.arange(n), np.linspace(3, -2, n)], axis=1) for n in (4, 8)]
    film = line_film(picture, points, film_labels([4, 8]))
    assert film.film is not None
    assert film.film.labels == ("1 × · 4", "2 × · 8")
    assert [frame.shape for frame in film.film.frames] == [(4, 2), (8, 2)]
    metas = [trace.meta for trace in film.figure.data]
    assert metas.count("walk") == metas.count("ends") == 1
    assert all(trace.line.width != 0 for trace in film.figure.data)
    low, high = film.figure.layout.yaxis.range
    assert low < -2
    assert high > 3
