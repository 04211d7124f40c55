"""The verdict on one checkpoint: its position tables, best first, and what else to say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from posviz.errors import SourceError
from posviz.sources import offsets, ownnames, reasons, schemes, shapes, suspects, values
from posviz.sources.checkpoint import MAX_TABLE_BYTES, Candidate, Reading, two_axes
from posviz.sources.formats.tensors import brief
from posviz.sources.names import is_copy, is_decoder, is_original, label, places
from posviz.sources.saved import saved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.configs import Config
    from posviz.sources.formats.tensors import Entry
    from posviz.sources.suspects import ReadEntry, Suspect
    from posviz.table import Kind

_EXAMINED_BYTES = 64 << 20  # of tables whose numbers are looked at besides the one that opens
_MOST_ROWS = 1 << 24

_SNAPSHOT = re.compile(r"step-(\d{1,12})")  # other names may begin like one
_RANK = {"learned": 0, "part": 2, "sinusoidal": 3, "box": 5, "auxiliary": 6}


class Seen(NamedTuple):
    """A table that was read: its rows, and what they show."""

    rows: NDArray[np.float32]
    look: values.Look


@dataclass
class Case:
    """All that is known about one checkpoint's tables, and the numbers seen so far.

    Parameters
    ----------
    entries : sequence of Entry
    config : mapping or None
    read : function
        From an entry to its values.
    remote : bool
        Whether a read is a request, so that only the table that opens is looked at.
    offset_rows : bool
        Whether files of this format keep the rows that no position uses (GGUF drops them).
    bare : bool
        Whether the file is nothing but an array, which is then the table whatever its name.
    metadata : mapping
        Text pairs of the file's header, where posviz writes the layout of a saved table.
    unread : dict
        Why the numbers of some suspects cannot be read; those come last.
    """

    entries: Sequence[Entry]
    config: Config | None
    read: ReadEntry
    remote: bool = False
    offset_rows: bool = True
    bare: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    suspects: dict[str, Suspect] = field(default_factory=dict)
    judged: dict[str, Candidate] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def see(self, suspect: Suspect) -> Seen:
        """A suspect's rows and what they show; read once."""
        seen = self.seen.get(suspect.parameter)
        if seen is None:
            if suspect.nbytes > MAX_TABLE_BYTES:
                raise SourceError(
                    f"{suspect.parameter} would take {suspect.nbytes >> 20:,} MiB, more than any "
                    f"position table ({MAX_TABLE_BYTES >> 20:,} MiB). Name another tensor."
                )
            if suspect.n_rows > _MOST_ROWS:  # of no columns: they take no bytes, each row does
                raise SourceError(
                    f"{suspect.parameter} has {suspect.n_rows:,} rows, more than any position "
                    f"table. Name another tensor."
                )
            rows = suspect.rows(self.read)
            seen = Seen(rows, values.look(rows, suspect.parts[0].dtype or ""))
            self.seen[suspect.parameter] = seen
        return seen

    def look(self, suspect: Suspect) -> None:
        """See a suspect, or note why its numbers cannot be read: what else is there may be."""
        try:
            self.see(suspect)
        except SourceError as err:
            if self.remote:  # perhaps it is the network
                raise
            self.unread[suspect.parameter] = str(err)


@dataclass(frozen=True)
class Findings:
    """What the detective reports."""

    tables: tuple[Candidate, ...]
    scheme: str
    message: str | None
    warnings: tuple[str, ...]


def investigate(case: Case) -> Findings:
    """Find the position tables of a checkpoint, order them and say why.

    Names, types and axes make the suspects; the catalogue and the config say how each is laid
    out; the numbers tell a stored sinusoid from a learned table. The numbers of the table that
    opens are always looked at, those of the others while that costs little.
    """
    found = suspects.find(case.entries, case.config)
    if not found and (case.bare or "posviz.kind" in case.metadata):
        arrays = (suspects.examine(entry, case.config) for entry in case.entries)
        found = [suspect for suspect in arrays if suspect is not None]
    by_word = False
    if not found:
        scheme, message = _without_table(case)
        if scheme == "unknown":
            found, by_word = ownnames.find(case.entries, case.config), True
        if not found:
            return Findings((), scheme, message, ())
    ordered = _ordered(found, case)
    tables = [candidate(suspect, case) for suspect in ordered]
    tables[0] = replace(tables[0], default=True)
    case.suspects.update((suspect.parameter, suspect) for suspect in ordered)
    best = tables[0]
    seen = case.seen.get(best.parameter)
    warnings = reasons.warnings(ordered[0], best, seen.look if seen else None)
    instead = schemes.beside(case.config) if ordered[0].tower == "vision" else None
    if instead is not None:
        said = "This table belongs to the vision tower; the language model has none."
        warnings = (*warnings, f"{said} {schemes.instead(instead)}")
    if by_word and best.kind != "sinusoidal":
        warnings = (*warnings, ownnames.warning(brief(best.label)))
    scheme = "none" if best.kind == "random" else best.kind
    return Findings(tuple(tables), scheme, None, (*case.unread.values(), *warnings))


def _without_table(case: Case) -> tuple[str, str]:
    """The scheme, and why no tensor has the name of a position table."""
    scheme, message = schemes.explain(case.entries, case.config)
    if case.bare and case.entries:
        message = reasons.not_a_table(case.entries[0], 0)
    elif scheme == "unknown" and (unfit := suspects.unfit(case.entries, case.config)) is not None:
        message = reasons.not_a_table(unfit, 0)
    elif message.startswith("No position table was found"):
        message = f"{message} {two_axes(tuple(case.entries))}"
    return scheme, message


def by_hand(parameter: str, case: Case) -> Candidate | None:
    """The tensor a person named, as a table; None if there is no such tensor.

    Raises
    ------
    SourceError
        The tensor's axes or type rule out a table.
    """
    name, part = parameter, 0
    entry = next((entry for entry in case.entries if entry.name == name), None)
    if entry is None and parameter.endswith("]") and "[" in parameter:
        name, _, number = parameter[:-1].rpartition("[")
        part = int(number) if number.isdecimal() and len(number) < 4 else -1
        entry = next((entry for entry in case.entries if entry.name == name), None)
    if entry is None:
        return None
    suspect = suspects.examine(entry, case.config, part) if part >= 0 else None
    if suspect is None:
        raise SourceError(reasons.not_a_table(entry, part))
    case.suspects[suspect.parameter] = suspect
    return candidate(suspect, case)


def read_table(chosen: Candidate, case: Case) -> Reading:
    """A candidate with its rows, judged again where its numbers had not been seen before."""
    suspect = case.suspects[chosen.parameter]
    seen = case.see(suspect)
    judged = replace(candidate(suspect, case), default=chosen.default)
    return Reading(judged, seen.rows, finite=not len(seen.look.unfinite_rows))


def candidate(suspect: Suspect, case: Case) -> Candidate:
    """A suspect as the candidate a person sees, the same again once its numbers were seen."""
    known = case.judged.get(suspect.parameter)
    if known is None:
        seen = case.seen.get(suspect.parameter)
        known = _judge(suspect, seen, case)
        if seen is not None:
            case.judged[suspect.parameter] = known
    return known


def _judge(suspect: Suspect, seen: Seen | None, case: Case) -> Candidate:
    kind = _kind(suspect, seen)
    why: str | None
    before = saved(case.metadata, suspect.n_rows) if len(case.entries) == 1 else None
    if before is not None:
        kind, offset, why = before.kind, before.row_offset, None
        grid, prefix, suffix = before.grid, before.prefix_rows, before.suffix_rows
    else:
        offset, why = (
            offsets.leading_rows(suspect, seen.look if seen else None)
            if case.offset_rows
            else (0, None)
        )
        grid, prefix, suffix = _grid(suspect, offset)
    first = suspect.parts[0]
    plain = Candidate(
        parameter=suspect.parameter,
        file=first.file,
        shape=first.shape or (),
        dtype=first.dtype or "",
        kind=kind,
        n_positions=suspect.n_rows - offset,
        d_model=suspect.d_model,
        row_offset=offset,
        prefix_rows=prefix,
        suffix_rows=suffix,
        grid=grid,
        default=False,
        reason="",
        combine=suspect.combine,
        label=label(suspect.parameter),
    )
    if before is not None:
        said = f"{plain.label} is a table that posviz saved; the header says how its rows lie."
        return replace(plain, reason=said)
    said = reasons.reason(suspect, plain, why, seen=seen is not None, bare=case.bare)
    return replace(plain, reason=said)


def _grid(suspect: Suspect, offset: int) -> tuple[tuple[int, int] | None, int, int]:
    """The grid of patches, and the rows before and after it."""
    if suspect.combine:
        size = (suspect.axes[0].n_rows, suspect.axes[1].n_rows)
        return (None if _is_sequence(suspect) else size), 0, 0
    if suspect.axes[0].grid is not None:
        return suspect.axes[0].grid, 0, 0
    rows = suspect.n_rows - offset
    return shapes.grid(rows, suspect.known, suspect.chain, image=suspect.is_image)


def _ordered(found: list[Suspect], case: Case) -> list[Suspect]:
    """Best first: a learned sequence, then image patches, axes, sinusoids, the rest.

    The first is looked at until one holds what its name promises.
    """
    place = places([suspect.parameter for suspect in found])
    found = sorted(found, key=lambda suspect: place[suspect.parameter])
    budget = 0 if case.remote else _EXAMINED_BYTES
    for suspect in sorted(found, key=lambda suspect: _rank(suspect, None)):
        if suspect.nbytes <= budget:
            budget -= suspect.nbytes
            case.look(suspect)

    def rank(suspect: Suspect) -> tuple[object, ...]:
        name = suspect.parameter
        return name in case.unread, *_rank(suspect, case.seen.get(name))

    while True:
        best = min(found, key=rank)
        known = best.parameter in case.seen or best.parameter in case.unread
        if known or best.nbytes > MAX_TABLE_BYTES:
            return sorted(found, key=rank)
        case.look(best)


def _rank(suspect: Suspect, seen: Seen | None) -> tuple[object, ...]:
    kind = suspect.kind
    if kind in ("learned", "sinusoidal"):
        kind = _kind(suspect, seen)
    rank = _RANK.get(kind, 6)
    if rank == 0 and suspect.is_image:
        rank = 1
    if seen is not None and len(seen.look.zero_rows) == suspect.n_rows:
        rank = 4
    name = suspect.parts[0].name
    snapshot = _SNAPSHOT.fullmatch(name)
    if snapshot is not None:  # of one table in training: the last is the trained one
        return rank, False, False, -int(snapshot[1])
    return (
        rank,
        is_copy(name) or is_original(name),
        is_decoder(name),
        -suspect.n_rows if rank == 1 else 0,
    )


def _kind(suspect: Suspect, seen: Seen | None) -> Kind:
    sinusoid = seen.look.sinusoid if seen is not None else suspect.kind == "sinusoidal"
    return "sinusoidal" if sinusoid else "learned"


def _is_sequence(suspect: Suspect) -> bool:
    return ".weights.0" in suspect.parts[0].name  # Reformer folds one long axis into two
