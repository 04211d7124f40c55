"""A table before and after, on the same axes."""

from __future__ import annotations

import numpy as np

from posviz.analysis.similarity import OffsetProfile
from posviz.figures.heatmap import heatmap
from posviz.figures.offsets import offset_profile
from posviz.figures.picture import CellFilm
from posviz.figures.stretched import (
    before_and_after,
    film_labels,
    heatmap_film,
    line_film,
    stretch_curve,
)
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
    long = before_and_after([1000.0], [2500.0], quantity="norm", names=("a", "b"))
    assert "a from 1,000 to 1,000" in long.alt
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


def test_heatmaps_of_several_lengths_are_one_film_on_the_axes_of_the_longest() -> None:
    rng = np.random.default_rng(1)
    cells = [rng.uniform(-1, 1, size=(n, n)) for n in (8, 6, 4)]
    counts = [8, 12, 4]  # the middle one is pooled, the last one shrank
    pictures = [
        heatmap(values, limits=(-1, 1), n_positions=count)
        for values, count in zip(cells, counts, strict=True)
    ]
    film = heatmap_film(pictures, film_labels(counts))
    assert isinstance(film.film, CellFilm)
    assert film.film.header == {
        "labels": ("1 × · 8", "1.5 × · 12", "0.5 × · 4"),
        "together": "stretch",
        "cells": [
            {"rows": 8, "cols": 8, "nRows": 8, "nCols": 8, "step": 1},
            {"rows": 6, "cols": 6, "nRows": 12, "nCols": 12, "step": 2},
            {"rows": 4, "cols": 4, "nRows": 4, "nCols": 4, "step": 1},
        ],
    }
    sent = np.frombuffer(film.payload, dtype=np.uint8)
    alone = [one.raster.values.ravel() for one in pictures if one.raster is not None]
    np.testing.assert_array_equal(sent, np.concatenate(alone))
    assert film.raster is pictures[-1].raster
    assert tuple(film.figure.layout.xaxis.range) == (-0.5, 11.5)
    assert tuple(film.figure.layout.yaxis.range) == (11.5, -0.5)
    assert film.alt.startswith("Film of 3 frames, 1 × · 8 to 0.5 × · 4. Last: Heatmap of cosine")
