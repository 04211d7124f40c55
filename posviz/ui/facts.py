"""What a checkpoint said when it was opened, kept after its file is closed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from posviz.errors import NoTableError, SourceError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from posviz.sources import Candidate, Checkpoint, Entry
    from posviz.table import PositionTable


@dataclass(frozen=True)
class Facts:
    """Everything about a checkpoint but its numbers; the fields are those of ``Checkpoint``."""

    ref: str
    source: str
    format: str
    model_type: str | None
    config: Mapping[str, object] = field(repr=False)
    entries: tuple[Entry, ...] = field(repr=False)
    tables: tuple[Candidate, ...]
    scheme: str
    message: str | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    size: int
    bytes_read: int
    requests: int
    revision: str | None

    @property
    def by_hand(self) -> tuple[Entry, ...]:
        """Tensors with two axes: what a person may open as a table all the same."""
        return tuple(
            entry
            for entry in self.entries
            if entry.shape is not None and sum(length > 1 for length in entry.shape) == 2
        )


@dataclass(frozen=True)
class Read:
    """A checkpoint's facts with its table, or with the sentence that says why there is none.

    What it is a part of, such as an upload with further tables, stays in memory as long as it.
    """

    facts: Facts
    table: PositionTable | None
    sentence: str = ""
    part_of: object = field(default=None, repr=False)


def read(checkpoint: Checkpoint, parameter: str | None) -> Read:
    """Read one table of an open checkpoint.

    A checkpoint without one, or with one whose numbers cannot be shown, keeps its facts: what else
    is in it can be looked at, and opened by hand.

    Raises
    ------
    PosvizError
        The named tensor is not there or cannot be a table.
    """
    try:
        table, sentence = checkpoint.table(parameter), ""
    except (SourceError, TableError) as error:
        if parameter is not None and not isinstance(error, (NoTableError, TableError)):
            raise
        table, sentence = None, str(error)
    return Read(facts(checkpoint), table, sentence)


def facts(checkpoint: Checkpoint) -> Facts:
    """What the checkpoint has said so far, the bytes read included."""
    return Facts(
        ref=checkpoint.ref,
        source=checkpoint.source,
        format=checkpoint.format,
        model_type=checkpoint.model_type,
        config=checkpoint.config or {},
        entries=checkpoint.entries,
        tables=checkpoint.tables,
        scheme=checkpoint.scheme,
        message=checkpoint.message,
        warnings=checkpoint.warnings,
        notes=checkpoint.notes,
        size=checkpoint.size,
        bytes_read=checkpoint.bytes_read,
        requests=checkpoint.requests,
        revision=checkpoint.revision,
    )
