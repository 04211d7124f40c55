"""The table this visitor has open, and how another one takes its place.

The picker's value is the reference itself, so the address of a page, the command line and
``posviz.load`` all name a table the same way. A reference that cannot be opened changes
nothing: its sentence is shown and the table that was open stays open.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

import streamlit as st

from posviz import sources
from posviz.errors import PosvizError, SourceError
from posviz.runfolder import SNAPSHOTS, runs_folder
from posviz.ui import kept, uploads
from posviz.ui.access import visitor_access
from posviz.ui.facts import Facts, Read, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

    from posviz.sources import Access
    from posviz.table import PositionTable

DEFAULT = "demo:gpt-mini"
_STAMPED = 2_000  # files of a folder whose changes are noticed

_OPEN, _ASKED, _REFUSED = "_open", "_asked", "_refused"
_BESIDE, _REFUSED_BESIDE = "_beside", "_refused_beside"


@dataclass(frozen=True)
class Opened:
    """A table with what its checkpoint said about it.

    Parameters
    ----------
    ref : str
    read : Read
        With a table; held as it was read, so that every visitor who has it open shares it.
    """

    ref: str
    read: Read

    @property
    def table(self) -> PositionTable:
        """The table itself."""
        assert self.read.table is not None, "only what holds a table is open"
        return self.read.table

    @property
    def facts(self) -> Facts:
        """What its checkpoint said."""
        return self.read.facts


@dataclass(frozen=True)
class Refused:
    """What was asked for and not opened.

    Parameters
    ----------
    asked : (str, str or None)
        Reference and parameter.
    sentence : str
        Why not, and what is shown instead.
    facts : Facts or None
        What is in the checkpoint, where it opened but holds no table that can be shown.
    why : str
        The sentence without what is shown instead.
    read : Read or None
        Whose facts these are; held, so that a tensor of it can still be opened by hand.
    """

    asked: tuple[str, str | None]
    sentence: str
    facts: Facts | None = None
    why: str = ""
    read: Read | None = None


def current() -> Opened:
    """The table every page shows; :func:`choose` has run before any page does."""
    return cast("Opened", st.session_state[_OPEN])


def last() -> Opened | None:
    """The table that was open in the run before, if there was one."""
    return cast("Opened | None", st.session_state.get(_OPEN))


def refused() -> Refused | None:
    """What was asked for, where that is not what is open."""
    return cast("Refused | None", st.session_state.get(_REFUSED))


def try_again() -> None:
    """Forget what was refused, so that the next run asks for it once more."""
    st.session_state.pop(_REFUSED, None)
    st.session_state.pop(_REFUSED_BESIDE, None)


def choose(ref: str | None, parameter: str | None = None) -> Opened:
    """Open ``ref``, or keep what was open and say why; the offline demo if nothing was.

    What was refused is not asked for again on every run: an unreachable Hub would make each
    click wait for it.
    """
    session, asked = st.session_state, (ref or DEFAULT, parameter)
    session[_ASKED] = asked
    before = refused()
    if before and before.asked == asked:
        return current()
    session.pop(_REFUSED, None)
    facts = found = None
    try:
        found = _read(*asked)
        if found.table is not None:
            session[_OPEN] = Opened(found.facts.ref, found)
            return current()
        sentence, facts = found.sentence, found.facts
    except PosvizError as error:
        sentence = str(error)
    if _OPEN not in session:
        demo = _read(DEFAULT, None)
        assert demo.table is not None, "the shipped demo holds a table"
        session[_OPEN] = Opened(DEFAULT, demo)
    said = f"{_about(asked[0], sentence)} Still showing {current().ref}."
    session[_REFUSED] = Refused(asked, said, facts, sentence, found)
    return current()


def beside(ref: str, parameter: str | None = None, *, instead: str) -> tuple[Opened, str | None]:
    """Another table to hold the open one against; where it cannot be opened, ``instead`` and why.

    As with :func:`choose`, what was refused is not asked for again on every run.
    """
    session, asked = st.session_state, (ref, parameter)
    before = cast("Refused | None", session.get(_REFUSED_BESIDE))
    if before is None or before.asked != asked:
        session.pop(_REFUSED_BESIDE, None)
        try:
            found = _read(*asked)
            if found.table is not None:
                session[_BESIDE] = Opened(ref, found)
                return session[_BESIDE], None
            sentence = found.sentence
        except PosvizError as error:
            sentence = str(error)
        said = f"{_about(ref, sentence)} Comparing with {instead}."
        before = session[_REFUSED_BESIDE] = Refused(asked, said)
    found = _read(instead, None)
    assert found.table is not None, "a generated table always opens"
    return Opened(instead, found), before.sentence


def take_upload(files: Mapping[str, IO[bytes]]) -> str | None:
    """Keep what is of use of uploaded files and return its reference; None, and why, if nothing."""
    try:
        ref = uploads.take(files)
        try_again()  # the same reference may have been refused for want of this upload
        return ref
    except (PosvizError, MemoryError) as error:
        said = str(error) or "The upload does not fit into the memory of this server."
        sentence = f"{said} Still showing {current().ref}."
        st.session_state[_REFUSED] = Refused(st.session_state[_ASKED], sentence)
        return None


def _about(ref: str, sentence: str) -> str:
    """The sentence under what was asked for, unless it begins with that or names it."""
    rest = ref.partition(":")[2] or ref
    path = PurePath(rest.partition("@")[0])
    begins = sentence.startswith(tuple(filter(None, (rest, path.name, path.stem))))
    return sentence if begins or ref in sentence else f"{ref}: {sentence}"


def _read(ref: str, parameter: str | None) -> Read:
    if ref.startswith(uploads.PREFIX):
        return uploads.opened(ref, parameter)
    access = visitor_access()
    try:
        rights = hashlib.sha256(str(access.token).encode()).hexdigest()  # no token is kept
        key = (ref, parameter, _stamp(ref, access), rights)
        return kept.TABLES.get(key, lambda: _read_file(ref, parameter, access))
    except MemoryError as err:
        raise SourceError(
            f"{ref} does not fit into the memory of this server. Open a smaller table."
        ) from err


def _read_file(ref: str, parameter: str | None, access: Access) -> Read:
    with sources.open(ref, access=access) as checkpoint:
        return read(checkpoint, parameter)


def _stamp(ref: str, access: Access) -> str:
    """A text that changes when a local file or folder does; empty for everything else."""
    kind, _, name = ref.partition(":")
    try:
        if kind == "run":
            path = runs_folder() / PurePath(name.partition("@")[0]).name / SNAPSHOTS
        else:
            path = access.local_path(ref)
        files = sorted(islice(_files(path), _STAMPED))
        stats = [(file.name, file.stat()) for file in files]
    except (PosvizError, OSError, ValueError):
        return ""
    return ";".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


def _files(path: Path) -> Iterator[Path]:
    """A file and the config beside it, or the files of a folder and of the folders in it."""
    if not path.is_dir():
        yield path
        config = path.with_name("config.json")
        if config.is_file():
            yield config
        return
    for found in path.iterdir():
        yield from found.iterdir() if found.is_dir() and not found.name.startswith(".") else [found]
