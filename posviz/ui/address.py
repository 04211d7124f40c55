"""Choices that stand in the page's address, and a sentence where the address asks for another.

Streamlit binds a widget to the address by the words of its menu, and lets go of words that it
does not know without saying so. A link with a slip in it would show another view than it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from posviz.ui.format import literal

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_BEGAN = "_address_began"  # what the address asked for when the visit began
_UNKNOWN = "_address_unknown"
_MOST = 60  # characters of an asked value that are shown


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
    instead : object
        What the control holds; the sentence stands until that changes.
    """

    asked: str
    label: str
    rule: str
    instead: object

    def sentence(self) -> str:
        """What was asked for, what there is, and what is shown."""
        asked = self.asked if len(self.asked) <= _MOST else f"{self.asked[:_MOST]}…"
        return (
            f"The address asks for {asked} under {self.label}, which is {self.rule}. The usual one "
            f"is shown; pick another here."
        )


def begin() -> None:
    """Keep what the address of a new visit asks for, before any control takes its part."""
    st.session_state.setdefault(_BEGAN, st.query_params.to_dict())


def choice(
    label: str,
    options: Mapping[str, str],
    *,
    key: str,
    on: DeltaGenerator | None = None,
    default: str | None = None,
    told: DeltaGenerator | None = None,
    **more: Any,
) -> str:
    """One of a few, side by side, bound to the address; returns its key in ``options``.

    Parameters
    ----------
    label : str
    options : mapping from key to the words on the screen, which are those of the address too
    key : str
        Of the widget, and the name in the address.
    on : place on the page, optional
    default : key of `options`, optional
        None for the first.
    told : place on the page, optional
        Where to say that the address asks for something else, for a choice that is out of sight.
    more
        As for ``st.segmented_control``.
    """
    chosen = (on or st).segmented_control(
        label,
        list(options),
        default=default or next(iter(options)),
        required=True,
        format_func=lambda option: options[option],
        key=key,
        bind="query-params",
        **more,
    )
    check(label, options.values(), key=key, on=told)
    return cast("str", chosen)


def switch(label: str, *, key: str, told: DeltaGenerator | None = None, **more: Any) -> bool:
    """A switch bound to the address, off at first; ``told`` as for :func:`choice`."""
    on = st.toggle(label, key=key, bind="query-params", **more)
    check(label, ("true", "false"), key=key, on=told)
    return bool(on)


def check(
    label: str, offered: Iterable[str], *, key: str, on: DeltaGenerator | None = None
) -> None:
    """Say so on the page if the visit's address asked the widget ``key`` for words it lacks."""
    words = tuple(offered)
    _check(label, lambda asked: asked in words, f"none of {', '.join(words)}", key, on)


def check_number(label: str, least: int, most: int, *, key: str) -> None:
    """Say so on the page if the visit's address asked the widget ``key`` for no number of its."""

    def fits(asked: str) -> bool:
        return asked.isdecimal() and least <= int(asked[:_MOST]) <= most

    _check(label, fits, f"no whole number from {least:,} to {most:,}", key)


def _check(
    label: str,
    fits: Callable[[str], bool],
    rule: str,
    key: str,
    on: DeltaGenerator | None = None,
) -> None:
    session = st.session_state
    unknown = session.setdefault(_UNKNOWN, {})
    asked = session.get(_BEGAN, {}).pop(key, None)
    if asked is not None and not fits(asked):
        unknown[key] = Unknown(asked, label, rule, session.get(key))
    if key in unknown:
        if unknown[key].instead == session.get(key):
            (on or st).warning(literal(unknown[key].sentence()), icon=":material/link_off:")
        else:
            del unknown[key]
