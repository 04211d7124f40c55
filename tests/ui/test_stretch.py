"""What the Interpolation page says of a stretched table."""

from __future__ import annotations

import numpy as np

from posviz import load
from posviz.analysis.similarity import OffsetProfile
from posviz.interpolation import extend
from posviz.ui.stretch import Choice, Glance, said


def test_large_offsets_of_the_stretch_law_are_written_out() -> None:
    table = load("sinusoidal:40000x2")
    new = extend(table, 60_000)
    before, after = (
        Glance(None, None, OffsetProfile(np.linspace(1, 0, rows), None))
        for rows in (40_000, 60_000)
    )
    sentences = said(table, new, Choice(60_000, "linear", "align-corners", ""), (before, after))
    # Both fall from 1 to 0 at a steady pace, so the law holds: 1 - 1,875 / 59,999.
    assert sentences[-1] == (
        "Cosine at offset 1,875 is 0.969; the stretch law expects that of 1,250 in the old table, "
        "0.969."
    )
