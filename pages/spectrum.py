"""How many dimensions the table needs: singular values, shares, four effective ranks."""

import numpy as np
import streamlit as st

from posviz.figures.spectrum import cumulative_share, spectrum
from posviz.ui import figure, page, results, tables
from posviz.ui.format import count, decimal, percent
from posviz.ui.page import Number

VIEWS = {"values": "Singular values", "share": "Cumulative share"}

found = page.question("How many dimensions does the table need?")
table = found.table
numbers = results.analyse(table, without=page.without())
gaussian = numbers.nulls["gaussian"]
page.answer_from(numbers, "spectrum")

left, middle, _ = st.columns([2, 2, 2], vertical_alignment="bottom")
view = left.segmented_control(
    "Show", list(VIEWS), default="values", required=True, format_func=VIEWS.get,
    key="spectrum", bind="query-params",
)  # fmt: skip
log_x = middle.toggle("Logarithmic component axis", value=True, key="logx", bind="query-params")
page.numbers(
    Number(
        count(numbers.components["95"]),
        "components hold 95 % of the variance",
        f"random rows {count(gaussian.scalars['components.95'])}",
    ),
    Number(
        percent(results.share_held(numbers)),
        "of the variance in three components",
        f"random rows {percent(results.share_held(gaussian))}",
    ),
    Number(
        decimal(numbers.effective_rank.participation, digits=2),
        "effective rank (participation ratio)",
        f"random rows {decimal(gaussian.scalars['effective_rank.participation'], digits=1)}",
    ),
)
with page.card():
    if page.varies(numbers):
        if view == "values":
            picture = spectrum(
                numbers.singular_values,
                nulls=results.null_spectra(numbers),
                holds=results.holds(numbers),
                log_x=log_x,
                name=table.name,
            )
        else:
            picture = cumulative_share(
                np.cumsum(numbers.explained_variance_ratio),
                nulls=results.null_shares(numbers),
                thresholds={int(k): v for k, v in numbers.components.items()},
                log_x=log_x,
                name=table.name,
            )
        figure.show(picture, key=f"spectrum-{view}", height=480)
page.provenance(found, "centred", results.rows_said(numbers))
st.caption("Shuffling the rows changes none of these numbers: low rank is not order.")
with page.section("All numbers"):
    tables.components(numbers)
    tables.numbers(numbers, "components", "effective_rank")
tables.method("components.95", "effective_rank.participation", "explained_variance_ratio")
