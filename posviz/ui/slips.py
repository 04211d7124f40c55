"""What an address asks for in vain: noticed once, and said until something else is picked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from posviz.ui.format import literal

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_BEGAN = "_address_began"  # what the address asked for when the visit began
_UNKNOWN = "_address_unknown"
_MOST = 60  # characters of an asked value that are shown
_NAMED = 12  # of what a control offers, named in a sentence
_USUAL = "The usual one"


@dataclass(frozen=True)
class Unknown:
    """Something the address asked for that a control does not offer.

    Parameters
    ----------
    asked : str
    label : str
        Of the control.
    rule : str
        What it is not: ``none of A, B``, or ``no whole number from 1 to 8``.
    shown : str
        What stands there instead, in words.
    instead : object
        What the control holds; the sentence stands until that changes.
    """

    asked: str
    label: str
    rule: str
    shown: str
    instead: object

    def sentence(self) -> str:
        """What was asked for, what there is, and what is shown."""
        asked = self.asked if len(self.asked) <= _MOST else f"{self.asked[:_MOST]}…"
        return (
            f"The address asks for {asked or 'nothing'} under {self.label}, which is {self.rule}. "
            f"{self.shown} is shown until another is picked."
        )


def begin() -> None:
    """Keep what the address of a new visit asks for, before any control takes its part."""
    st.session_state.setdefault(_BEGAN, st.query_params.to_dict())


def check_words(
    label: str,
    offered: Iterable[str],
    key: str,
    told: DeltaGenerator | None = None,
    *,
    empty: bool = False,
) -> None:
    """Say so if the address asked for a word that is not ``offered``; ``empty`` is one too."""
    words = tuple(offered)
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    rule = f"none of {', '.join(words[:_NAMED])}{more}"
    shown = "None" if empty else _USUAL
    check(label, lambda asked: asked in words or (empty and not asked), rule, key, told, shown)


def check_number(
    label: str, least: int, most: int, key: str, told: DeltaGenerator | None = None
) -> None:
    """Say so if the address asked for no whole number in the range of a control."""

    def fits(asked: str) -> bool:
        try:
            value = float(asked)  # as Streamlit reads it
        except ValueError:
            return False
        return value.is_integer() and least <= value <= most

    rule = f"no whole number from {least:,} to {most:,}"
    check(label, fits, rule, key, told, shown=f"{st.session_state.get(key):,}")


def check(
    label: str,
    fits: Callable[[str], bool],
    rule: str,
    key: str,
    on: DeltaGenerator | None = None,
    shown: str = _USUAL,
) -> None:
    """Say so on the page if the visit's address asked the widget ``key`` for what it lacks."""
    session = st.session_state
    unknown = session.setdefault(_UNKNOWN, {})
    asked = session.get(_BEGAN, {}).pop(key, None)
    if asked is not None and not fits(asked):
        unknown[key] = Unknown(asked, label, rule, shown, session.get(key))
    if key in unknown:
        if unknown[key].instead == session.get(key):
            (on or st).warning(literal(unknown[key].sentence()), icon=":material/link_off:")
        else:
            del unknown[key]
