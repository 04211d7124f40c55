"""Two tables side by side: aligned curves, spectra, offsets, and where their cosines differ."""

import streamlit as st

from posviz.figures.curve import Behind, curve_3d
from posviz.figures.heatmap import heatmap
from posviz.figures.offsets import offset_profile
from posviz.figures.spectrum import spectrum
from posviz.ui import address, beside, figure, nulls, page, tables
from posviz.ui.format import decimal, literal
from posviz.ui.page import Number

VIEWS = {
    "curves": "Curves", "spectra": "Spectra", "offset": "By offset", "difference": "Difference",
}  # fmt: skip

found = page.question("How do two tables differ?")
left, right = st.columns([2, 3], vertical_alignment="bottom")
with left:
    other = beside.pick(found)
view = address.choice("Show", VIEWS, on=right, key="compared", default="curves")
table = found.table
of = beside.compared(table, other.table, without=page.without())
names = beside.names(found, other)
page.answer(*beside.said(of, names))
page.numbers(
    Number(
        decimal(of.cka),
        "CKA (1: the same shape)",
        f"shuffled rows up to {decimal(of.cka_null)}",
    ),
    Number(
        decimal(of.procrustes),
        "Procrustes residual (0: the same shape)",
        f"shuffled rows from {decimal(of.procrustes_null)}",
    ),
    Number(
        decimal(of.cosine_agreement),
        "agreement of cosines (1: equal maps)",
        f"shuffled rows up to {decimal(of.cosine_agreement_null)}",
    ),
)
facts = []
with page.card(width=page.SQUARE if view == "difference" else None):
    if of.cka is None and view in ("curves", "spectra"):
        st.info("One of the tables does not vary from position to position.")
    elif view == "curves":
        drawn = beside.drawn(of, table, other.table)
        picture = curve_3d(
            of.curve_first[drawn], of.first.explained_variance_ratio, of.positions[drawn],
            behind=Behind(of.curve_second[drawn], names[1]), name=names[0],
        )  # fmt: skip
        figure.show(picture, key="compared-curves", height=600)
        facts += ["the second rotated and scaled onto the first", page.not_drawn(of, drawn)]
    elif view == "spectra":
        picture = spectrum(
            of.first.singular_values, name=names[0],
            nulls={names[1]: nulls.scaled(of.second.singular_values, of.first.singular_values)},
        )  # fmt: skip
        figure.show(picture, key="compared-spectra", height=480)
        facts.append("the second at the total variance of the first")
    elif view == "offset":
        picture = offset_profile(
            beside.profile(of.first), nulls={names[1]: of.second.cosine.by_offset}, name=names[0]
        )
        figure.show(picture, key="compared-offset", height=480)
        facts.append("not centred")
    else:
        pairs = beside.difference(table, other.table, of)
        limit = max(-pairs.low, pairs.high, 0.01)
        picture = heatmap(
            pairs.values, limits=(-limit, limit), label="difference",
            n_positions=min(table.n_positions, other.table.n_positions),
            name=f"{names[1]} less {names[0]}",
        )  # fmt: skip
        st.caption(f"Orange: more alike in {literal(names[1])}. Blue: in {literal(names[0])}.")
        figure.show(picture, key="compared-difference", height=600)
        facts.append("difference of cosines, not centred")
page.provenance(
    found,
    f"with {other.table.provenance.line()}",
    beside.rows_said(of, table, other.table),
    *facts,
)
with page.section("All numbers"):
    tables.comparison(of)
    tables.side_by_side(of, names)
tables.method("cka", "procrustes", "cosine_agreement", "principal_angles", "helix", *tables.ALONE)
