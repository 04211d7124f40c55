"""Rows without a gradient are faded, and named in words."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.figures import untrained
from posviz.figures.along import along_positions
from posviz.figures.heatmap import heatmap


def test_stretches_are_faded_over_their_whole_cells() -> None:
    picture = untrained.fade(along_positions(np.ones(9), quantity="length"), [[0, 0], [6, 8]])
    assert [(s.x0, s.x1) for s in picture.figure.layout.shapes] == [(-0.5, 0.5), (5.5, 8.5)]
    (note,) = [n for n in picture.figure.layout.annotations if n.text == "never trained"]
    assert (note.x, note.yref) == (7, "paper")
    assert picture.alt.endswith(" Rows 0 and 6–8 were never trained.")
    assert "never trained" in picture.spec


def test_pairs_are_faded_on_both_axes() -> None:
    picture = untrained.fade(heatmap(np.eye(4), limits=(-1, 1)), [[2, 3]], pairs=True)
    across, down = picture.figure.layout.shapes
    assert (across.xref, across.x0, across.x1) == ("x", 1.5, 3.5)
    assert (down.yref, down.y0, down.y1) == ("y", 1.5, 3.5)


def test_a_table_that_was_trained_whole_is_left_as_it_is() -> None:
    picture = along_positions(np.ones(3), quantity="length")
    assert untrained.fade(picture, []) is picture
    assert untrained.rows_in([]) == []


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ([[5, 5]], "Row 5 was never trained."),
        ([[0, 0], [2, 3]], "Rows 0 and 2–3 were never trained."),
        ([[0, 1], [3, 3], [5, 6]], "Rows 0–1, 3 and 5–6 were never trained."),
    ],
)
def test_rows_are_named_in_words(ranges: list[list[int]], said: str) -> None:
    assert untrained.said(ranges) == said
    assert len(untrained.rows_in(ranges)) == sum(b - a + 1 for a, b in ranges)
