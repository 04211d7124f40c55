"""The open table at a glance: its curve, who looks like whom, and how many dimensions it needs."""

import streamlit as st

from posviz.figures.curve import curve_3d
from posviz.figures.heatmap import heatmap
from posviz.figures.spectrum import spectrum
from posviz.ui import figure, nulls, page, results, tables
from posviz.ui.format import decimal, percent
from posviz.ui.page import Number

found = page.question("What does this table look like?")
table = found.table
numbers = results.analyse(table, without=page.without())
gaussian, shuffled = numbers.nulls["gaussian"], numbers.nulls["shuffled"]

headline, *sentences = numbers.verdict
page.answer(headline.text, *(sentence.text for sentence in sentences))
page.numbers(
    Number(
        percent(results.share_held(numbers)),
        "of the variance in three components",
        nulls.held(gaussian),
    ),
    Number(
        decimal(numbers.cosine.adjacent_mean),
        "mean cosine of neighbours, not centred",
        nulls.told(shuffled, "cosine.adjacent_mean"),
    ),
    page.usable(numbers),
)
wide, narrow = st.columns([3, 2])
with wide, page.card("The curve of positions"):
    drawn = results.ordinary(numbers, special=False)
    picture = curve_3d(
        numbers.decomposition.scores(3)[drawn],
        numbers.explained_variance_ratio,
        numbers.positions[drawn],
        name=table.name,
    )
    figure.show(picture, key="overview-curve", height=578)
with narrow:
    with page.card("Which positions look alike: cosine, not centred"):
        pairs = results.pairs(table, numbers)
        picture = heatmap(
            pairs.values, limits=(-1, 1), n_positions=table.n_positions, name=table.name
        )
        figure.show(picture, key="overview-pairs", height=270)
    with page.card("How many dimensions it needs"):
        if page.varies(numbers):
            spectra = results.spectra(table, numbers)
            beside = nulls.spectra(spectra)
            picture = spectrum(
                numbers.singular_values,
                nulls={name: beside[name] for name in beside if name != "sinusoidal"},
                holds=spectra.holds(),
                name=table.name,
            )
            figure.show(picture, key="overview-spectrum", height=220)
page.provenance(
    found,
    "curve and spectrum centred, cosine not",
    results.rows_said(numbers),
    page.not_drawn(numbers, drawn),
)
with page.section("What the numbers say"):
    page.linked(numbers.verdict)
with page.heavy_section("All numbers") as opened:
    if opened:
        tables.special(numbers)
        with st.spinner("Probing the rows"):
            tables.order(results.order(table, numbers))
        tables.numbers(numbers)
tables.method(
    "explained_variance_ratio", "usable_length", "special_rows", *tables.ALONE, *tables.ORDER
)
