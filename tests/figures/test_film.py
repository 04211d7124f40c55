"""Films: still axes, and every frame's points beside the figure."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.figures.film import curve_film, curve_frame


def frames(*lengths: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(0, 1 + i, (n, 4)) for i, n in enumerate(lengths)]


@pytest.mark.parametrize("components", [(0, 1), (2, 0), (0, 1, 2)])
def test_the_film_holds_the_chosen_columns_of_every_frame(components: tuple[int, ...]) -> None:
    shown = frames(5, 5, 9)
    picture = curve_film(shown, ["a", "b", "c"], components=components)
    assert picture.film is not None
    assert picture.film.header == {
        "labels": ("a", "b", "c"),
        "lengths": [5, 5, 9],
        "axes": len(components),
        "together": "",
    }
    flat = np.frombuffer(picture.payload, dtype="<f4").reshape(-1, len(components))
    np.testing.assert_allclose(flat, np.concatenate(shown)[:, components], rtol=1e-6)


@pytest.mark.parametrize("components", [(0, 1), (0, 1, 2)])
def test_the_axes_hold_every_frame(components: tuple[int, ...]) -> None:
    shown = frames(20, 10)[::-1]  # the widest first, the last narrower
    picture = curve_film(shown, ["wide", "narrow"], components=components)
    layout = picture.figure.layout
    axes = layout.scene if len(components) == 3 else layout
    for axis, column in zip(("xaxis", "yaxis", "zaxis"), components, strict=False):
        low, high = axes[axis].range
        assert low < min(frame[:, column].min() for frame in shown)
        assert high > max(frame[:, column].max() for frame in shown)


def test_the_figure_is_the_last_frame_and_the_words_say_so() -> None:
    shown = frames(6, 6)
    picture = curve_film(shown, ["step 0", "step 40"], (0.5, 0.3, 0.1), name="run")
    (line,) = [trace for trace in picture.figure.data if trace.meta == "walk"]
    np.testing.assert_allclose(line.x, shown[-1][:, 0], rtol=1e-6)
    assert picture.alt.startswith("Film of 2 frames, step 0 to step 40. Last: Space curve of run")


def test_the_browser_finds_what_it_moves() -> None:
    picture = curve_film(frames(6), ["only"], components=(0, 1))
    assert [trace.meta for trace in picture.figure.data].count("ends") == 1
    assert {"first", "last"} <= {note.name for note in picture.figure.layout.annotations}


def test_a_single_frame_stands_on_the_axes_of_the_whole_film() -> None:
    shown = frames(7, 7, 7)
    film, frame = curve_film(shown, ["a", "b", "c"]), curve_frame(shown, 0)
    assert frame.film is None
    (line,) = [trace for trace in frame.figure.data if trace.meta == "walk"]
    np.testing.assert_allclose(line.x, shown[0][:, 0], rtol=1e-6)
    for axis in ("xaxis", "yaxis", "zaxis"):
        assert frame.figure.layout.scene[axis].range == film.figure.layout.scene[axis].range


def test_films_that_run_as_one_share_a_word() -> None:
    assert curve_film(frames(4, 4), ["a", "b"], together="pair").film.header["together"] == "pair"


@pytest.mark.parametrize("components", [(0, 1), (0, 1, 2)])
def test_marked_rows_are_dots_on_the_curve(components: tuple[int, ...]) -> None:
    shown = frames(6, 6)
    picture = curve_film(shown, ["a", "b"], components=components, marked=(1, 4, 9))
    (dots,) = [trace for trace in picture.figure.data if trace.meta == "marked"]
    assert list(dots.customdata) == [1, 4]
    np.testing.assert_allclose(dots.x, shown[-1][[1, 4], components[0]], rtol=1e-6)
