"""The open table at another length: what each method does to it, and the new table to take home."""

from posviz.interpolation import METHODS
from posviz.ui import address, controls, finetune, page, stretch, tables, takehome
from posviz.ui.format import decimal
from posviz.ui.page import Number
from posviz.ui.stretch_views import METHOD, VIEWS, all_numbers

found = page.question("What happens when the table is stretched?")
table = found.table
choice = controls.stretch(table)
new = stretch.stretched(table, choice)
page.answer(*stretch.said(table, new, choice))
rebuilt = stretch.rebuilding(stretch.rebuilt(table), choice)
page.numbers(
    *([Number(*rebuilt)] if rebuilt else ()),
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
labels = {key: view.label for key, view in VIEWS.items()}
view = address.choice("Show", labels, key="stretched")
VIEWS[view].draw(found, new, choice)
after = f"{new.table.n_positions:,} positions"
page.provenance(
    found, f"{METHODS[choice.method].label.lower()} to {after}", stretch.kept_said(new), "all rows"
)
finetune.section(found, choice)
takehome.take_home(found, new.table, choice)
with page.heavy_section("All numbers") as shown:
    if shown:
        all_numbers(found, new, choice)
tables.method(*METHOD)
