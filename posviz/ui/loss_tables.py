"""What a measurement found, taken apart, and its tables: one line a method, best first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from posviz.analysis.definitions import DEFINITIONS
from posviz.interpolation import METHODS
from posviz.ui.format import decimal
from posviz.ui.tables import markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.model.drift import Drift
    from posviz.model.loss import LossByPosition
    from posviz.model.measuring import Begun, Measured
    from posviz.ui.stretch import Choice


@dataclass
class Seen:
    """What a measurement has said so far, taken apart."""

    begun: Begun | None = None
    original: Measured | None = None
    methods: dict[str, Measured] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Sequence[Begun | Measured]) -> Seen:
        """Sort events by what they are."""
        from posviz.model.measuring import ORIGINAL, Measured

        seen = cls()
        for event in events:
            if not isinstance(event, Measured):
                seen.begun = event
            elif event.method == ORIGINAL:
                seen.original = event
            else:
                seen.methods[event.method] = event
        return seen


def any_long(seen: Seen) -> bool:
    """Whether a longer table was read with, or only a shorter one."""
    return any(one.long is not None for one in seen.methods.values())


def mean(curve: LossByPosition | Drift) -> float:
    """The one number of a curve: mean loss in nats, or cosine of the sentence vectors."""
    from posviz.model.loss import LossByPosition

    return curve.mean if isinstance(curve, LossByPosition) else curve.sentence


def loss_table(seen: Seen, choice: Choice) -> None:
    """Loss and perplexity at both lengths."""
    from posviz.model.loss import LossByPosition

    assert seen.begun is not None
    assert isinstance(choice.size, int)
    least = min(seen.begun.n_positions, choice.size)
    longer = any_long(seen)
    loss, perplexity = (DEFINITIONS[name].label for name in ("model_loss", "perplexity"))
    head = ["table", f"{loss} at {least:,}", perplexity]
    head += [f"{loss} at {choice.size:,}", perplexity, "first half", "second half"] * longer
    rows = []
    for one in _in_order(seen):
        assert isinstance(one.short, LossByPosition)
        cells = [_label(one, choice), decimal(one.short.mean), _perplexity(one.short)]
        if longer and isinstance(one.long, LossByPosition):
            halves = [decimal(one.long.half(which)) for which in (0, 1)]
            cells += [decimal(one.long.mean), _perplexity(one.long), *halves]
        elif longer:
            cells += ["no rows", "–", "–", "–"]
        rows.append(cells)
    markdown_table(head, rows)


def drift_table(seen: Seen, choice: Choice) -> None:
    """Cosines of token and sentence vectors at both lengths."""
    from posviz.model.drift import Drift

    assert seen.begun is not None
    assert isinstance(choice.size, int)
    least = min(seen.begun.n_positions, choice.size)
    longer = any_long(seen)
    head = ["table", f"tokens at {least:,}", "sentence"]
    head += [f"tokens at {choice.size:,}", "sentence"] * longer
    rows = []
    for one in _in_order(seen):
        assert isinstance(one.short, Drift)
        cells = [_label(one, choice), decimal(one.short.tokens), decimal(one.short.sentence)]
        if longer and isinstance(one.long, Drift):
            cells += [decimal(one.long.tokens), decimal(one.long.sentence)]
        elif longer:
            cells += ["no rows", "–"]
        rows.append(cells)
    markdown_table(head, rows)
    st.caption(
        "Cosine between the vectors that the model gives with its own table and with the new "
        "one; 1 is no drift. Texts longer than its own table are held against the same text read "
        "in parts."
    )


def _in_order(seen: Seen) -> list[Measured]:
    """The original, then the methods, best first."""
    assert seen.original is not None
    assert seen.begun is not None
    sign = -1 if seen.begun.objective == "encoder" else 1
    methods = sorted(seen.methods.values(), key=lambda one: sign * mean(one.long or one.short))
    return [seen.original, *methods]


def _label(one: Measured, choice: Choice) -> str:
    if not one.method:
        return "the original"
    return f"{METHODS[one.method].label}{' (shown)' if one.method == choice.method else ''}"


def _perplexity(curve: LossByPosition) -> str:
    value = curve.perplexity
    return decimal(value, digits=2) if value < 1000 else f"{value:,.0f}"
