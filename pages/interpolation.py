"""The open table at another length: what each method does to it, and the new table to take home."""

import streamlit as st

from posviz.interpolation import METHODS
from posviz.ui import address, controls, finetune, page, stretch, tables, takehome
from posviz.ui.format import decimal
from posviz.ui.page import Number
from posviz.ui.stretch_views import METHOD, VIEWS, all_numbers

found = page.question("What happens when the table is stretched?")
table = found.table
choice = controls.stretch(table)
new = stretch.stretched(table, choice)
words = st.container()
labels = {key: view.label for key, view in VIEWS.items()}
view = address.choice("Show", labels, key="stretched")
moved = stretch.just_moved(table, choice)
if moved:  # the figure first: the words look at every pair
    VIEWS[view].draw(found, new, choice)
with words:
    seen = before, after = stretch.glances(table, new)
    page.answer(*stretch.said(table, new, choice, seen))
    rebuilt = stretch.rebuilding(stretch.rebuilt(table), choice)
    page.numbers(
        *([Number(*rebuilt)] if rebuilt else ()),
        Number(
            decimal(after.step_median),
            "median step from row to row",
            f"before {decimal(before.step_median)}",
        ),
        Number(
            decimal(after.toeplitz_r2),
            "Toeplitz share, not centred",
            f"before {decimal(before.toeplitz_r2)}",
        ),
    )
if not moved:  # nothing moves down while a page arrives
    VIEWS[view].draw(found, new, choice)
page.provenance(
    found,
    f"{METHODS[choice.method].label.lower()} to {new.table.n_positions:,} positions",
    stretch.kept_said(new),
    "all rows",
)
finetune.section(found, choice)
takehome.take_home(found, new.table, choice)
with page.heavy_section("All numbers") as shown:
    if shown:
        all_numbers(found, new, choice)
tables.method(*METHOD)
