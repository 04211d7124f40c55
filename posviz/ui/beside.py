"""The second table of the compare page: picked, opened and measured against the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from posviz.analysis.compare import Comparison, compare
from posviz.analysis.similarity import OffsetProfile, Pooled
from posviz.analysis.verdict import FEWEST_ROWS
from posviz.ui import address, opened, picker, results
from posviz.ui.format import count, counted, decimal, literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.analysis.measures import Measures
    from posviz.table import PositionTable
    from posviz.ui.opened import Opened

WITH, OF_IT = "with", "with_parameter"
_PARAMETER_OF = "_with_parameter_of"  # the reference that the picked parameter belongs to
_USUAL = "_with_usual"  # the default when the page last ran: it follows the open table
KEPT = 12

# Where one word gives way to the next. They are judgements, kept in one place.
SAME, ALIKE = 0.01, 0.3  # Procrustes residual
RELATED = 0.1  # CKA above its null


def pick(found: Opened) -> Opened:
    """Draw the picker and return the second table; a sinusoid of the open table's shape at first.

    What cannot be opened is explained in place, and the sinusoid stands in for it.
    """
    session, table = st.session_state, found.table
    usual = f"sinusoidal:{table.n_positions}x{table.d_model}"
    if session.get(WITH) == session.get(_USUAL) != usual:
        session.pop(WITH, None)
    session[_USUAL] = usual
    options = [usual, *(ref for ref in picker.offered(WITH) if ref != usual)]
    ref = address.looked_up(
        "With",
        options,
        key=WITH,
        typed=True,
        placeholder=picker.PLACEHOLDER,
        help=picker.GRAMMAR,
    )
    ref = ref or usual
    if session.get(_PARAMETER_OF, ref) != ref:
        session.pop(OF_IT, None)  # it was a table of another file
        asked = None
    else:
        asked = session.get(OF_IT) or st.query_params.get(OF_IT)
    session[_PARAMETER_OF] = ref
    other, trouble = opened.beside(ref, asked, instead=usual)
    _tables_of(other, asked)
    if trouble:
        st.error(literal(trouble), icon=":material/error:")
        st.button("Try again", on_click=opened.try_again, key="try-again-with")
    return other


def _tables_of(other: Opened, asked: str | None) -> None:
    """Another table of the second file, where it holds several or one was named."""
    names = [table.parameter for table in other.facts.tables]
    if asked and asked not in names:
        names.insert(0, asked)
    if len(names) > 1:
        address.looked_up("Its table", names, key=OF_IT)


def compared(a: PositionTable, b: PositionTable, *, without: bool) -> Comparison:
    """The comparison over the positions of both, or over those that are special in neither."""
    exclude = _excluded(a, b) if without else ()
    return _compared(a.fingerprint, b.fingerprint, exclude, a, b)


def difference(a: PositionTable, b: PositionTable, of: Comparison) -> Pooled:
    """Cosine of every pair in the second table less that in the first, small enough to paint."""
    gone = tuple(np.setdiff1d(np.arange(_both(a, b)), of.positions).tolist())
    return _difference(a.fingerprint, b.fingerprint, gone, a, b, of)


def profile(of: Measures) -> OffsetProfile:
    """Cosine by offset of one of the two."""
    return OffsetProfile(of.cosine.by_offset, None)


def said(of: Comparison, names: tuple[str, str]) -> tuple[str, ...]:
    """A headline and two sentences, made from the numbers."""
    if of.cka is None or of.cka_null is None or of.procrustes is None:
        return (
            "There is nothing to compare.",
            "One of the tables does not vary from position to position.",
        )
    if of.rows_compared < FEWEST_ROWS:
        headline = "Too few rows to tell likeness from chance."
    elif of.procrustes <= SAME:
        headline = "The same shape, but for rotation and scale."
    elif of.procrustes <= ALIKE:
        headline = "Much the same shape."
    elif of.cka - of.cka_null >= RELATED:
        headline = "Related, yet of different shape."
    else:
        headline = "No more alike than shuffled rows."
    k = of.first.components["90"], of.second.components["90"]
    if of.procrustes <= SAME:
        rest = "laid over each other, nothing of the shape is left over"
    else:
        rest = f"laid over each other, {100 * of.procrustes:.0f} % of the shape is left over"
    return (
        headline,
        f"CKA is {decimal(of.cka)}, where shuffled rows reach {decimal(of.cka_null)}; {rest}.",
        f"90 % of the variance takes {counted(k[0] or 0, 'component')} in {literal(names[0])} and "
        f"{count(k[1])} in {literal(names[1])}.",
    )


def names(a: Opened, b: Opened) -> tuple[str, str]:
    """What the two are called in figures and tables: never the same."""
    first, second = a.table.name, b.table.name
    return first, second if second != first else f"{second} (with)"


def drawn(of: Comparison, a: PositionTable, b: PositionTable) -> NDArray[np.intp]:
    """Which of the rows compared are drawn as curves: those that are special in neither table."""
    kept = np.flatnonzero(~np.isin(of.positions, _excluded(a, b)))
    return kept if len(kept) else np.arange(of.rows_compared)


def rows_said(of: Comparison, a: PositionTable, b: PositionTable) -> str:
    """Which positions were compared, for the line under a figure."""
    both = _both(a, b)
    if of.rows_compared == both:
        return f"positions 0 to {both - 1:,}"
    return f"{of.rows_compared:,} positions, without those that are special in either"


def _both(a: PositionTable, b: PositionTable) -> int:
    return min(a.n_positions, b.n_positions)


def _excluded(a: PositionTable, b: PositionTable) -> tuple[int, ...]:
    both = _both(a, b)
    rows = (row.position for table in (a, b) for row in results.special(table))
    return tuple(sorted({row for row in rows if row < both}))


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _compared(
    first: str, second: str, exclude: tuple[int, ...], _a: PositionTable, _b: PositionTable
) -> Comparison:
    return compare(_a, _b, exclude=exclude)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _difference(
    first: str,
    second: str,
    gone: tuple[int, ...],
    _a: PositionTable,
    _b: PositionTable,
    _of: Comparison,
) -> Pooled:
    both = _both(_a, _b)
    one, two = (
        results.painted(table.weights[:both], _of.positions, "cosine") for table in (_a, _b)
    )
    values = two.values - one.values
    return Pooled(values, one.factor, float(np.nanmin(values)), float(np.nanmax(values)))
