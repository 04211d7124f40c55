"""Uploaded checkpoints: what is of use is read at once, and the files are let go.

Kept are the position tables, or, where there is none, the tensors that a person may want to
open by hand, as far as KEPT_BYTES go. Uploads belong to one visit and end with it; while it lasts
they count among the tables that the server keeps in memory, and may have to be let go.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import streamlit as st

from posviz import sources
from posviz.errors import PosvizError, SourceError, TableError
from posviz.ui import kept
from posviz.ui.facts import Facts, Read, facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import IO

    from streamlit.runtime.uploaded_file_manager import UploadedFile

    from posviz.sources import Checkpoint
    from posviz.table import PositionTable

PREFIX = "upload:"
KEPT = 8  # uploads of one visit
KEPT_BYTES = 64 << 20  # of each, beside its first table

_KEY = "_uploads"
_ARRIVED = "_arrived"  # the last upload, until it has been opened


@dataclass(frozen=True)
class Upload:
    """One upload: its facts, its tables by parameter, and why none opens if none does."""

    facts: Facts
    tables: Mapping[str, PositionTable]
    sentence: str

    @property
    def mark(self) -> tuple[str, ...]:
        """The same for the same content: names and fingerprints of what was kept."""
        prints = (f"{name} {table.fingerprint}" for name, table in self.tables.items())
        return (*prints, self.sentence)

    @property
    def nbytes(self) -> int:
        """Bytes that keeping this takes."""
        tables = sum(table.raw.nbytes for table in self.tables.values())
        return tables + kept.cost_of_facts(self.facts)


@dataclass(frozen=True, eq=False)
class _Shelved:
    """An upload of this visit, in memory or let go, and what tells it from others."""

    lent: kept.Lent[Upload]
    mark: tuple[str, ...]


def take(files: Mapping[str, IO[bytes]]) -> str:
    """Keep an upload and return its reference; the same name with other content is another one.

    Raises
    ------
    PosvizError
        The files are no checkpoint that is read here, or hold no table that is a table.
    """
    with sources.open_upload(dict(files)) as checkpoint:
        upload = _taken(checkpoint)
    shelf: dict[str, _Shelved] = st.session_state.setdefault(_KEY, {})
    ref = name = upload.facts.ref
    number = 1
    while ref in shelf and shelf[ref].mark != upload.mark:
        number += 1
        ref = f"{name} ({number})"
    shelf.pop(ref, None)
    upload = replace(upload, facts=replace(upload.facts, ref=ref))
    shelf[ref] = _Shelved(kept.TABLES.lend(upload, upload.nbytes), upload.mark)
    st.session_state[_ARRIVED] = upload
    for oldest in list(shelf)[:-KEPT]:
        del shelf[oldest]
    return ref


def let_go(files: Iterable[UploadedFile]) -> None:
    """Free the memory of uploaded files, which the server would keep to the end of the visit."""
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    run = get_script_run_ctx()
    if run is None:
        return
    for file in files:
        # Of the manager in memory, which is the one every server has.
        run.uploaded_file_mgr.remove_file(  # type: ignore[attr-defined]
            session_id=run.session_id, file_id=file.file_id
        )


def listed() -> tuple[str, ...]:
    """References of what this visitor has uploaded, newest first."""
    return tuple(reversed(st.session_state.get(_KEY, {})))


def opened(ref: str, parameter: str | None) -> Read:
    """A table of an upload of this visit.

    Raises
    ------
    SourceError
        No such upload in this visit, none that is still in memory, or no such table kept of it.
    """
    shelved: _Shelved | None = st.session_state.get(_KEY, {}).get(ref)
    if shelved is None:
        raise SourceError(
            f"{ref}: uploads live in the visit that made them, and this visit has no such "
            f"upload. Upload the file again."
        )
    upload = kept.TABLES.use(shelved.lent)
    if upload is None:
        raise SourceError(
            f"{ref} had to be let go: this server keeps {kept.limit() >> 20:,} MB of tables for "
            f"all its visitors, and others were opened since. Upload the file again."
        )
    st.session_state.pop(_ARRIVED, None)
    first = upload.facts.tables[0].parameter if upload.facts.tables else None
    if parameter in (None, first) and upload.sentence:
        return Read(upload.facts, None, upload.sentence, part_of=upload)
    name = parameter or next(iter(upload.tables))
    if name not in upload.tables:
        raise SourceError(
            f"{ref}: {name} is not among what was kept of this upload "
            f"({', '.join(upload.tables) or 'nothing'}). Open the file by its path for any tensor."
        )
    return Read(upload.facts, upload.tables[name], part_of=upload)


def _taken(checkpoint: Checkpoint) -> Upload:
    said = facts(checkpoint)
    tables: dict[str, PositionTable] = {}
    further = {table.parameter: table.shape for table in said.tables[1:]}
    sentence = ""
    try:
        first = checkpoint.table()
        tables[said.tables[0].parameter] = first
    except (SourceError, TableError) as error:  # what else is in it may be opened by hand
        sentence = str(error)
        further |= {entry.name: entry.shape or () for entry in said.by_hand}
    left = KEPT_BYTES
    for name, shape in further.items():
        left -= 4 * prod(shape)
        if left < 0:
            break
        with suppress(PosvizError):  # a further tensor that is no table is not missed
            tables[name] = checkpoint.table(name)
    return Upload(facts(checkpoint), tables, sentence)
