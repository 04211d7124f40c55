"""The positions as a curve in two or three principal components, and how it turns."""

import streamlit as st

from posviz.figures.along import along_positions
from posviz.figures.curve import curve_2d, curve_3d
from posviz.ui import address, figure, nulls, page, results, tables
from posviz.ui.format import counted, decimal, percent
from posviz.ui.page import Number

VIEWS = {"2-D": 2, "3-D": 3, "Phase": 2}
COMPONENTS = 10  # that may be drawn; one that a table does not have is 0 everywhere

found = page.question("Do the positions lie on a curve?")
table = found.table
numbers = results.analyse(table, without=page.without())
shuffled = numbers.nulls["shuffled"]
page.answer_from(numbers, "curve")

left, _ = st.columns([2, 3])
view = address.choice(
    "Components", {name: name for name in VIEWS}, on=left, key="dim", default="3-D"
)
axes: tuple[int, ...] = (0, 1)
told = st.container()  # what the address asks of the settings in vain, in sight
with page.section("Settings"):
    if view == "Phase":
        st.caption("The phase is the angle in the plane of components 1 and 2.")
    else:
        places = zip("xyz"[: VIEWS[view]], st.columns(3), strict=False)
        axes = tuple(
            address.number(
                f"{axis} axis: component", 1, COMPONENTS, i + 1, key=f"pc_{axis}",
                on=column, told=told,
            )
            - 1
            for i, (axis, column) in enumerate(places)
        )  # fmt: skip
    special = address.switch("Draw special rows too", key="special", told=told)

page.numbers(
    Number(
        percent(results.share_held(numbers, axes)),
        f"of the variance in the {counted(len(set(axes)), 'component')} drawn",
        nulls.held(numbers.nulls["gaussian"], axes),
    ),
    Number(
        decimal(numbers.roughness),
        "roughness (0 smooth, 2 no order)",
        nulls.told(shuffled, "roughness", nulls.two_places),
    ),
    Number(
        decimal(numbers.turning_cosine, digits=2),
        "turning cosine (1 straight, −0.5 jitter)",
        nulls.told(shuffled, "turning_cosine", nulls.two_places),
    ),
)
drawn = results.ordinary(numbers, special=special)
positions = numbers.positions[drawn]
with page.card():
    if view == "Phase" and (turned := results.turned(table, numbers)):
        picture = along_positions(
            turned.turns[drawn], positions, quantity="turns in components 1 and 2",
            nulls={"steady pitch": turned.steady[drawn]}, name=table.name,
        )  # fmt: skip
        figure.show(picture, key="curve-phase", height=480)
    elif view == "Phase":
        st.info("Fewer than two components, or eight rows: nothing turns.")
    else:
        draw = curve_3d if view == "3-D" else curve_2d
        picture = draw(
            numbers.decomposition.scores(COMPONENTS)[drawn], numbers.explained_variance_ratio,
            positions, components=axes, name=table.name,
        )  # fmt: skip
        figure.show(picture, key=f"curve-{VIEWS[view]}d", height=620)
page.provenance(found, "centred", results.rows_said(numbers), page.not_drawn(numbers, drawn))
with page.section("All numbers"):
    tables.helix(numbers, results.fit(table, numbers))
    tables.components(numbers)
    tables.power(numbers)
    tables.numbers(numbers, "roughness", "turning_cosine")
tables.method("explained_variance_ratio", "roughness", "turning_cosine", "helix", "helix_fit")
