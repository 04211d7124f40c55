"""Lines over the steps of a run."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from posviz.figures.steps import Beside, over_steps
from posviz.figures.theme import LIGHT

STEPS, LOSS = (0, 10, 20, 40), (3.0, 2.0, None, 1.0)


def test_the_line_goes_through_the_snapshots_with_gaps() -> None:
    picture = over_steps(STEPS, LOSS, quantity="loss, nats", name="run:a")
    (line,) = [trace for trace in picture.figure.data if trace.meta == "walk"]
    assert line.x.tolist() == [0, 10, 20, 40]
    assert line.y[[0, 1, 3]].tolist() == [3, 2, 1]
    assert math.isnan(line.y[2])
    assert picture.figure.layout.yaxis.title.text == "loss, nats"
    assert picture.alt == "loss, nats of run:a, 3.000 at step 0 to 1.000 at step 40."


def test_the_level_is_a_dotted_line_with_its_name_inside_the_range() -> None:
    picture = over_steps(STEPS, LOSS, quantity="loss", level=(5.0, "ln 148"))
    dotted = [trace for trace in picture.figure.data if trace.line.color == LIGHT.null]
    assert [list(trace.y) for trace in dotted] == [[5, 5]]
    assert [note.text for note in picture.figure.layout.annotations] == ["ln 148"]
    low, high = picture.figure.layout.yaxis.range
    assert low < 1 < 5 < high
    assert picture.alt.endswith(" ln 148 is 5.000.")


def test_the_step_on_show_is_marked_with_its_value() -> None:
    picture = over_steps(STEPS, LOSS, quantity="loss", at=10)
    (dot,) = [trace for trace in picture.figure.data if trace.mode == "markers"]
    assert (list(dot.x), list(dot.y)) == ([10], [2])
    assert picture.figure.layout.annotations[0].text == "2.000"
    gap = over_steps(STEPS, LOSS, quantity="loss", at=20)
    assert not [trace for trace in gap.figure.data if trace.mode == "markers"]


def test_the_axis_reaches_as_far_as_the_run_will_go() -> None:
    picture = over_steps([0], [3.0], quantity="loss", behind=[(0, 3.1), (7, 2.9)], last=600)
    assert picture.figure.layout.xaxis.range[1] >= 600
    assert list(picture.figure.data[0].x) == [0, 7]


@pytest.mark.parametrize("values", [[], [None], [2.0], [np.nan, np.inf]])
def test_short_runs_are_drawn(values: list[float | None]) -> None:
    picture = over_steps(range(len(values)), values, quantity="loss")
    json.loads(picture.spec, parse_constant=pytest.fail)
    assert picture.alt


def test_a_second_run_lies_on_the_same_axes_and_both_are_named() -> None:
    other = Beside([0, 30, 60], [4.0, 3.5, None], "run:b")
    picture = over_steps(STEPS, LOSS, quantity="loss", beside=other, name="run:a")
    lines = {trace.name: trace for trace in picture.figure.data}
    assert list(lines["run:b"].x) == [0, 30, 60]
    assert lines["run:a"].line.color != lines["run:b"].line.color
    names = {note.text: (note.x, note.y) for note in picture.figure.layout.annotations}
    assert names == {"run:a": (40, 1.0), "run:b": (30, 3.5)}
    assert picture.figure.layout.xaxis.range[1] >= 60
    assert picture.figure.layout.yaxis.range[1] > 4
    assert "of run:b, 4.000 at step 0 to 3.500 at step 30." in picture.alt


def test_a_second_run_without_values_is_no_trouble() -> None:
    picture = over_steps(STEPS, LOSS, quantity="loss", beside=Beside([0], [None], "empty"))
    json.loads(picture.spec, parse_constant=pytest.fail)
    assert [note.text for note in picture.figure.layout.annotations] == ["the run"]
