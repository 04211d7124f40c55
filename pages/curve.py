"""The positions as a curve in two or three principal components."""

import streamlit as st

from posviz.figures.curve import curve_2d, curve_3d
from posviz.ui import figure, page, results, tables
from posviz.ui.format import decimal, percent
from posviz.ui.page import Number

found = page.question("Do the positions lie on a curve?")
table = found.table
numbers = results.analyse(table, without=page.without())
gaussian, shuffled = numbers.nulls["gaussian"], numbers.nulls["shuffled"]
decomposition = numbers.decomposition
page.answer_from(numbers, "curve")

view, _ = st.columns([2, 3])
dimensions = view.segmented_control(
    "Components",
    [2, 3],
    default=3,
    required=True,
    format_func=lambda d: f"{d}-D",
    key="dim",
    bind="query-params",
)
with page.section("Settings"):
    most = min(max(decomposition.rank, dimensions), 10)
    columns = st.columns(3)
    axes = tuple(
        column.number_input(
            f"{axis} axis: component", 1, most, i + 1, key=f"pc_{axis}", bind="query-params"
        )
        - 1
        for i, (axis, column) in enumerate(zip("xyz"[:dimensions], columns, strict=False))
    )
    special = st.toggle("Draw special rows too", key="special", bind="query-params")

page.numbers(
    Number(
        percent(results.share_held(numbers, axes)),
        f"of the variance in the {dimensions} components drawn",
        f"random rows {percent(results.share_held(gaussian, axes))}",
    ),
    Number(
        decimal(numbers.roughness),
        "roughness (0 smooth, 2 no order)",
        f"shuffled rows {decimal(shuffled.scalars['roughness'], digits=2)}",
    ),
    Number(
        decimal(numbers.turning_cosine, digits=2),
        "turning cosine (1 straight, −0.5 jitter)",
        f"shuffled rows {decimal(shuffled.scalars['turning_cosine'], digits=2)}",
    ),
)
drawn = results.ordinary(numbers, special=special)
draw = curve_3d if dimensions == 3 else curve_2d
picture = draw(
    decomposition.scores(most)[drawn],
    numbers.explained_variance_ratio,
    numbers.positions[drawn],
    components=axes,
    name=table.name,
)
with page.card():
    figure.show(picture, key=f"curve-{dimensions}d", height=620)
page.provenance(found, "centred", results.rows_said(numbers), page.not_drawn(numbers, drawn))
with page.section("All numbers"):
    tables.helix(numbers)
    tables.components(numbers)
    tables.power(numbers)
    tables.numbers(numbers, "roughness", "turning_cosine")
tables.method("explained_variance_ratio", "roughness", "turning_cosine", "helix.turns")
