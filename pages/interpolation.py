"""The open table at another length: what each method does to it, and the new table to take home."""

import streamlit as st

from posviz.figures.curve import Behind, curve_3d
from posviz.figures.heatmap import heatmap
from posviz.figures.offsets import offset_profile
from posviz.figures.spectrum import spectrum
from posviz.interpolation import METHODS
from posviz.ui import controls, figure, page, results, stretch, tables
from posviz.ui.format import decimal
from posviz.ui.page import Number

VIEWS = {"curve": "Curve", "pairs": "All pairs", "offset": "By offset", "spectrum": "Spectrum"}

found = page.question("What happens when the table is stretched?")
table = found.table
choice = controls.stretch(table)
new = stretch.stretched(table, choice)
whole = results.analyse(table, without=False)
page.answer(*stretch.said(table, new, choice))
errors = stretch.rebuilt(table)
page.numbers(
    Number(
        decimal(errors.get(choice.method)),
        "error on hidden rows (mean row: 1)",
        f"best: {stretch.best(errors)}",
    ),
    Number(
        decimal(new.after.step_median),
        "median step from row to row",
        f"before {decimal(new.before.step_median)}",
    ),
    Number(
        decimal(new.after.toeplitz_r2),
        "Toeplitz share, not centred",
        f"before {decimal(new.before.toeplitz_r2)}",
    ),
)
view = st.segmented_control(
    "Show", list(VIEWS), default="curve", required=True, format_func=VIEWS.get,
    key="stretched", bind="query-params",
)  # fmt: skip
before, after = f"{table.n_positions:,} positions", f"{new.table.n_positions:,} positions"
if view == "curve":
    with page.card():
        picture = curve_3d(
            new.curve, whole.explained_variance_ratio, name=f"{table.name}, {after}",
            behind=Behind(whole.decomposition.scores(3), before),
        )  # fmt: skip
        figure.show(picture, key="stretched-curve", height=560)
elif view == "pairs":
    for column, shown, size in zip(st.columns(2), (table, new.table), (before, after), strict=True):
        with column, page.card(size):
            pairs = stretch.pairs(shown)
            picture = heatmap(
                pairs.values, limits=(-1, 1), n_positions=shown.n_positions, name=size
            )
            figure.show(picture, key=f"pairs-{shown is table}", height=460)
elif view == "offset":
    with page.card():
        picture = offset_profile(
            stretch.profile(new.table), nulls=stretch.profiles(table, new, choice), name=after
        )
        figure.show(picture, key="stretched-offset", height=480)
else:
    with page.card():
        if page.varies(whole):
            old = stretch.singular_values(table)
            picture = spectrum(stretch.singular_values(new.table), nulls={before: old}, name=after)
            figure.show(picture, key="stretched-spectrum", height=480)
page.provenance(
    found, f"{METHODS[choice.method].label.lower()} to {after}", stretch.kept_said(new), "all rows"
)
controls.take_home(new.table)
with page.section("All numbers"):
    tables.geometry(new.before, new.after)
    tables.rebuilt(errors)
