"""The figures of the interpolation page: each shows the table before and after on the same axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.definitions import DEFINITIONS
from posviz.figures.offsets import offset_profile
from posviz.figures.spectrum import spectrum
from posviz.figures.stretched import (
    before_and_after,
    film_labels,
    line_film,
    stretch_curve,
)
from posviz.interpolation import METHODS
from posviz.interpolation.aliasing import linear_height, sampling_limit, share_lost, waves
from posviz.ui import address, figure, losses, page, results, stretch, stretch_films
from posviz.ui.format import ABSENT, decimal, literal, percent, significant
from posviz.ui.tables import geometry, markdown_table, rebuilt

if TYPE_CHECKING:
    from posviz.figures.picture import Picture
    from posviz.interpolation import Extended
    from posviz.ui.opened import Opened
    from posviz.ui.stretch import Choice

PLAY = "play"  # the switch, and its name in the address
WAVES = 6  # strongest waves that are listed
ROW_NUMBERS = ("norms.first", "norms.median", "norms.last", "norms.max")

METHOD = (  # numbers that the page defines
    *("holdout", "step_median", "step_max", "curvature", "min_norm", "toeplitz_r2"),
    *("sampling_limit", "share_lost", "appears_as", "linear_height"),
    *("model_loss", "perplexity", "token_drift", "sentence_drift"),
)


@dataclass(frozen=True)
class View:
    """One figure of the page: its name in the menu, and what draws it."""

    label: str
    draw: Callable[[Opened, Extended, Choice], None]


def sizes(found: Opened, new: Extended) -> tuple[str, str]:
    """What the two tables are called in every figure."""
    return f"{found.table.n_positions:,} positions", f"{new.table.n_positions:,} positions"


def curve(found: Opened, new: Extended, choice: Choice) -> None:
    """The new curve on the old one's axes, the old curve behind."""
    _play_switch()
    shares = results.analyse(found.table, without=False).explained_variance_ratio
    with page.card():
        name = f"{found.table.name}, {sizes(found, new)[1]}"
        frames = stretch_films.frames(found.table, choice, film=_plays())
        picture = stretch_curve(frames, shares, name=name)
        figure.show(picture, key="stretched-curve", height=560)


def pairs(found: Opened, new: Extended, choice: Choice) -> None:
    """Cosine of all pairs, before and after, in the same colours."""
    _play_switch()
    both = zip(st.columns(2), (found.table, new.table), sizes(found, new), strict=True)
    for column, shown, size in both:
        with column, page.card(size):
            is_old = shown is found.table
            film = None if is_old or not _plays() else stretch_films.pair_film(found.table, choice)
            picture = film or stretch_films.all_pairs(stretch.pairs(shown), shown.n_positions)
            figure.show(picture, key=f"pairs-{is_old}", height=460)


def offset(found: Opened, new: Extended, choice: Choice) -> None:
    """Cosine by offset, beside the old one and what the stretch law expects."""
    _play_switch()
    with page.card():
        before, after = (one.profile for one in stretch.glances(found.table, new))
        nulls = stretch.beside(found.table, new, choice, before)
        picture = offset_profile(after, nulls=nulls, name=sizes(found, new)[1])
        picture = _played(picture, found, choice, "offset")
        figure.show(picture, key="stretched-offset", height=480)


def singular_values(found: Opened, new: Extended, choice: Choice) -> None:
    """The centred spectra."""
    _play_switch()
    before, after = sizes(found, new)
    with page.card():
        if page.varies(results.analyse(found.table, without=False)):
            old = stretch.singular_values(found.table)
            picture = spectrum(stretch.singular_values(new.table), nulls={before: old}, name=after)
            picture = _played(picture, found, choice, "spectrum")
            figure.show(picture, key="stretched-spectrum", height=480)


def rows(found: Opened, new: Extended, choice: Choice) -> None:
    """Norms of rows and steps between them, laid over each other."""
    _play_switch()
    old, now = stretch_films.along(found.table), stretch_films.along(new.table)
    names = sizes(found, new)
    quantities = {"norm of the row": "norms", "step to the next row": "steps"}
    for quantity, field in quantities.items():
        before, after = getattr(old, field), getattr(now, field)
        if len(before) and len(after):
            with page.card(quantity.capitalize()):
                picture = before_and_after(before, after, quantity=quantity, names=names)
                picture = _played(picture, found, choice, field)
                figure.show(picture, key=f"stretched-{field}", height=300, picks=False)


def _play_switch() -> None:
    address.switch(
        "Play from 1 ×",
        key=PLAY,
        help="Computes the figure at lengths on the way and runs them as a film.",
    )


def _plays() -> bool:
    return bool(st.session_state.get(PLAY))


def _played(picture: Picture, found: Opened, choice: Choice, kind: str) -> Picture:
    """The figure as a film from the old length to the new one, where that was asked for."""
    if not _plays():
        return picture
    frames, lengths = stretch_films.line_frames(found.table, choice, kind)
    if len(frames) < 2 or min(map(len, frames)) < 2:
        return picture
    return line_film(picture, frames, film_labels(lengths))


def in_a_model(found: Opened, new: Extended, choice: Choice) -> None:
    """What a model loses by it."""
    with page.card():
        losses.view(found, choice)


VIEWS: dict[str, View] = {
    "curve": View("Curve", curve),
    "pairs": View("All pairs", pairs),
    "offset": View("By offset", offset),
    "spectrum": View("Spectrum", singular_values),
    "rows": View("Row by row", rows),
    "loss": View("What a model loses", in_a_model),
}


def all_numbers(found: Opened, new: Extended, choice: Choice) -> None:
    """What the change did to the rows, to the waves along them, and which method rebuilds best."""
    geometry(*stretch.geometries(found.table, choice))
    _row_numbers(found, new)
    _waves(found, new, choice)
    rebuilt(stretch.rebuilt(found.table))


def _row_numbers(found: Opened, new: Extended) -> None:
    old, now = stretch_films.along(found.table), stretch_films.along(new.table)
    cells = [(_label(name), *(decimal(one.numbers[name]) for one in (old, now)))
             for name in (*ROW_NUMBERS, "curvature")]  # fmt: skip
    markdown_table(("row by row", "before", "after"), cells)


def _waves(found: Opened, new: Extended, choice: Choice) -> None:
    """Which waves shrinking turns into others, and what straight lines leave of them."""
    table, length = found.table, new.table.n_positions
    old = table.n_positions
    if table.grid is not None:
        return  # waves of a picture run in two directions
    lines = results.analyse(table, without=False).power[:WAVES]
    if not lines:
        return
    linear = choice.method == "linear"
    shrinks = length < old
    head = ["period before", "share of the power", _label("appears_as")]
    head += [_label("linear_height")] * linear
    cells = []
    for wave in waves(lines, old, length):
        seen = ABSENT if wave.appears is None else f"{significant(wave.appears)} positions"
        row = [f"{significant(wave.period)} positions", percent(wave.share)]
        row += [seen if wave.kept else f"{seen}, below the limit"]
        cells.append([*row, *([percent(wave.linear_height)] * linear)])
    if METHODS[choice.method].family == "resample":
        markdown_table(head, cells)
    if shrinks:
        lost = share_lost(stretch_films.power(table), old, length)
        st.caption(
            literal(
                f"{_label('sampling_limit')}: "
                f"{significant(sampling_limit(old, length))} positions. "
                f"{_label('share_lost')}: {percent(lost)}."
            )
        )
    elif linear:
        st.caption(
            f"{_label('linear_height')}: a period of 6 keeps {percent(linear_height(6))}, one of "
            f"2 nothing."
        )


def _label(name: str) -> str:
    return DEFINITIONS[name].label
