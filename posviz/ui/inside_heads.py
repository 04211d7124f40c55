"""Heads: where each would look from position alone, and what a real score is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.nulls import NULLS
from posviz.figures.heads import attention_by_offset, head_strips, pattern_map
from posviz.figures.panels import panels
from posviz.model.attention import PARTS, Split, split_scores
from posviz.model.embedding import Parts
from posviz.model.heads import KINDS, MOST_POSITIONS, HeadProfile, head_pattern, profile_heads
from posviz.ui import address, figure, inside, page, tables
from posviz.ui.format import decimal, literal, percent
from posviz.ui.page import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from streamlit.delta_generator import DeltaGenerator

    from posviz.model.weights import Weights
    from posviz.ui.inside import Inside

SHOWN = {
    "all": "All heads",
    "pattern": "One head",
    "offset": "By offset",
    "score": "A text's score",
}
FAR = 32  # offsets drawn on each side
LAYER, HEAD = "layer", "head"
_LONGEST = 64  # tokens whose scores are drawn


def view(of: Inside) -> None:
    """The whole view."""
    if of.weights.no_attention:
        st.info(literal(of.weights.no_attention), icon=":material/info:")
        page.provenance(of.found)
        return
    top = st.container()  # the answer stands above the controls that it depends on
    left, middle, right = st.columns([1, 2, 3], vertical_alignment="bottom")
    layer = _layer(of, left)
    heads = _profiles(*of.key, layer, of.weights)
    chosen = _head(heads, middle)
    shown = address.choice("Show", SHOWN, on=right, key="heads", default="all")
    facts = [f"layer {layer}", *_limits(of, layer, shown)]
    if shown == "score":
        _score(of, layer, chosen, facts, top)
    else:
        with top:
            _answer(layer, heads, chosen)
        _numbers(heads, chosen)
        with page.card():
            _draw(of, shown, heads, chosen)
        page.provenance(of.found, *facts)
        with page.section("All numbers"):
            _every_head(heads)
    tables.method("head_attention", "head_concentration", "head_toeplitz", "score_share")
    with page.section("What the names mean"):
        tables.markdown_table(
            ("name", "rule"), [(kind.label, kind.rule) for kind in KINDS.values()], right=()
        )


def _layer(of: Inside, column: DeltaGenerator) -> int:
    layers = {layer: str(layer) for layer in range(of.weights.n_layers)}
    return address.menu("Layer", layers, key=LAYER, on=column)


def _head(heads: list[HeadProfile], column: DeltaGenerator) -> HeadProfile:
    """The chosen head; the most positional first."""
    by_number = {head.number: head for head in heads}
    names = {head.number: head.name for head in heads}
    return by_number[address.menu("Head, most positional first", names, key=HEAD, on=column)]


def _limits(of: Inside, layer: int, shown: str) -> list[str]:
    """What the numbers leave out, for the line under the figure."""
    said = ["position alone: token and segment rows are zero, biases stay"]
    if shown == "score":
        said = [
            "who asks → who answers",
            "each row about its mean, which is all the softmax sees",
        ]
    elif layer:
        said.append("as if the blocks before had added nothing")
    if of.weights.table.n_positions > MOST_POSITIONS and shown != "score":
        said.append(f"the first {MOST_POSITIONS:,} positions")
    return said


def _answer(layer: int, heads: list[HeadProfile], chosen: HeadProfile) -> None:
    named: dict[str, int] = {}
    for head in heads:
        named[head.label] = named.get(head.label, 0) + 1
    told = ", ".join(f"{many} {label}" for label, many in named.items())
    later = (
        " Real rows of later layers carry more than position, so this is a limit."
        if layer
        else " This is what the model reads when every token row is zero."
    )
    page.answer(
        f"From position alone, the {len(heads)} heads of layer {layer} are: {told}.",
        f"Head {chosen.number} gives {percent(_most(chosen)[1], digits=0)} of its attention to "
        f"offset "
        f"{decimal(_most(chosen)[0], digits=0)}.{later}",
    )


def _most(head: HeadProfile) -> tuple[int, float]:
    at = int(head.offsets.mean.argmax())
    return int(head.offsets.offsets[at]), float(head.offsets.mean[at])


def _numbers(heads: list[HeadProfile], chosen: HeadProfile) -> None:
    middle = float(np.median([head.concentration for head in heads]))
    null = float(np.median([head.null_concentration for head in heads]))
    page.numbers(
        Number(
            percent(chosen.concentration, digits=0),
            f"positional, head {chosen.number}",
            f"random rows {percent(chosen.null_concentration, digits=0)}",
            help="100 %: position alone picks one place. 0 %: it says nothing.",
        ),
        Number(
            percent(chosen.toeplitz, digits=0),
            "of its scores depend on distance alone",
            f"random rows {percent(chosen.null_toeplitz, digits=0)}",
        ),
        Number(
            percent(middle, digits=0),
            "positional, median over the heads of the layer",
            f"random rows {percent(null, digits=0)}",
        ),
    )


def _draw(of: Inside, shown: str, heads: list[HeadProfile], chosen: HeadProfile) -> None:
    if shown == "all":
        near = np.abs(chosen.offsets.offsets) <= FAR
        picture = head_strips(
            np.stack([head.offsets.mean[near] for head in heads]), chosen.offsets.offsets[near],
            [head.name for head in heads], name=f"layer {chosen.layer}",
        )  # fmt: skip
        cell = figure.show(picture, key="head-strips", height=120 + 26 * len(heads)).cell
        if cell and 0 <= cell[0] < len(heads):
            head = heads[cell[0]]
            value = decimal(head.offsets.at(cell[1]), digits=6)
            text, button = st.columns([3, 1], vertical_alignment="center")
            text.caption(f"{head.name}, offset {cell[1]}: attention {value}")
            button.button("Open this head", on_click=_open, args=(head.number,))
    elif shown == "pattern":
        pattern = _pattern(*of.key, chosen.layer, chosen.number, of.weights)
        picture = pattern_map(pattern, causal=of.weights.is_causal, name=chosen.name)
        cell = figure.show(picture, key="head-pattern", height=640).cell
        if cell and max(cell) < len(pattern) and min(cell) >= 0:
            value = decimal(float(pattern[cell]), digits=6)
            st.caption(f"Position {cell[0]} looks at {cell[1]}: attention {value}")
    else:
        offsets, null = chosen.offsets, chosen.null_offsets
        near = np.abs(offsets.offsets) <= FAR
        picture = attention_by_offset(
            offsets.offsets[near], offsets.mean[near], offsets.std[near],
            nulls={"random rows": null.mean[near]}, name=chosen.name,
        )  # fmt: skip
        figure.show(picture, key="head-offsets", height=480)


def _open(number: int) -> None:
    st.session_state[HEAD] = number
    st.session_state["heads"] = "pattern"


def _score(
    of: Inside, layer: int, chosen: HeadProfile, facts: list[str], top: DeltaGenerator
) -> None:
    """A real score of the first layer in parts that add up to the model's own."""
    if layer:
        st.info(
            "Only the first layer reads the sum itself; later ones read rows that the blocks "
            "before have changed. Choose layer 0 to split a score."
        )
        page.provenance(of.found)
        return
    text = inside.typed(of)
    if text is None:
        return
    reading, before = text
    if len(reading.tokens) > _LONGEST:
        st.info(f"The scores of at most {_LONGEST} tokens are drawn; these are more. Type less.")
        return
    split = split_scores(before, of.weights.head(0, chosen.number), causal=of.weights.is_causal)
    shares, null = split.shares(), _null_shares(of, before, chosen)
    with top:
        _answer_score(chosen, shares)
    if shares is not None:
        page.numbers(
            *(
                Number(
                    percent(shares[name], digits=0),
                    f"of the score: {PARTS[name]}",
                    f"random rows {percent(null.get(name), digits=0)}",
                )
                for name in ("position-position", "token-token", "token-position")
            )
        )
    with page.card():
        picture = panels(_maps(split), reading.words, name=of.found.table.name)
        figure.show(picture, key="score-parts", height=620, picks=False)
    page.provenance(of.found, *facts, of.tokenizer.said)
    with page.section("All numbers"):
        rows = [
            (PARTS[name], percent(share), percent(null.get(name)))
            for name, share in (shares or {}).items()
        ]
        tables.markdown_table(("Share of the score", "this text", "random rows"), rows)


def _answer_score(chosen: HeadProfile, shares: dict[str, float] | None) -> None:
    if shares is None:
        page.answer("One token has nothing to choose from.", "Type more than one.")
        return
    most = max(shares, key=lambda name: shares[name])
    page.answer(
        f"{percent(shares[most], digits=0)} of what tells one token from another for head "
        f"{chosen.number} is this: {PARTS[most]}.",
        "The parts add up to the score that the model itself computes.",
    )


def _maps(split: Split) -> dict[str, NDArray[np.float64]]:
    """Each part and the whole, about row means, unseen pairs left out."""
    titles = {name: name.replace("-", "\n→ ") for name in split.parts}
    titles |= {"segment": "segments", "bias": "biases"}
    whole = {titles[name]: part for name, part in split.parts.items()}
    whole["the whole\nscore"] = split.total
    return {name: np.where(split.seen, split.varying(part), np.nan) for name, part in whole.items()}


def _null_shares(of: Inside, text: Parts, chosen: HeadProfile) -> dict[str, float]:
    """The same shares with random rows of the same lengths as positions, median of a few draws."""
    head, rng = of.weights.head(0, chosen.number), np.random.default_rng(0)
    drawn: list[dict[str, float]] = []
    for _ in range(5):
        position = NULLS["gaussian"].make(text.position, rng).astype(np.float64)
        random = Parts(text.tokens, text.start, text.token, position, text.segment, text.norm)
        shares = split_scores(random, head, causal=of.weights.is_causal).shares()
        drawn += [shares] if shares else []
    return {
        name: float(np.median([shares[name] for shares in drawn])) for name in (drawn or [{}])[0]
    }


def _every_head(heads: list[HeadProfile]) -> None:
    rows = [
        (
            head.name,
            percent(head.concentration),
            percent(head.null_concentration),
            percent(head.toeplitz),
            percent(head.null_toeplitz),
            *(percent(head.offsets.at(offset)) for offset in (-1, 0, 1)),
        )
        for head in heads
    ]
    head = ("head", "How positional a head is", "random rows", "Toeplitz share of the scores",
            "random rows", "one before", "itself", "one after")  # fmt: skip
    tables.markdown_table(head, rows)


@st.cache_resource(max_entries=32, show_spinner="Reading the heads of this layer …")
def _profiles(ref: str, fingerprint: str, layer: int, _weights: Weights) -> list[HeadProfile]:
    return profile_heads(_weights, layer)


@st.cache_resource(max_entries=8, show_spinner=False)
def _pattern(
    ref: str, fingerprint: str, layer: int, number: int, _weights: Weights
) -> NDArray[np.float32]:
    return head_pattern(_weights, layer, number).astype(np.float32)
