"""Curves: what is drawn where, in which colour, with which words."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.figures.camera import USUAL, WIDE
from posviz.figures.curve import Behind, curve_2d, curve_3d
from posviz.figures.points import SEGMENTS
from posviz.figures.theme import LIGHT, POSITION

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from posviz.figures.picture import Picture

SHARES = (0.337, 0.326, 0.248, 0.02)


def helix(n: int, *, columns: int = 4) -> np.ndarray:
    t = np.linspace(0, 6 * np.pi, n)
    return np.stack([3 * np.cos(t), 3 * np.sin(t), np.linspace(2, -2, n), 0 * t], axis=1)[
        :, :columns
    ]


def walked(picture: Picture) -> list[go.Scatter]:
    return [trace for trace in picture.figure.data if trace.meta == "walk"]


def texts(picture: Picture) -> list[str]:
    layout = picture.figure.layout
    return [note.text for note in (*layout.annotations, *(layout.scene.annotations or ()))]


def test_the_plane_draws_every_position_once_and_in_order() -> None:
    scores = helix(1000)
    pieces = walked(curve_2d(scores, SHARES))
    rows = np.concatenate([piece.customdata[(i > 0) :] for i, piece in enumerate(pieces)])
    assert rows.tolist() == list(range(1000))
    x = np.concatenate([piece.x[(i > 0) :] for i, piece in enumerate(pieces)])
    np.testing.assert_allclose(x, scores[:, 0], atol=1e-6)
    assert all(piece.mode == "lines" for piece in pieces)


def test_pieces_meet_so_that_the_line_has_no_gap() -> None:
    pieces = walked(curve_2d(helix(500), SHARES))
    assert len(pieces) == SEGMENTS
    for before, after in itertools.pairwise(pieces):
        assert (before.x[-1], before.y[-1]) == (after.x[0], after.y[0])


def test_pieces_run_through_the_position_colours() -> None:
    colours = [piece.line.color for piece in walked(curve_2d(helix(500), SHARES))]
    assert len(set(colours)) == len(colours)
    red = [int(colour[1:3], 16) for colour in colours]
    assert red[0] < 70
    assert red[-1] > 235


def test_the_space_colours_one_line_by_position() -> None:
    positions = np.arange(1, 301)
    (line,) = walked(curve_3d(helix(300), SHARES, positions))
    assert line.type == "scatter3d"
    assert line.mode == "lines"
    assert [colour for _, colour in line.line.colorscale] == list(POSITION)
    assert line.line.color.tolist() == positions.tolist()
    assert (line.line.cmin, line.line.cmax) == (1, 300)
    assert line.customdata.tolist() == positions.tolist()


def test_axis_titles_name_component_and_share() -> None:
    flat = curve_2d(helix(50), SHARES, components=(2, 0)).figure.layout
    assert flat.xaxis.title.text == "component 3 · 24.8 %"
    assert flat.yaxis.title.text == "component 1 · 33.7 %"
    scene = curve_3d(helix(50), SHARES).figure.layout.scene
    assert scene.zaxis.title.text == "component 3 · 24.8 %"
    assert curve_2d(helix(50)).figure.layout.xaxis.title.text == "component 1"


def test_scales_are_equal_on_all_axes() -> None:
    assert curve_2d(helix(50)).figure.layout.yaxis.scaleanchor == "x"
    assert curve_2d(helix(50)).figure.layout.yaxis.scaleratio == 1
    assert curve_3d(helix(50)).figure.layout.scene.aspectmode == "data"


def test_ranges_hold_the_curve() -> None:
    for axis, column in (("xaxis", 0), ("yaxis", 1)):
        low, high = curve_2d(helix(50)).figure.layout[axis].range
        assert low < helix(50)[:, column].min()
        assert high > helix(50)[:, column].max()


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_the_ends_carry_their_positions(draw: object) -> None:
    picture = draw(helix(1022), SHARES, np.arange(1, 1023))  # type: ignore[operator]
    assert {"1", "1,022"} <= set(texts(picture))
    dots = [trace for trace in picture.figure.data if trace.mode == "markers" and trace.x[0]]
    assert dots[0].marker.color == (POSITION[0], POSITION[-1])
    np.testing.assert_allclose(dots[0].x, helix(1022)[[0, -1], 0], atol=1e-6)


def test_ends_that_meet_have_their_labels_on_two_sides() -> None:
    closed = helix(301)[:, :2]
    first, last = list(curve_2d(closed).figure.layout.annotations)[:2]
    assert first.xshift < 0 < last.xshift


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_the_colour_bar_names_first_and_last_position(draw: object) -> None:
    picture = draw(helix(40), SHARES, np.arange(2, 42))  # type: ignore[operator]
    (bar,) = [t for t in picture.figure.data if t.mode == "markers" and t.marker.showscale]
    assert (bar.marker.cmin, bar.marker.cmax) == (2, 41)
    assert {"position 2", "41"} <= {note.text for note in picture.figure.layout.annotations}


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_a_second_curve_stays_behind_and_is_named(draw: object) -> None:
    picture = draw(helix(40), SHARES, behind=Behind(helix(20), "original"))  # type: ignore[operator]
    first = picture.figure.data[0]
    assert first.name == "original"
    assert first.line.color == LIGHT.faint
    assert len(first.x) == 20
    assert "original" in picture.alt


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_the_words_hold_the_key_numbers(draw: object) -> None:
    picture = draw(helix(1024), SHARES, name="gpt2")  # type: ignore[operator]
    for part in ("gpt2", "1,024 positions", "component 1 · 33.7 %", "from 0 ", "to 1,023 "):
        assert part in picture.alt
    assert ("66.3 %" if draw is curve_2d else "91.1 %") in picture.alt


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2])
def test_small_tables_are_drawn(draw: object, n: int, columns: int) -> None:
    picture = draw(helix(n, columns=columns), SHARES[:columns])  # type: ignore[operator]
    drawn = walked(picture)
    assert {int(p) for trace in drawn for p in trace.customdata} == set(range(n))
    json.loads(picture.spec, parse_constant=pytest.fail)


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_rows_without_variation_have_a_range_with_room(draw: object) -> None:
    picture = draw(np.zeros((5, 3)), (0.0, 0.0, 0.0))  # type: ignore[operator]
    axis = picture.figure.layout.xaxis if draw is curve_2d else picture.figure.layout.scene.xaxis
    assert axis.range == (-1, 1)


@pytest.mark.parametrize("draw", [curve_2d, curve_3d])
def test_long_tables_are_thinned_to_what_can_be_seen(draw: object) -> None:
    scores = helix(32_768)
    drawn = walked(draw(scores, SHARES))  # type: ignore[operator]
    rows = np.unique(np.concatenate([trace.customdata for trace in drawn]))
    assert rows[0] == 0
    assert rows[-1] == 32_767
    assert len(rows) < 24_000
    # No two neighbours that were dropped lie further apart than a screen's pixel or two.
    shown = scores[rows]
    before = shown[np.searchsorted(rows, np.arange(32_768), side="right") - 1]
    assert np.abs(scores - before).max() <= 6.0 / 2048 * 1.01


def test_thinning_keeps_every_swing_of_a_fast_oscillation() -> None:
    fast = np.stack([np.linspace(0, 1, 32_768), np.tile([0.0, 1.0], 16_384)], axis=1)
    rows = np.unique(np.concatenate([t.customdata for t in walked(curve_2d(fast))]))
    assert len(rows) == 32_768


@pytest.mark.parametrize("shape", [USUAL, WIDE])
@pytest.mark.parametrize("stretch", [(1, 1, 1), (9, 1, 1), (1, 6, 2), (5, 5, 0.2)])
def test_the_first_view_holds_all_that_is_drawn(
    stretch: tuple[float, float, float], shape: float
) -> None:
    layout = curve_3d(helix(200)[:, :3] * stretch).figure.layout
    scene = layout.scene
    camera = scene.camera.to_plotly_json() if shape == USUAL else layout.meta["wide"]
    sides = np.array([np.ptp(scene[axis].range) for axis in ("xaxis", "yaxis", "zaxis")])
    sides /= np.prod(sides) ** (1 / 3)  # as Plotly scales "data"
    eye, center = (np.array([camera[at][axis] for axis in "xyz"]) for at in ("eye", "center"))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2
    corners = corners[:-1]  # nothing is drawn at the top corner in front
    low, high = np.array([scene[axis].range for axis in ("xaxis", "yaxis", "zaxis")]).T
    points = (helix(200)[:, :3] * stretch - low) / (high - low) - 0.5
    corners = np.concatenate([corners, points]) * sides
    forward = (center - eye) / np.linalg.norm(center - eye)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    depth = (corners - eye) @ forward
    assert depth.min() > 0
    across = np.abs((corners - eye) @ right) / depth / np.tan(np.pi / 8)
    along = np.abs((corners - eye) @ np.cross(right, forward)) / depth / np.tan(np.pi / 8)
    assert along.max() <= 1
    assert across.max() <= shape  # times as wide as high
    assert max(along.max(), across.max() / shape) > 0.8  # and not smaller than it need be
