"""Who looks like whom: every pair of positions, and similarity by offset."""

import streamlit as st

from posviz.analysis.metrics import METRICS
from posviz.figures.along import along_positions
from posviz.figures.offsets import offset_profile
from posviz.ui import address, figure, nulls, page, pairs, results, tables
from posviz.ui.format import decimal
from posviz.ui.page import Number

VIEWS = {"pairs": "All pairs", "offset": "By offset", "along": "Neighbours"}

found = page.question("Which positions look alike?")
table = found.table
numbers = results.analyse(table, without=page.without())
shuffled, gaussian = numbers.nulls["shuffled"], numbers.nulls["gaussian"]
page.answer_from(numbers, "similarity")

left, right = st.columns([1, 2])
view = address.choice("Show", VIEWS, on=left, key="view")
labels = {key: metric.label for key, metric in METRICS.items()}
key = address.choice("Similarity", labels, on=right, key="metric", default="cosine")
metric = METRICS[key]
cosine, toeplitz = (
    ("cosine_centred", "toeplitz_r2_centred") if metric.centred else ("cosine", "toeplitz_r2")
)
measured = numbers.cosine_centred if metric.centred else numbers.cosine
centred = "centred" if metric.centred else "not centred"
unsought = measured.min is None and numbers.rows_used > 1  # too many pairs to look at each

page.numbers(
    Number(
        decimal(measured.adjacent_mean),
        f"mean cosine of neighbours, {centred}",
        nulls.told(shuffled, f"{cosine}.adjacent_mean"),
    ),
    Number(
        decimal(getattr(numbers, toeplitz)),
        f"Toeplitz share, {centred}",
        nulls.told(shuffled, toeplitz),
    ),
    Number(  # shuffling moves pairs about, and leaves the smallest what it is
        decimal(measured.min),
        f"smallest cosine, {centred}",
        "not sought among so many rows" if unsought else nulls.told(gaussian, f"{cosine}.min"),
    ),
)
facts = [f"{metric.label.lower()}, {centred}", results.rows_said(numbers)]
with page.card(width=page.SQUARE if view == "pairs" else None):
    if view == "pairs":
        pairs.show(table, numbers, key)
        facts.append(pairs.pooled(table, numbers, key))
    elif view == "offset":
        profile = results.by_offset(table, numbers, key)
        picture = offset_profile(
            profile, nulls=nulls.offsets(numbers, key), label=metric.label.lower(),
            name=table.name,
        )  # fmt: skip
        figure.show(picture, key="by-offset", height=480)
    elif numbers.rows_used < 2:
        st.info("One row has no neighbour.")
    else:
        values = results.neighbours(table, numbers, key)
        picture = along_positions(
            values, numbers.positions[:-1], quantity=f"{metric.label.lower()} with the next",
            marked=results.marked(numbers), nulls=nulls.neighbours(numbers, key),
            name=table.name,
        )  # fmt: skip
        figure.show(picture, key="neighbours", height=480)
page.provenance(found, *facts)
with page.section("All numbers"):
    tables.numbers(numbers, "cosine", "cosine_centred", "toeplitz")
tables.method("cosine", "toeplitz_r2", "cosine_centred", "toeplitz_r2_centred")
