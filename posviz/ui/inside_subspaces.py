"""Subspaces: whether tokens and positions live in different directions of the model's space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.coordinates import coordinate_energy
from posviz.analysis.nulls import NULLS
from posviz.figures.against import against_random
from posviz.figures.energy import energy_by_dimension
from posviz.model.subspaces import HELD, Subspaces, TokenSpace, subspaces, token_space
from posviz.ui import address, figure, page, results, tables
from posviz.ui.format import count, data_size, decimal, percent
from posviz.ui.page import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from streamlit.delta_generator import DeltaGenerator

    from posviz.model.weights import Weights
    from posviz.ui.inside import Inside

SHOWN = {"projection": "Token directions", "angles": "Angles", "energy": "Dimensions"}
AT_ONCE = 4_000_000  # bytes of a token table that are read without asking
_READ = "_token_tables_read"


def view(of: Inside) -> None:
    """The whole view."""
    size = of.weights.token_bytes
    asked: set[tuple[str, str]] = st.session_state.setdefault(_READ, set())
    if size > AT_ONCE and of.key not in asked:
        page.answer(
            "Do tokens and positions live in different directions?",
            f"That takes the whole token table, {count(of.weights.n_tokens)} rows.",
        )
        label = f"Read the token table ({data_size(size)})"
        st.button(label, type="primary", key="read-tokens", on_click=asked.add, args=(of.key,))
        page.provenance(of.found)
        return
    positions = _positions(of)
    rows = of.weights.table.weights[positions]
    tokens = _tokens(*of.key, len(positions), of.weights, positions)
    told = st.container()  # what the address asks of the settings in vain, in sight
    above, below = st.container(), st.container()  # settings stand below what depends on them
    with below:
        found = subspaces(tokens, rows, k=_directions(of, told))
    with above:
        _shown(of, found, tokens, rows)
    tables.method(
        "subspace_overlap", "token_projection", "token_position_max", "principal_angles",
        "token_energy", "dimensions_for_90",
    )  # fmt: skip


def _shown(of: Inside, found: Subspaces, tokens: TokenSpace, rows: NDArray[np.float32]) -> None:
    """Everything above the settings."""
    energy = coordinate_energy(rows)
    null_energy = coordinate_energy(NULLS["gaussian"].make(rows, np.random.default_rng(0)))
    _answer(found)
    shown = address.choice("Show", SHOWN, key="spaces", default="projection")
    page.numbers(
        Number(
            percent(found.overlap),
            f"overlap of the leading {found.k} directions of both, which hold "
            f"{percent(found.held, digits=0)} of the positions",
            f"random directions {percent(found.null_overlap)}",
        ),
        Number(
            decimal(tokens.closest.cosine, digits=2),
            f"largest cosine of a token and a position (token {count(tokens.closest.token)}, "
            f"position {count(tokens.closest.position)})",
            f"random rows {decimal(abs(tokens.null_closest.cosine), digits=2)}",
        ),
        Number(
            count(found.dimensions),
            f"of {count(of.weights.d_model)} dimensions hold 90 % of what tells positions apart",
            f"random rows {count(null_energy.dimensions_for(0.9))}",
        ),
    )
    with page.card():
        if shown == "projection":
            picture = against_random(
                found.projection, found.null, limits=(0.0, 1.0), name=of.found.table.name,
                along="direction of the token table, largest first",
                quantity="share inside position's space",
            )  # fmt: skip
        elif shown == "angles":
            picture = against_random(
                found.angles, found.null_angles, limits=(0.0, 90.0), name=of.found.table.name,
                along="pair of directions, closest first", quantity="principal angle, degrees",
            )  # fmt: skip
        elif energy.cumulative is None or null_energy.cumulative is None:
            st.info("Every row of the position table is the same.")
            return
        else:
            picture = energy_by_dimension(
                energy.cumulative, nulls={"random rows": null_energy.cumulative},
                thresholds={90: found.dimensions} if found.dimensions else None,
                name=of.found.table.name,
            )  # fmt: skip
        figure.show(picture, key=f"spaces-{shown}", height=480)
    left_out = "" if len(rows) == of.weights.table.n_positions else "without special rows"
    page.provenance(
        of.found, "not centred" if shown != "energy" else "centred",
        f"all {count(of.weights.n_tokens)} token rows", left_out,
    )  # fmt: skip
    with page.section("All numbers"):
        _all_numbers(of, found, tokens)


def _answer(found: Subspaces) -> None:
    tail = max(len(found.projection) // 20, 1)
    last, middle = float(found.projection[-tail:].mean()), float(np.median(found.projection))
    random = float(found.null.mean())
    if last > 2 * random and middle < random:
        headline = "Positions live where tokens hardly do."
    elif found.overlap < 0.8 * found.null_overlap:
        headline = "Tokens and positions keep out of each other's way, more than random rows would."
    else:
        more = "more than" if found.overlap > 1.2 * found.null_overlap else "about as much as"
        headline = f"Tokens and positions share directions {more} random rows do."
    where = (
        f"Of the token table's last directions, where tokens are shortest, "
        f"{percent(last, digits=0)} lies in position's space, of its middle ones "
        f"{percent(middle, digits=0)}; of random ones {percent(random, digits=0)}."
    )
    page.answer(headline, where)


def _all_numbers(of: Inside, found: Subspaces, tokens: TokenSpace) -> None:
    even = None if found.dimensions is None else found.dimensions / of.weights.d_model
    rows = [
        ("Overlap of the subspaces", percent(found.overlap), percent(found.null_overlap)),
        (
            "Largest cosine of token and position",
            decimal(tokens.closest.cosine),
            decimal(abs(tokens.null_closest.cosine)),
        ),
        ("Dimensions for 90 %", count(found.dimensions), ""),
        ("Token energy in position's dimensions", percent(found.token_share), percent(even)),
    ]
    tables.markdown_table(("", "this model", "random"), rows)
    told = ", ".join(f"{angle:.0f}°" for angle in found.angles)
    st.caption(f"Principal angles: {told}")


def _positions(of: Inside) -> NDArray[np.intp]:
    """All positions, or those that are not special where the visitor left these out."""
    every = np.arange(of.weights.table.n_positions)
    if not page.without():
        return every
    kept = np.delete(every, [row.position for row in results.special(of.weights.table)])
    return kept if len(kept) else every


def _directions(of: Inside, told: DeltaGenerator) -> int | None:
    """How many directions of positions to look at; None for as many as hold most of the table."""
    most = min(of.weights.table.n_positions, of.weights.d_model // 2)
    with page.section("Settings"):
        chosen = address.number(
            "Directions of the position table", 0, max(most, 1), 0, key="directions", told=told,
            help=f"0: as many as hold {percent(HELD, digits=0)} of it.",
        )  # fmt: skip
    return chosen or None


@st.cache_resource(max_entries=8, show_spinner="Reading the token table …")
def _tokens(
    ref: str, fingerprint: str, rows_used: int, _weights: Weights, _positions: NDArray[np.intp]
) -> TokenSpace:
    return token_space(_weights, _positions)
