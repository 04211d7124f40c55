"""The table this visitor has open, and how another one takes its place.

The picker's value is the reference itself, so the address of a page, the command line and
``posviz.load`` all name a table the same way. A reference that cannot be opened changes
nothing: its sentence is shown and the table that was open stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import streamlit as st

from posviz import sources
from posviz.errors import PosvizError, SourceError
from posviz.ui.access import visitor_access

if TYPE_CHECKING:
    from posviz.sources import Access, Candidate
    from posviz.table import PositionTable

DEFAULT = "demo:gpt-mini"
UPLOAD = "upload:"
KEPT_UPLOADS = 8  # tables, not files: the files are dropped as soon as the table is read
REFRESH_SECONDS = 3600  # a Hub branch may move

_OPEN, _ASKED, _REFUSED, _UPLOADS = "_open", "_asked", "_refused", "_uploads"


@dataclass(frozen=True)
class Opened:
    """A table with what its checkpoint said about it."""

    ref: str
    table: PositionTable
    tables: tuple[Candidate, ...]
    warnings: tuple[str, ...]
    format: str
    model_type: str | None


@dataclass(frozen=True)
class Refused:
    """What was asked for, as (reference, parameter), and why it could not be opened."""

    asked: tuple[str, str | None]
    sentence: str


def current() -> Opened:
    """The table every page shows; :func:`choose` has run before any page does."""
    return cast("Opened", st.session_state[_OPEN])


def trouble() -> str | None:
    """Why what was asked for is not what is open; None if it is."""
    refused = st.session_state.get(_REFUSED)
    return refused.sentence if refused else None


def try_again() -> None:
    """Forget what was refused, so that the next run asks for it once more."""
    st.session_state.pop(_REFUSED, None)


def choose(ref: str | None, parameter: str | None = None) -> Opened:
    """Open ``ref``, or keep what was open and say why; the offline demo if nothing was.

    What was refused is not asked for again on every run: an unreachable Hub would make each
    click wait for it.
    """
    session, asked = st.session_state, (ref or DEFAULT, parameter)
    session[_ASKED] = asked
    refused: Refused | None = session.get(_REFUSED)
    if refused and refused.asked == asked:
        return current()
    session.pop(_REFUSED, None)
    try:
        session[_OPEN] = _open(*asked)
    except PosvizError as error:
        if _OPEN not in session:
            session[_OPEN] = _open(DEFAULT, None)
        said = str(error) if asked[0] in str(error) else f"{asked[0]}: {error}"
        session[_REFUSED] = Refused(asked, f"{said} Still showing {current().ref}.")
    return current()


def take_upload(files: Mapping[str, IO[bytes]]) -> str | None:
    """Keep the table of uploaded files and return its reference; None, and why, if there is none.

    The same name with other content is another upload.
    """
    try:
        with sources.open_upload(dict(files)) as checkpoint:
            opened = _described(checkpoint, None)
    except PosvizError as error:
        sentence = f"{error} Still showing {current().ref}."
        st.session_state[_REFUSED] = Refused(st.session_state[_ASKED], sentence)
        return None
    kept: dict[str, Opened] = st.session_state.setdefault(_UPLOADS, {})
    ref = _free_name(opened, kept)
    kept[ref] = replace(opened, ref=ref)
    for oldest in list(kept)[:-KEPT_UPLOADS]:
        del kept[oldest]
    return ref


def uploads() -> tuple[str, ...]:
    """References of what this visitor has uploaded, newest last."""
    return tuple(st.session_state.get(_UPLOADS, {}))


def _free_name(opened: Opened, kept: Mapping[str, Opened]) -> str:
    name, number = opened.ref, 1
    while name in kept and kept[name].table.fingerprint != opened.table.fingerprint:
        number += 1
        name = f"{opened.ref} ({number})"
    return name


def _open(ref: str, parameter: str | None) -> Opened:
    if ref.startswith(UPLOAD):
        kept = st.session_state.get(_UPLOADS, {})
        if ref not in kept:
            raise SourceError(
                f"{ref}: uploads live in the visit that made them, and this visit has no such "
                f"upload. Upload the file again."
            )
        return cast("Opened", kept[ref])
    access = visitor_access()
    return _open_shared(ref, parameter, _stamp(ref, access), access.token, access)


@st.cache_resource(max_entries=24, ttl=REFRESH_SECONDS, show_spinner=False)
def _open_shared(
    ref: str, parameter: str | None, stamp: str, token: str | bool, _access: Access
) -> Opened:
    """Open once for all visitors with the same rights; ``stamp`` changes with the file."""
    with sources.open(ref, access=_access) as checkpoint:
        return replace(_described(checkpoint, parameter), ref=ref)


def _described(checkpoint: sources.Checkpoint, parameter: str | None) -> Opened:
    return Opened(
        ref=checkpoint.ref,
        table=checkpoint.table(parameter),
        tables=checkpoint.tables,
        warnings=checkpoint.warnings,
        format=checkpoint.format,
        model_type=checkpoint.model_type,
    )


def _stamp(ref: str, access: Access) -> str:
    """A text that changes when a local file or folder does; empty for everything else."""
    if not access.local_paths:
        return ""
    path = Path(ref).expanduser()
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        stats = [(file.name, file.stat()) for file in files]
    except (OSError, ValueError):
        return ""
    return ";".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)
