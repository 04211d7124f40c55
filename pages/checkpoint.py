"""What is in the open file: every tensor, which were taken for position tables, and why."""

import streamlit as st

from posviz.ui import address, inspection, opened, page, picker
from posviz.ui.format import count, counted, data_size
from posviz.ui.page import Number

found = page.question("What is in the checkpoint?", of_any_file=True)
refused = opened.refused()
facts = refused.facts if refused and refused.facts else found.facts

page.answer(*inspection.said(facts, found))
inspection.notes(facts)
shown = [
    Number(
        data_size(facts.bytes_read),
        f"read to {'find and open the table' if facts.tables else 'see what is in it'}",
        f"of {data_size(facts.size)}" if facts.size else "nothing had to be read",
    ),
    Number(
        count(len(facts.tables)),
        "position table found" if len(facts.tables) == 1 else "position tables found",
        f"among {counted(len(facts.entries), 'tensor')}",
    ),
]
if facts.tables:
    first = count(facts.tables[0].n_positions)
    shown.append(Number(first, "positions in the first table", inspection.config_length(facts)))
page.numbers(*shown)
if facts.tables:
    with page.card("Position tables, and why"):
        inspection.tables(facts, found)
with page.card("Every tensor"):
    left, right = st.columns([3, 2])
    placeholder = "part of a name, such as pos"
    wanted = address.text("Filter", key="tensor", on=left, placeholder=placeholder)
    right.selectbox(
        "Open a tensor by hand",
        [entry.name for entry in facts.by_hand],
        index=None,
        key="by_hand_here",
        placeholder=f"{counted(len(facts.by_hand), 'tensor')} with two axes",
        on_change=picker.open_by_hand,
        args=("by_hand_here",),
        disabled=not facts.by_hand,
    )
    inspection.tensors(facts, wanted)
inspection.provenance(facts)
with page.section("Settings of the model"):
    inspection.config(facts)
