"""The sum: the rows of a text, what they add up to, and what moves when the text does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.nulls import NULLS
from posviz.figures.strips import Strip, strips
from posviz.model.embedding import Parts, angles, cosines, parts, swapped
from posviz.ui import address, figure, inside, page, tables
from posviz.ui.format import ABSENT, count, decimal, literal
from posviz.ui.page import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.tokens import Reading
    from posviz.ui.inside import Inside

CHANGES = {"none": "As typed", "swap": "Swap two", "move": "Move"}
MOST_COLUMNS = 1024  # dimensions drawn; of a wider model those that positions use most


@dataclass(frozen=True, eq=False)
class Moved:
    """What a change of the text did to it.

    Parameters
    ----------
    after : Parts
    places : array of shape (T,)
        Where each token of the text stands afterwards.
    said : str
        What was done, for the line under the figure.
    """

    after: Parts
    places: NDArray[np.intp]
    said: str


def view(of: Inside) -> None:
    """The whole view."""
    top = st.container()  # the answer stands above the controls that it depends on
    text = inside.typed(of)
    if text is None:
        return
    reading, before = text
    moved = _change(of, reading, before)
    random = _with_rows(of, before, "gaussian")
    with top:
        _answer(of, before, moved)
    _numbers(before, random, moved)
    above, below = st.container(), st.container()  # settings stand below what depends on them
    with below:
        ranked = _ranked()
    dimensions = coordinate_energy(of.weights.table.weights).order[:MOST_COLUMNS]
    if not ranked:
        dimensions = np.sort(dimensions)
    with above, page.card():
        picture = strips(
            _shown(before, moved, dimensions), reading.words, dimensions=dimensions, ranked=ranked,
            name=of.found.table.name,
        )  # fmt: skip
        figure.show(picture, key="strips", height=picture.figure.layout.height, picks=False)
    with above:
        page.provenance(of.found, "not centred", of.tokenizer.said, moved.said if moved else "")
        with page.section("All numbers"):
            _per_token(reading, before, moved)
    tables.method(
        "part_length", "length_ratio", "token_position_angle", "sum_token_cosine", "sum_moved"
    )


def _change(of: Inside, reading: Reading, before: Parts) -> Moved | None:
    """Ask what to do with the text, and do it."""
    last = len(reading.tokens) - 1
    room = of.weights.table.n_positions - len(reading.tokens)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    change = address.choice("Change", CHANGES, on=left, key="change", default="none")
    if change == "swap" and last > 0:
        one, other = right.select_slider(
            "Which two", range(last + 1), value=_two_words(reading),
            format_func=lambda at: f"{at}: {reading.words[at]}",
            key=f"pair-{hash(reading.tokens)}",
        )  # fmt: skip
        tokens = swapped(reading.tokens, one, other)
        places = np.array(swapped(range(last + 1), one, other))
        after = parts(of.weights, tokens, reading.segments)
        names = f"{reading.words[one]} and {reading.words[other]}"
        return Moved(after, places, f"{names} have changed places")
    if change == "move" and room > 0:
        by = right.slider("By how many positions", 1, room, min(8, room), key=f"by-{room}")
        after = parts(of.weights, reading.tokens, reading.segments, start=by)
        return Moved(after, np.arange(last + 1), f"the text starts at position {by}")
    if change != "none":
        why = "One token has no other to change places with." if change == "swap" else (
            "The text fills every position there is."
        )  # fmt: skip
        right.caption(why)
    return None


def _two_words(reading: Reading) -> tuple[int, int]:
    """Two places worth a swap: the first and the last word of the first text that comes once."""
    first = [
        word for word, segment in zip(reading.words, reading.segments, strict=True) if not segment
    ]
    words = [at for at, word in enumerate(first) if word.strip("␣").isalpha()]
    once = [at for at in words if first.count(first[at]) == 1]
    for places in (once, words):
        if len(places) > 1 and first[places[0]] != first[places[-1]]:
            return places[0], places[-1]
    return 0, len(reading.words) - 1


def _answer(of: Inside, before: Parts, moved: Moved | None) -> None:
    added = "a token row, a position row and a segment row" if before.segment is not None else (
        "a token row and a position row"
    )  # fmt: skip
    norm = ""
    if before.norm is not None:
        reads = " The first attention reads it after a layer norm."
        norm = " A layer norm follows." if of.weights.no_attention else reads
    if moved is None:
        turn = float(np.median(angles(before.cosines("token", "position"))))
        apart = "nearly at right angles" if abs(turn - 90) <= 10 else f"at {turn:.0f}°"
        page.answer(
            f"For each token the model adds {added}.",
            f"Here token and position rows stand {apart}, median over the text.{norm}",
        )
        return
    turned = _turned(before, moved)
    still = int((turned < 0.01).sum())
    page.answer(
        f"Token rows travel with their token; position rows stay where they are. "
        f"{count(len(turned) - still)} of {count(len(turned))} sums turned.",
        f"The sum of a token that moved turned by {decimal(_middle(turned), digits=0)}°: that much "
        f"of the input is place.",
    )


def _numbers(before: Parts, random: Parts, moved: Moved | None) -> None:
    ratio = float(np.median(before.norms("position") / np.maximum(before.norms("token"), 1e-30)))
    angle, null_angle = (
        float(np.median(angles(text.cosines("token", "position")))) for text in (before, random)
    )
    kept, null_kept = (float(np.median(text.cosines("sum", "token"))) for text in (before, random))
    third = Number(
        decimal(kept),
        "cosine of the sum and its token row, median",
        f"random rows of the same lengths {decimal(null_kept)}",
    )
    if moved is not None:
        third = Number(
            f"{decimal(_middle(_turned(before, moved)), digits=1)}°",
            "turn of the sums that moved, median",
            "a model without positions 0°",
        )
    page.numbers(
        Number(
            decimal(ratio, digits=2),
            "length of position over token row, median",
            "equally long rows 1",
        ),
        Number(
            f"{decimal(angle, digits=1)}°",
            "angle of token and position row, median",
            f"random rows {decimal(null_angle, digits=1)}°",
        ),
        third,
    )


def _with_rows(of: Inside, text: Parts, null: str) -> Parts:
    """The same text with a null table's rows as positions."""
    rows = NULLS[null].make(of.weights.table.weights, np.random.default_rng(0))
    return Parts(
        text.tokens, text.start, text.token, rows[: len(text.tokens)].astype(np.float64),
        text.segment, text.norm,
    )  # fmt: skip


def _shown(before: Parts, moved: Moved | None, dimensions: NDArray[np.int64]) -> dict[str, Strip]:
    """The strips of the picture: the parts, or what a change did to their sum."""
    if moved is not None:
        after = moved.after.total[moved.places]
        drawn = {
            "sum, as typed": before.total,
            "sum, changed": after,
            "difference, the same token before and after": after - before.total,
        }
        return {name: Strip(rows[:, dimensions]) for name, rows in drawn.items()}
    named = {"sum": "their sum", "token": "token row", "position": "position row",
             "segment": "segment row"}  # fmt: skip
    shown = {named[name]: Strip(rows[:, dimensions]) for name, rows in before.rows.items()}
    if before.normed is not None:
        shown["after the layer norm, on its own scale"] = Strip(
            before.normed[:, dimensions], own_scale=True
        )
    return shown


def _turned(before: Parts, moved: Moved) -> NDArray[np.float64]:
    """Angle in degrees between the sum of each token before and after."""
    return angles(cosines(before.total, moved.after.total[moved.places]))


def _middle(turned: NDArray[np.float64]) -> float:
    """Median over the tokens that moved at all."""
    found = turned[turned >= 0.01]
    return float(np.median(found)) if found.size else 0.0


def _ranked() -> bool:
    with page.section("Settings"):
        order = address.choice(
            "Order of the dimensions", {name: name for name in ("most used", "as in the model")},
            key="columns", help="Sorted, dimensions that tell positions apart most come first.",
        )  # fmt: skip
    return order == "most used"


def _per_token(reading: Reading, before: Parts, moved: Moved | None) -> None:
    names = list(before.rows)
    turned = None if moved is None else _turned(before, moved)
    head = ("token", "number", *(f"|{name}|" for name in names), "token and position",
            "sum and token", "sum and position", "turned")  # fmt: skip
    pairs = (("token", "position"), ("sum", "token"), ("sum", "position"))
    rows = [
        (
            reading.words[at],
            count(reading.tokens[at]),
            *(decimal(float(before.norms(name)[at]), digits=2) for name in names),
            *(decimal(float(before.cosines(*pair)[at])) for pair in pairs),
            ABSENT if turned is None else f"{turned[at]:.1f}°",
        )
        for at in range(len(reading.tokens))
    ]
    st.caption(literal("Lengths |…|, and cosines of two parts, token by token."))
    tables.markdown_table(head, rows)
