"""Loss over the length that is read: one line for each kind of rows, a mark where rows end."""

from __future__ import annotations

import json

import pytest

from posviz.figures.reach import Line, loss_by_length

LINES = [
    Line("", [32, 64], [0.9, 0.8]),
    Line("stretched", [64, 128], [0.8, 1.0], dashed=True),
    Line("new rows", [64, 128], [0.8, 1.04], "behind", dashed=True),
]


def test_each_line_goes_through_its_values_and_the_table_has_an_end() -> None:
    picture = loss_by_length(LINES, n_positions=64, level=(3.0, "guessing"), name="mine")
    walks = [trace for trace in picture.figure.data if trace.meta == "walk"]
    assert [(list(t.x), list(t.y)) for t in walks] == [
        (list(n.lengths), list(n.values)) for n in LINES
    ]
    assert [trace.line.dash for trace in walks] == ["solid", "5px,4px", "5px,4px"]
    (wall,) = picture.figure.layout.shapes
    assert (wall.x0, wall.x1) == (64, 64)
    low, high = picture.figure.layout.yaxis.range
    assert low < 0.8 < 3.0 < high
    assert "stretched 0.800 at 64 to 1.000 at 128" in picture.alt
    json.loads(picture.spec, parse_constant=pytest.fail)


def test_names_of_lines_that_end_near_each_other_do_not_overprint() -> None:
    picture = loss_by_length(LINES, n_positions=64)
    notes = {note.text: note.y for note in picture.figure.layout.annotations}
    assert set(notes) == {"64 rows", "stretched", "new rows"}
    low, high = picture.figure.layout.yaxis.range
    assert abs(notes["stretched"] - notes["new rows"]) >= 0.07 * (high - low) - 1e-9


def test_one_point_is_drawn() -> None:
    json.loads(loss_by_length([Line("a", [8], [1.0])], n_positions=8).spec)
