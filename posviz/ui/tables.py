"""The sections *All numbers* and *Method*: every number with its nulls, and what it means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.definitions import DEFINITIONS, Values
from posviz.analysis.knowledge import Order
from posviz.interpolation import METHODS, Geometry
from posviz.ui import nulls, page, results
from posviz.ui.format import ABSENT, count, counted, decimal, literal, percent, significant

if TYPE_CHECKING:
    from posviz.analysis.compare import Comparison
    from posviz.analysis.coordinates import CoordinateEnergy
    from posviz.analysis.summary import Analysis
    from posviz.analysis.waves import HelixFit

CENTRED = {True: "centred", False: "not centred", None: ""}
UNCHANGED = "unchanged"
# Groups of DEFINITIONS: the numbers of a table alone, and what its rows know of their order.
ALONE = (
    "components",
    "effective_rank",
    "norms",
    "cosine",
    "cosine_centred",
    "toeplitz_r2",
    "toeplitz_r2_centred",
    "roughness",
    "turning_cosine",
)
ORDER = tuple(Order.__dataclass_fields__)


def numbers(of: Analysis, *prefixes: str) -> None:
    """Every number whose dotted name starts with one of ``prefixes`` (all without any).

    Each stands beside its nulls: median and, of several draws, 5th to 95th percentile.
    """
    own = of.scalars()
    rows = [
        (_label(name), _value(own[name]), *(_null(of, key, name) for key in nulls.NAMES))
        for name in own
        if not prefixes or name.startswith(prefixes)
    ]
    markdown_table(("", "this table", *nulls.NAMES.values()), rows)
    drawn = " and ".join(
        f"{counted(of.nulls[key].repeats, 'draw')} of {nulls.NAMES[key]}"
        for key in ("gaussian", "shuffled")
    )
    st.caption(
        f"Of {results.rows_said(of)}. Nulls are medians of {drawn}, in brackets the 5th to 95th "
        f"percentile; seed {of.nulls['shuffled'].seed}."
    )


def _null(of: Analysis, key: str, name: str) -> str:
    """A number of a null, with its band; what a shuffle cannot change is not told twice."""
    null = of.nulls[key]
    median, low, high = (_value(part[name]) for part in (null.scalars, null.low, null.high))
    if key == "shuffled" and {low, median, high} == {_value(of.scalars()[name])}:
        return UNCHANGED
    return median if low == high else f"{median} ({low} to {high})"


def components(of: Analysis, most: int = 10) -> None:
    """Share of each leading component, beside its nulls; a shuffle changes none of them."""
    ratios = {"this table": of.explained_variance_ratio} | {
        label: of.nulls[key].draws[0].explained_variance_ratio
        for key, label in nulls.NAMES.items()
        if key != "shuffled"
    }
    if of.explained_variance_ratio is None:
        return
    rows = [
        (
            count(k + 1),
            *(
                percent(float(ratio[k])) if ratio is not None else ABSENT
                for ratio in ratios.values()
            ),
        )
        for k in range(min(most, of.decomposition.rank))
    ]
    markdown_table(("share of component", *ratios), rows)


def helix(of: Analysis, fit: HelixFit | None) -> None:
    """The curve read as a helix: how it turns, the closest steady circle, and its axis."""
    found = of.helix
    rows = [
        ("helix.turns", decimal(found.turns, digits=2)),
        ("helix.radius", decimal(found.radius)),
        ("helix.radius_spread", decimal(found.radius_spread)),
        ("helix.axis_component", count(found.axis_component)),
        ("helix.axis_correlation", decimal(found.axis_correlation)),
    ]
    if fit is not None:
        rows += [
            ("helix_fit", decimal(fit.r2)),
            ("helix_fit.period", significant(fit.period, figures=4)),
            ("helix_fit.amplitude", decimal(fit.amplitude)),
            ("helix_fit.phase", decimal(fit.phase)),
            ("helix_fit.axis_slope", significant(fit.axis_slope)),
            ("helix_fit.axis_r2", decimal(fit.axis_r2)),
        ]
    markdown_table(
        ("read as a helix", "this table"), [(_label(name), value) for name, value in rows]
    )


def power(of: Analysis) -> None:
    """The strongest periods along position."""
    if of.power:
        rows = [(f"{significant(line.period)} positions", percent(line.share)) for line in of.power]
        markdown_table(("period", "share of the power"), rows)


def special(of: Analysis) -> None:
    """Rows unlike the rest, each with its reason."""
    if of.special_rows:
        rows = [(count(row.position), decimal(row.norm), row.reason) for row in of.special_rows]
        markdown_table(("special position", "norm", "why"), rows[:40], right={1})


def energy(own: CoordinateEnergy, null: CoordinateEnergy) -> None:
    """How few dimensions hold the variance, beside random rows."""
    rows = [
        (_label("dimensions_for_90"), *(count(e.dimensions_for(0.9)) for e in (own, null))),
        (_label("coordinate_energy"), *(percent(e.share_of(64)) for e in (own, null))),
    ]
    markdown_table(("", "this table", nulls.NAMES["gaussian"]), rows)


def comparison(of: Comparison) -> None:
    """How alike two tables are, each number beside that of shuffled rows."""
    rows = [
        (_label(name), decimal(getattr(of, name)), decimal(getattr(of, f"{name}_null")))
        for name in ("cka", "procrustes", "cosine_agreement")
    ]
    markdown_table(("over the positions compared", "both", nulls.NAMES["shuffled"]), rows)
    angles = of.principal_angles
    if angles is None:
        st.caption(f"{_label('principal_angles')}: none, the tables differ in width.")
    else:
        told = ", ".join(f"{decimal(float(angle), digits=1)}°" for angle in angles)
        st.caption(f"{_label('principal_angles')}, leading subspaces: {told}")


def side_by_side(of: Comparison, names: tuple[str, str]) -> None:
    """Every number of both tables, over the positions compared."""
    a, b = of.a, of.b
    turns = (vars(of.helix_first), vars(of.helix_second))
    shown = [(key, a[key], b[key]) for key in a]
    shown += [(f"helix.{key}", *(one[key] for one in turns)) for key in turns[0] if key != "phase"]
    markdown_table(("", *names), [(_label(key), _value(x), _value(y)) for key, x, y in shown])


def order(of: Order) -> None:
    """What the rows know of their own order, beside chance."""
    rows = [
        (_label(name), decimal(one.value), decimal(one.chance)) for name, one in vars(of).items()
    ]
    markdown_table(("order and probes", "this table", "by chance"), rows)


def geometry(before: Geometry, after: Geometry) -> None:
    """What a change of length did to the table."""
    rows = [
        (_label(name), decimal(getattr(before, name)), decimal(getattr(after, name)))
        for name in vars(before)
    ]
    markdown_table(("", "before", "after"), rows)


def rebuilt(errors: Mapping[str, float]) -> None:
    """Hold-out error by method, best first."""
    if errors:
        best = sorted(errors.items(), key=lambda item: item[1])
        rows = [(METHODS[key].label, decimal(error)) for key, error in best]
        markdown_table(("method", _label("holdout")), rows)


def method(*names: str) -> None:
    """The closed section that defines the numbers of a page, from the one registry.

    A name may be that of a group: ``helix`` stands for ``helix.turns`` and the rest.
    """
    keys = dict.fromkeys(
        key for name in names for key in DEFINITIONS if key == name or key.startswith(f"{name}.")
    )
    texts = []
    for key in keys:
        one = DEFINITIONS[key]
        facts = [CENTRED[one.centred], f"range {one.range}", *_known(one.values), one.source]
        about = literal(" · ".join(fact for fact in facts if fact))
        texts.append(
            f"**{literal(one.label)}.** `{one.formula}`. {literal(one.reading)}  \n:gray[{about}]"
        )
    with page.section("Method"):
        st.markdown("\n\n".join(texts))  # one element, however many: a page should not wait for it


def _known(values: Values | None) -> list[str]:
    if values is None:
        return []
    known = {"random": values.random, "sinusoidal": values.sinusoidal, "GPT-2": values.trained}
    return [f"{name} {value:g}" for name, value in known.items() if value is not None]


def _label(name: str) -> str:
    return DEFINITIONS[name].label


def _value(value: float | int | None) -> str:
    return count(value) if isinstance(value, int) else decimal(value, digits=4)


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] | None = None
) -> None:
    """A table that can be read aloud, copied and printed, and costs no library.

    ``right`` are the columns set to the right, for numbers; all but the first if absent.
    """
    numeric = range(1, len(head)) if right is None else right
    rule = ["---:" if column in numeric else "---" for column in range(len(head))]
    cells = [[literal(cell.replace("\n", " ")) for cell in line] for line in (head, *rows)]
    lines = [cells[0], rule, *cells[1:]]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
