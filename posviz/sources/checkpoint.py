"""The opened thing: every tensor it lists, the position tables found in it, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from posviz.errors import NoTableError, SourceError
from posviz.sources.formats.dtypes import is_real
from posviz.sources.formats.tensors import Entry, brief, shape_text
from posviz.sources.parts import Span, check
from posviz.sources.readers import Traffic
from posviz.table import Kind, PositionTable, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

MAX_TABLE_BYTES = 1 << 30
"""Tensors over this size, counted as float32, are never read: no position table is."""

_NAMED = 8  # how many names an error lists


@dataclass(frozen=True)
class Candidate:
    """One position table of a checkpoint, with the reason it was taken for one.

    Parameters
    ----------
    parameter : str
        Full dotted name in the file; the names joined by ``+`` for a table stored in parts.
    file : str
        Base name of the file.
    shape : tuple of int
        As stored (of a table in parts: of the first part).
    dtype : str
        As stored, safetensors spelling.
    kind : {"learned", "sinusoidal", "random"}
    n_positions, d_model : int
        Rows without the offset rows, and dimensions.
    row_offset, prefix_rows, suffix_rows : int
        As in PositionTable.
    grid : (int, int) or None
    default : bool
        Whether this one opens when none is named.
    reason : str
        One sentence for the person who asks why.
    combine : {"sum", "concat"} or None
        How the parts of a table stored in parts become one.
    label : str
        The name without the wrappers of training code, for titles and menus.
    """

    parameter: str
    file: str
    shape: tuple[int, ...]
    dtype: str
    kind: Kind
    n_positions: int
    d_model: int
    row_offset: int
    prefix_rows: int
    suffix_rows: int
    grid: tuple[int, int] | None
    default: bool
    reason: str
    combine: str | None = None
    label: str = ""


class Reading(NamedTuple):
    """A candidate, judged by its numbers, and what was read of it.

    Parameters
    ----------
    candidate : Candidate
    rows : array of shape (row_offset + n_positions, d_model)
    finite : bool
        Whether every number was looked at and is finite.
    """

    candidate: Candidate
    rows: NDArray[np.float32]
    finite: bool = False


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file, folder, upload, Hub model or generated table, opened but hardly read.

    Parameters
    ----------
    ref : str
        The reference that opens it.
    source : str
        ``file``, ``upload``, ``hub``, ``demo``, ``run`` or ``generated``.
    name : str
        Short name for titles.
    format : str
        Key of FORMATS, or ``generated``.
    model_type : str or None
        What config.json says.
    config : mapping or None
        config.json, or what the file itself says of the model.
    entries : tuple of Entry
        Every tensor. Those of shards that were not opened have a name and a file only.
    tables : tuple of Candidate
        Position tables, best first; the first is the one that opens.
    scheme : str
        How the model knows positions: ``learned``, ``sinusoidal``, ``rotary``, ``alibi``,
        ``relative``, ``convolutional``, ``none`` or ``unknown``.
    message : str or None
        Why there is no table, and what the model uses instead.
    warnings : tuple of str
        Full sentences.
    size : int
        Bytes of the weight files, and of the small ones that were looked into to understand them
        (0 for generated tables).
    read_entry : function
        From a tensor's name to its values.
    read_table : function
        From a candidate to its Reading.
    by_hand : function
        From the name of any tensor to a candidate, or None if there is no such tensor.
    revision : str or None
        Commit of a Hub model, step of a run.
    traffic : Traffic
        What the readers have counted so far.
    read_block : function or None
        From a tensor's name, rows and columns to that part of it; None where only whole tensors
        are read.
    read_beside : function or None
        From a file's name to its bytes, where it lies beside the weights.
    notes : tuple of str
        Full sentences that give no cause for doubt, such as which other weights lie there too.
    """

    ref: str
    source: str
    name: str
    format: str
    model_type: str | None
    config: Mapping[str, object] | None
    entries: tuple[Entry, ...]
    tables: tuple[Candidate, ...]
    scheme: str
    message: str | None
    warnings: tuple[str, ...]
    size: int
    read_entry: Callable[[str], NDArray[np.float32]]
    read_table: Callable[[Candidate], Reading]
    by_hand: Callable[[str], Candidate | None]
    revision: str | None = None
    traffic: Traffic = field(default_factory=Traffic)
    read_block: Callable[[str, Span, Span | None], NDArray[np.float32]] | None = None
    read_beside: Callable[[str], bytes | None] | None = None
    notes: tuple[str, ...] = ()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close: no file stays open between reads."""

    @property
    def bytes_read(self) -> int:
        """Bytes of its files read so far, each counted once; of a Hub model those sent by it."""
        return self.traffic.bytes_read

    @property
    def requests(self) -> int:
        """Requests sent so far; 0 unless the checkpoint is remote."""
        return self.traffic.requests

    def read(self, name: str) -> NDArray[np.float32]:
        """Any tensor as float32, in its stored shape.

        Raises
        ------
        SourceError
            No tensor has that name, or its stored type is not read.
        """
        entry = self.entry(name)
        size = 4 * prod(entry.shape or ())
        if size > MAX_TABLE_BYTES:
            raise SourceError(
                f"{brief(name)} would take {size >> 20:,} MiB as float32; at most "
                f"{MAX_TABLE_BYTES >> 20:,} MiB are read at once."
            )
        return self.read_entry(name)

    def entry(self, name: str) -> Entry:
        """What the checkpoint lists of a tensor.

        Raises
        ------
        SourceError
            No tensor has that name.
        """
        found = next((entry for entry in self.entries if entry.name == name), None)
        if found is None:
            raise SourceError(f"{self.name} holds no tensor named {brief(name)}. {self._choices()}")
        return found

    def read_part(self, name: str, rows: Span, columns: Span | None = None) -> NDArray[np.float32]:
        """Some rows of any tensor, or some columns of them, as float32; no byte more is read.

        Where the file can be read in pieces only by many requests, the columns are cut out of
        whole rows.

        Raises
        ------
        SourceError
            No tensor has that name or such rows, or its stored type is not read.
        """
        entry = self.entry(name)
        if self.read_block is not None and entry.shape is not None:
            return self.read_block(name, rows, columns)
        whole = self.read(name)
        check(name, whole.shape, rows, columns)
        part: NDArray[np.float32] = whole[slice(*rows)]
        return part if columns is None else part[:, slice(*columns)]

    def beside(self, name: str) -> bytes | None:
        """A file that lies beside the weights, such as ``tokenizer.json``; None without one."""
        return None if self.read_beside is None else self.read_beside(name)

    def table(self, parameter: str | None = None) -> PositionTable:
        """The chosen position table, or the named one.

        Parameters
        ----------
        parameter : str or None
            A candidate's ``parameter``, its label, or the name of any tensor that has two
            axes once those of length one are left out.

        Raises
        ------
        NoTableError
            No parameter was named and nothing in the checkpoint is a position table.
        SourceError
            The named tensor is not there, or cannot be a table; the sentence names the choices.
        TableError
            The stored numbers are not finite.
        """
        candidate, rows, finite = self.read_table(self.candidate(parameter))
        provenance = Provenance(
            source=self.source,
            ref=self.ref,
            file=candidate.file if self.source != "generated" else None,
            parameter=candidate.parameter if self.source != "generated" else None,
            revision=self.revision,
            dtype=candidate.dtype,
        )
        several = len(self.tables) > 1 or not candidate.default
        return PositionTable(
            rows,
            name=f"{self.name} · {candidate.label}" if several else self.name,
            provenance=provenance,
            kind=candidate.kind,
            row_offset=candidate.row_offset,
            grid=candidate.grid,
            prefix_rows=candidate.prefix_rows,
            suffix_rows=candidate.suffix_rows,
            seen_finite=finite,
        )

    def candidate(self, parameter: str | None = None) -> Candidate:
        """The candidate that `table` opens; raises as `table` does."""
        if parameter is None:
            if not self.tables:
                raise NoTableError(self.without_table(), scheme=self.scheme)
            return self.tables[0]
        for candidate in self.tables:
            if candidate.parameter == parameter:
                return candidate
        labelled = [candidate for candidate in self.tables if candidate.label == parameter]
        if len(labelled) == 1:
            return labelled[0]
        named = self.by_hand(parameter)
        if named is not None:
            return named
        raise SourceError(
            f"{self.name} holds no tensor named {brief(parameter)}. {self._choices()}"
        )

    def without_table(self) -> str:
        """The sentence for who asks for a table where there is none; it names the checkpoint."""
        said = self.message or "no position table was found."
        return said if said.startswith(self.name) else f"{self.name}: {said}"

    def _choices(self) -> str:
        if self.tables:
            names = [candidate.parameter for candidate in self.tables]
            return f"Its position tables: {listed(names)}."
        return two_axes(self.entries)


def two_axes(entries: tuple[Entry, ...]) -> str:
    """The sentence that offers the tensors which could be opened by hand."""
    flat = [
        f"{entry.name} ({shape_text(entry.shape)})"
        for entry in entries
        if entry.shape is not None
        and len([n for n in entry.shape if n > 1]) == 2
        and is_real(entry.dtype or "")
    ]
    if not entries:
        return "The file holds 0 tensors."
    if not flat:
        if len(entries) == 1:
            only = entries[0]
            kind = f"{only.dtype} of shape {shape_text(only.shape)}" if only.shape else only.dtype
            return f"Its one tensor, {brief(only.name)}, is {kind}: no real numbers on two axes."
        return f"None of its {len(entries):,} tensors holds real numbers on two axes."
    return f"Tensors with two axes: {listed(flat)}. Name one to open it by hand."


def listed(names: list[str]) -> str:
    """The first names, shortened, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(brief, names[:_NAMED])) + more
