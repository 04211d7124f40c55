"""What each dimension does along the positions: traces, power by period, energy by dimension."""

import streamlit as st

from posviz.figures.along import along_positions
from posviz.figures.energy import energy_by_dimension
from posviz.figures.periods import power_by_period
from posviz.figures.traces import trace_lines, trace_map
from posviz.ui import address, dimensions, figure, nulls, page, results, tables
from posviz.ui.format import count, decimal, percent, significant
from posviz.ui.page import Number

VIEWS = {
    "map": "Map", "lines": "Strongest", "power": "By period", "energy": "Energy",
    "norms": "Norms",
}  # fmt: skip

found = page.question("What does each dimension do?")
table = found.table
numbers = results.analyse(table, without=page.without())
shuffled = numbers.nulls["shuffled"]
measured = dimensions.measured(table, numbers)
page.answer(*dimensions.said(table, numbers, measured))

left, right = st.columns([1, 1])
view = address.choice("Show", VIEWS, on=left, key="traces", default="map")
order = address.choice(
    "Order", dimensions.ORDERS, on=right, key="order", default="energy", disabled=view != "map"
)
line = numbers.power[0] if numbers.power else None
page.numbers(
    Number(
        count(measured.energy.dimensions_for(0.9)),
        f"of {table.d_model:,} dimensions hold 90 % of the variance",
        f"random rows {count(measured.null_energy.dimensions_for(0.9))}",
    ),
    Number(
        percent(line.share if line else None),
        f"of the power near period {significant(line.period)}"
        if line
        else "of the power in one period",
        nulls.top_line(shuffled),
    ),
    Number(
        decimal(numbers.turning_cosine, digits=2),
        "turning cosine (1 smooth, −0.5 jitter)",
        nulls.told(shuffled, "turning_cosine", nulls.two_places),
    ),
)
facts = ["each dimension about its mean", results.rows_said(numbers)]
with page.card():
    if view == "norms":
        lengths = results.norms(table, numbers)
        picture = along_positions(
            lengths, numbers.positions, quantity="length of the row", name=table.name,
            marked=results.marked(numbers), nulls=dimensions.median_norm(numbers),
        )  # fmt: skip
        figure.show(picture, key="norms", height=480)
        facts[0] = "not centred"
    elif not page.varies(numbers):
        pass
    elif view == "map":
        drawn = dimensions.traces(table, numbers, measured, order)
        picture = trace_map(
            drawn.values, limit=drawn.limit, ranked=order == "energy", total=table.d_model,
            name=table.name,
        )  # fmt: skip
        shown = figure.show(picture, key="traces-map", height=620)
        if order == "energy":
            facts.append("dimensions that hold 99 % of the variance")
        if exact := dimensions.exact(drawn, shown.cell, first=picture.raster.first_row):
            st.caption(exact)
    elif view == "lines":
        values, which, shares = dimensions.strongest(table, numbers, measured)
        picture = trace_lines(values, which, numbers.positions, shares=shares, name=table.name)
        figure.show(picture, key="traces-lines", height=620)
    elif view == "power" and not numbers.power:
        st.info("Fewer than eight rows are too few for a period.")
    elif view == "power":
        picture = power_by_period(
            measured.power, lines=numbers.power, nulls={"shuffled rows": measured.null_power},
            name=table.name,
        )  # fmt: skip
        figure.show(picture, key="power", height=480)
        facts.append("two rows dropped at each end, Hann window")
    else:
        picture = energy_by_dimension(
            measured.energy.cumulative, nulls={"random rows": measured.null_energy.cumulative},
            thresholds=dimensions.thresholds(measured), name=table.name,
        )  # fmt: skip
        figure.show(picture, key="energy", height=480)
page.provenance(found, *facts)
with page.section("All numbers"):
    tables.power(numbers)
    tables.energy(measured.energy, measured.null_energy)
    tables.numbers(numbers, "roughness", "turning_cosine", "norms")
tables.method(
    "dimensions_for_90", "power", "turning_cosine", "coordinate_energy", "roughness", "norms"
)
