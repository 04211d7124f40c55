"""The doors to controls that stand in the page's address, so that none lets go of a slip in it.

Streamlit binds a widget to the address by the words of its menu, and lets go of words that it
does not know without saying so. A link with a slip in it would show another view than it names.
Every widget that is bound is therefore made here, where the address is held against what the
widget offers; ``bind=`` stands in no other file, and a test sees to it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import streamlit as st
from streamlit.errors import StreamlitAPIException

from posviz.ui.slips import check, check_number, check_words

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

Key = TypeVar("Key", bound=Hashable)


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
    check_words(label, options.values(), key, told)
    return cast("str", chosen)


def menu(
    label: str,
    options: Mapping[Key, str],
    *,
    key: str,
    on: DeltaGenerator | None = None,
    **more: Any,
) -> Key:
    """One of many in a menu, at first the first of them; as :func:`choice`.

    What it holds that is not on offer, left there by another table, gives way to the first.
    """
    chosen = (on or st).selectbox(
        label,
        list(options),
        format_func=lambda option: options[option],
        key=key,
        bind="query-params",
        **more,
    )
    check_words(label, options.values(), key)
    return cast("Key", chosen)


def optional_menu(
    label: str, options: Iterable[str], *, key: str, placeholder: str, **more: Any
) -> str | None:
    """One of many in a menu or none, which is what it holds at first; as :func:`menu`."""
    words = list(options)
    chosen = st.selectbox(
        label, words, index=None, key=key, bind="query-params", placeholder=placeholder, **more
    )
    check_words(label, words, key, empty=True)
    return chosen


def switch(
    label: str,
    *,
    key: str,
    value: bool = False,
    on: DeltaGenerator | None = None,
    told: DeltaGenerator | None = None,
    **more: Any,
) -> bool:
    """A switch bound to the address, off at first unless its ``value`` is True.

    ``on`` and ``told`` as for :func:`choice`.
    """
    state = (on or st).toggle(label, value=value, key=key, bind="query-params", **more)
    rule = "neither true nor false"
    check(label, lambda asked: asked.lower() in ("true", "false"), rule, key, told)
    return bool(state)


def number(
    label: str,
    least: int,
    most: int,
    usual: int,
    *,
    key: str,
    on: DeltaGenerator | None = None,
    told: DeltaGenerator | None = None,
    **more: Any,
) -> int:
    """A box for a whole number, bound to the address; ``on`` and ``told`` as for :func:`choice`."""
    box = (on or st).number_input
    chosen = int(box(label, least, most, usual, key=key, bind=_finite(key), **more))
    check_number(label, least, most, key, told)
    return chosen


def slider(
    label: str, least: int, most: int, usual: int, *, key: str, on: DeltaGenerator | None = None
) -> int:
    """A slider over whole numbers, bound to the address.

    What it holds that is out of reach, left there by another table, is brought into reach.
    """
    held = st.session_state.get(key)
    if isinstance(held, int) and not least <= held <= most:
        st.session_state[key] = min(max(held, least), most)
    slide = (on or st).slider
    chosen = int(slide(label, least, most, usual, key=key, bind=_finite(key)))
    check_number(label.partition(" (")[0], least, most, key)
    return chosen


def text(
    label: str,
    *,
    key: str,
    on: DeltaGenerator | None = None,
    most: int | None = None,
    **more: Any,
) -> str:
    """A box for any text of at most ``most`` characters, bound to the address."""
    written = (on or st).text_input(label, key=key, max_chars=most, bind="query-params", **more)
    if most is not None:
        rule = f"longer than the {most:,} characters that are read"
        check(label, lambda asked: len(asked) <= most, rule, key, shown="Its beginning")
    return written or ""


def looked_up(
    label: str, options: Iterable[str], *, key: str, typed: bool = False, **more: Any
) -> str | None:
    """A menu of names, bound to the address, that says nothing of those it does not have.

    Whoever looks a name up refuses it in a sentence of his own: a table that cannot be opened, a
    tensor that is not in the file. The options hold what the address asks for.

    Parameters
    ----------
    label : str
    options : names
    key : str
        Of the widget, and the name in the address.
    typed : bool, optional
        Whether a name of one's own may be typed.
    more
        As for ``st.selectbox``.
    """
    return st.selectbox(
        label, list(options), key=key, bind="query-params", accept_new_options=typed, **more
    )


def _finite(key: str) -> Literal["query-params"] | None:
    """What binds a number to the address, once nothing stands there that is without end.

    Streamlit makes a whole number of whatever Python takes for a number, and falls over ``inf``.
    """
    try:
        endless = math.isinf(float(st.query_params.get(key, "0")))
    except ValueError:
        endless = False
    if not endless:
        return "query-params"
    with suppress(StreamlitAPIException):  # bound a run ago, by one who went back to the link
        del st.query_params[key]
        st.rerun()
    return None
