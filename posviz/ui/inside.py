"""What all views of the Inside page share: the open model's weights, its tokenizer, the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.model.embedding import Parts, parts
from posviz.model.opening import open_weights
from posviz.model.tokens import MOST_TEXT, Reading, Tokenizer, open_tokenizer
from posviz.ui import address
from posviz.ui.access import visitor_access
from posviz.ui.format import literal
from posviz.ui.kept import SECONDS
from posviz.ui.picker import DEMOS, TABLE

if TYPE_CHECKING:
    from posviz.model.weights import Weights
    from posviz.sources import Access
    from posviz.ui.opened import Opened

MODELS = 8  # whose weights stay at hand; what is kept of each is what was read
FIRST, SECOND = "text", "second"
_EXAMPLE = "_inside_example"  # the example that stands in the boxes, if the visitor left it


@dataclass(frozen=True, eq=False)
class Inside:
    """An open model, and how it reads.

    Parameters
    ----------
    found : Opened
        The open table.
    weights : Weights
    tokenizer : Tokenizer
    """

    found: Opened
    weights: Weights
    tokenizer: Tokenizer

    @property
    def key(self) -> tuple[str, str]:
        """What tells this model from others in a cache: the weights lie beside this table."""
        return self.found.ref, self.found.table.fingerprint


def model(found: Opened) -> Inside | None:
    """The model of the open table; None, with the reason on the page, where there is none."""
    of_run = found.ref.startswith("run:")  # its snapshots have the names of steps
    parameter = None if of_run else found.table.provenance.parameter
    access = visitor_access()
    try:
        weights, tokenizer = _model(
            found.ref, parameter, found.table.fingerprint, access.token, access
        )
    except PosvizError as error:
        st.info(literal(str(error)), icon=":material/info:")
        with st.container(horizontal=True):
            for demo in DEMOS:
                st.button(f"Open {literal(demo)}", key=f"open-{demo}", on_click=_open, args=(demo,))
        return None
    return Inside(found, weights, tokenizer)


def typed(of: Inside) -> tuple[Reading, Parts] | None:
    """Boxes for the text with their example, and the rows of what stands in them.

    None, with the reason on the page, where that cannot be read.
    """
    _fill(of)
    tokenizer = of.tokenizer
    boxes = st.columns([3, 3, 1] if tokenizer.pairs else [6, 1], vertical_alignment="bottom")
    first = address.text(
        "Text", key=FIRST, on=boxes[0], most=MOST_TEXT, help=literal(tokenizer.said)
    )
    second = ""
    if tokenizer.pairs:
        second = address.text(
            "Second text", key=SECOND, on=boxes[1], most=MOST_TEXT,
            help="It gets the row of the other segment.",
        )  # fmt: skip
    boxes[-1].button("Example", on_click=_take_example, args=(tokenizer.example,), width="stretch")
    try:
        reading = tokenizer.read(first, second)
        return reading, parts(of.weights, reading.tokens, reading.segments)
    except PosvizError as error:
        st.info(literal(str(error)), icon=":material/info:")
        return None


def _fill(of: Inside) -> None:
    """Put the model's example into boxes that are new, or hold another model's example."""
    session = st.session_state
    example = of.tokenizer.example
    for key, text, before in zip(
        (FIRST, SECOND), example, session.get(_EXAMPLE, ("", "")), strict=True
    ):
        held = session.get(key)
        asked = st.query_params.get(key) if held is None else None
        if (held is None and asked is None) or (held == before and session.get(_EXAMPLE)):
            session[key] = text
    session[_EXAMPLE] = example


def _take_example(example: tuple[str, str]) -> None:
    st.session_state[FIRST], st.session_state[SECOND] = example


def _open(ref: str) -> None:
    st.session_state[TABLE] = ref


@st.cache_resource(max_entries=MODELS, ttl=SECONDS, show_spinner="Opening the model …")
def _model(
    ref: str, parameter: str | None, fingerprint: str, token: str | bool, _access: Access
) -> tuple[Weights, Tokenizer]:
    weights = open_weights(ref, parameter=parameter, access=_access)
    return weights, open_tokenizer(weights)
