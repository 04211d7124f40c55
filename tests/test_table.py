"""The one gate: what passes it is checked, frozen and known by its bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posviz.errors import TableError
from posviz.table import PositionTable, Provenance

MADE = Provenance(source="generated", ref="made")


def table(raw, **layout) -> PositionTable:
    return PositionTable(raw=raw, name="made", provenance=MADE, **layout)


@given(arrays(np.float32, (5, 3), elements=st.floats(-1e3, 1e3, width=32)), st.integers(0, 4))
def test_the_weights_are_the_stored_rows_after_the_offset(raw, offset) -> None:
    made = table(raw, row_offset=offset)
    assert made.n_positions + made.row_offset == len(raw)
    assert np.array_equal(made.weights, raw[offset:])
    assert made.d_model == 3


def test_nobody_can_write_into_a_table() -> None:
    source = np.zeros((4, 2), np.float32)
    made = table(source)
    source[:] = 7
    assert np.all(made.raw == 0)
    with pytest.raises(ValueError, match="read-only"):
        made.weights[0, 0] = 1


def test_numbers_that_lie_in_bytes_are_not_copied_and_still_nobody_can_write() -> None:
    read = np.frombuffer(bytes(32), np.float32).reshape(4, 2)
    made = table(read)
    assert np.shares_memory(made.raw, read)
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.raw.flags.writeable = True


@pytest.mark.parametrize("readable", [bytearray(32), memoryview(bytearray(32))])
def test_numbers_that_somebody_else_can_write_are_copied(readable) -> None:
    read = np.frombuffer(readable, np.float32).reshape(4, 2)
    read.flags.writeable = False
    made = table(read)
    readable[:4] = np.float32(7).tobytes()
    assert np.all(made.raw == 0)


def test_equal_tables_share_a_fingerprint_and_others_do_not() -> None:
    raw = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    changed = raw.copy()
    changed[5, 3] = np.nextafter(changed[5, 3], np.float32(9))
    prints = {
        table(raw).fingerprint,
        table(raw, row_offset=1).fingerprint,
        table(raw, grid=(2, 3)).fingerprint,
        table(raw.T).fingerprint,
        table(changed).fingerprint,
    }
    assert len(prints) == 5
    assert table(raw.astype(np.float64)).fingerprint == table(raw).fingerprint


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_rows_that_are_not_finite_are_named(bad: float) -> None:
    raw = np.zeros((9, 2))
    raw[[2, 7], 1] = bad
    with pytest.raises(TableError) as caught:
        table(raw)
    what = "NaN" if np.isnan(bad) else "NaN, infinity or numbers larger than float32 holds"
    assert str(caught.value) == (
        "made: every value of a position table must be a finite float32 number; rows 2, 7 of 9 "
        f"hold {what}. Export the table again, or repair those rows."
    )


def test_a_long_list_of_bad_rows_is_cut_short() -> None:
    with pytest.raises(TableError, match=r"rows 0, 1, 2, 3, 4 and 15 more of 20 "):
        table(np.full((20, 2), np.nan))


@pytest.mark.parametrize(
    ("raw", "layout", "said"),
    [
        (np.zeros(5), {}, "two axes, positions and dimensions; this array has shape 5"),
        (np.zeros((2, 2, 2)), {}, "this array has shape 2 × 2 × 2"),
        (np.float32(1), {}, "a single number"),
        (np.zeros((0, 4)), {}, "at least one position is needed"),
        (np.zeros((2, 4)), {"row_offset": 2}, "2 rows, of which 2 belong to no position"),
        (np.zeros((4, 0)), {}, "at least one dimension"),
        (np.zeros((4, 2), complex), {}, "real numbers"),
        (np.zeros((4, 2), bool), {}, "real numbers"),
        (np.zeros((5, 2)), {"grid": (2, 2)}, "a grid of 2 × 2 needs 4 rows; 5 are left"),
        (np.zeros((5, 2)), {"prefix_rows": 6}, "do not fit in 5 positions"),
        (np.zeros((5, 2)), {"prefix_rows": -1}, "never negative"),
        (np.zeros((5, 2)), {"kind": "magic"}, "learned, sinusoidal, random"),
    ],
)
def test_what_is_not_a_table_is_refused_in_words(raw, layout, said) -> None:
    with pytest.raises(TableError, match=said):
        table(raw, **layout)


def test_a_grid_stands_between_prefix_and_suffix_rows() -> None:
    made = table(np.zeros((9, 2)), grid=(2, 3), prefix_rows=2, suffix_rows=1)
    assert made.n_positions == 9


def test_the_step_of_a_run_is_said_once() -> None:
    found = Provenance("run", "run:mine", "snapshots.safetensors", "step-000040", "40", "F32")
    assert found.line() == "run:mine · step-000040 · F32"
    assert found.header()["posviz.revision"] == "40"


def test_provenance_is_one_line_and_survives_as_text() -> None:
    found = Provenance("hub", "gpt2", "model.safetensors", "wpe.weight", "607a30d783df1234", "F32")
    assert found.line() == "gpt2 · wpe.weight · F32 · 607a30d783df"
    assert found.header() == {
        "posviz.source": "hub",
        "posviz.ref": "gpt2",
        "posviz.file": "model.safetensors",
        "posviz.parameter": "wpe.weight",
        "posviz.revision": "607a30d783df1234",
        "posviz.dtype": "F32",
    }


def test_a_derived_table_remembers_what_was_done() -> None:
    first = table(np.zeros((4, 2)), row_offset=1).derive(np.ones((7, 2)), note="linear, 3 to 6")
    second = first.derive(np.ones((3, 2)), note="clamp, 6 to 2")
    assert second.row_offset == 1
    assert second.provenance.note == "linear, 3 to 6; clamp, 6 to 2"
