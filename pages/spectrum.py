"""How many dimensions the table needs: singular values, shares, four effective ranks."""

import streamlit as st

from posviz.figures.spectrum import cumulative_share, spectrum
from posviz.ui import address, figure, nulls, page, results, tables
from posviz.ui.format import count, decimal, percent, significant
from posviz.ui.page import Number

VIEWS = {"values": "Singular values", "share": "Cumulative share"}

found = page.question("How many dimensions does the table need?")
table = found.table
numbers = results.analyse(table, without=page.without())
page.answer_from(numbers, "spectrum")

left, middle, right = st.columns([2, 2, 2], vertical_alignment="bottom")
view = address.choice("Show", VIEWS, on=left, key="spectrum", default="values")
log_x = address.switch("Logarithmic component axis", value=True, on=middle, key="logx")
centred = address.switch(
    "Centred", value=True, on=right, key="centred",
    help="Take the mean row away first, as PCA does. Otherwise the first component is mostly it.",
)  # fmt: skip
spectra = results.spectra(table, numbers, centred=centred)
own = results.ranked(spectra.own)
random = [results.ranked(values) for values in spectra.gaussian]
what = "variance" if centred else "squared size"
page.numbers(
    Number(
        count(own.for_95),
        f"components hold 95 % of the {what}",
        nulls.among([one.for_95 for one in random], count),
    ),
    Number(
        percent(own.three),
        f"of the {what} in three components",
        nulls.among([one.three for one in random], percent),
    ),
    Number(
        decimal(own.participation, digits=2),
        "effective rank (participation ratio)",
        nulls.among([one.participation for one in random], significant),
    ),
)
with page.card():
    if page.varies(numbers):
        if view == "values":
            picture = spectrum(
                spectra.own,
                nulls=nulls.spectra(spectra),
                holds=spectra.holds(),
                log_x=log_x,
                name=table.name,
            )
        else:
            picture = cumulative_share(
                own.cumulative,
                nulls=nulls.shares(spectra),
                thresholds=own.thresholds,
                log_x=log_x,
                name=table.name,
            )
        figure.show(picture, key=f"spectrum-{view}", height=480)
page.provenance(found, "centred" if centred else "not centred", results.rows_said(numbers))
if not any("shuffling the rows" in sentence.text for sentence in numbers.verdict):
    st.caption("Shuffling the rows changes none of these numbers: low rank is not order.")
with page.section("All numbers"):
    tables.components(numbers)
    tables.numbers(numbers, "components", "effective_rank")
tables.method("components", "effective_rank", "explained_variance_ratio", "singular_values")
