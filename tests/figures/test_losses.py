"""The figure of losses by position: one line a method, the chosen one in front."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.figures.lines import Band
from posviz.figures.losses import ORIGINAL, along_a_text
from posviz.figures.picture import Picture  # noqa: TC001
from posviz.figures.theme import LIGHT


def band(values: np.ndarray) -> Band:
    return Band(values, values - 0.1, values + 0.1)


def drawn(chosen: str = "Linear", **more: object) -> Picture:
    lines = {
        "Linear": band(np.full(20, 1.5)),
        "Tile": band(np.r_[np.full(10, 1.0), np.full(10, 4.0)]),
        "Zeros": band(np.r_[np.full(10, 1.0), np.full(10, 4.02)]),
    }
    return along_a_text(
        lines, chosen=chosen, original=band(np.ones(10)), n_positions=10, quantity="loss, nats",
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_chosen_line_is_in_front_in_colour_and_the_others_are_thin() -> None:
    figure = drawn().figure
    last = figure.data[-1]
    assert (last.name, last.line.color, last.meta) == ("Linear", LIGHT.accent, "walk")
    thin = {trace.name for trace in figure.data if trace.line.color == LIGHT.faint}
    assert thin == {"Tile", "Zeros"}


def test_the_original_ends_where_its_rows_do_and_a_line_stands_there() -> None:
    figure = drawn().figure
    (own,) = (trace for trace in figure.data if trace.name == ORIGINAL)
    assert len(own.x) == 10
    assert figure.layout.shapes[0].x0 == 10
    assert any("from 10 on: new rows" in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize(("length", "side"), [(20, "left"), (11, "right")])
def test_the_words_at_the_first_new_row_are_not_cut_off(length: int, side: str) -> None:
    lines = {"Tile": band(np.ones(length))}
    picture = along_a_text(
        lines, chosen="Tile", original=band(np.ones(10)), n_positions=10, quantity="loss, nats"
    )
    (note,) = (n for n in picture.figure.layout.annotations if "new rows" in n.text)
    assert note.xanchor == side


def test_names_that_would_overprint_are_left_to_the_cursor() -> None:
    names = [note.text for note in drawn().figure.layout.annotations]
    assert "Linear" in names
    assert ("Tile" in names) != ("Zeros" in names)
    hovers = [trace.hovertemplate for trace in drawn().figure.data if trace.hovertemplate]
    assert sum(hover.startswith(("Tile", "Zeros")) for hover in hovers) == 2


def test_the_axis_holds_every_line_and_the_level() -> None:
    low, high = drawn(level=(6.0, "knowing nothing")).figure.layout.yaxis.range
    assert low < 0.9
    assert high > 6


def test_positions_without_a_loss_are_gaps_and_one_method_may_be_missing() -> None:
    values = np.full(20, np.nan)
    picture = along_a_text(
        {"Tile": band(values)}, chosen="Linear", original=band(values[:10]), n_positions=10,
        quantity="loss, nats",
    )  # fmt: skip
    assert "none yet" in picture.alt
    assert drawn().alt == (
        "loss, nats of the model along the positions, 3 methods; from position 10 on rows are "
        "new. Linear: 1.500 in the mean. The others: Tile 2.500, Zeros 2.510."
    )
