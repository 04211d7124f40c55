"""Which model stands behind the open table for a fine-tuning, and what it will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError
from posviz.model.memory import tuning_memory
from posviz.sources.runs import lender_of
from posviz.training import finetune, pretrained
from posviz.ui import measuring
from posviz.ui.access import visitor_access
from posviz.ui.format import data_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.sources import Access, Entry
    from posviz.ui.opened import Opened


@dataclass(frozen=True)
class Tunable:
    """A model whose table can be fine-tuned.

    Parameters
    ----------
    ours : bool
        Trained by this project: it goes on with its own task.
    usual, most : int
        Steps at first, and at most.
    memory : int
        Bytes that it will take; 0 where that is little.
    """

    ours: bool
    usual: int
    most: int
    memory: int = 0

    @property
    def cost(self) -> str:
        """What a person should know before they begin."""
        if self.ours:
            return ""
        return f"Takes about {data_size(self.memory)} of memory, and seconds to minutes a step."


def behind(found: Opened, size: object) -> Tunable | str:
    """The model behind the open table, or a sentence that says why none can be fine-tuned."""
    if not isinstance(size, int):
        return "Models that read pictures are not fine-tuned here: they need pictures to read."
    lender = lender_of(found.ref)
    if lender is None and found.ref.startswith(("demo:", "run:")):
        return Tunable(ours=True, usual=finetune.STEPS, most=2000)
    try:
        where = measuring.place(found.ref)
        if where.hub:
            return (
                f"{where.note} Measure its loss first, which asks before it downloads: choose Loss "
                f"of the model above. Then its table can be fine-tuned."
            )
        if where.ours:
            return Tunable(ours=True, usual=finetune.STEPS, most=2000)
        access = visitor_access()
        config, entries = (
            (found.facts.config or {}, found.facts.entries)
            if lender is None
            else _of_lender(lender, access.token, access)
        )
        memory = tuning_memory(config, entries, length=size)
    except PosvizError as error:
        return str(error)
    return Tunable(ours=False, usual=pretrained.STEPS, most=500, memory=memory)


@st.cache_data(ttl=600, max_entries=16, show_spinner=False)
def _of_lender(
    lender: str, token: str | bool, _access: Access
) -> tuple[Mapping[str, object], tuple[Entry, ...]]:
    from posviz import sources

    with sources.open(lender, access=_access) as checkpoint:
        return checkpoint.config or {}, checkpoint.entries
