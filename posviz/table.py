"""The value that travels through posviz: a position table and where it came from."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from posviz.errors import TableError

Kind = Literal["learned", "sinusoidal", "random"]
Rows = NDArray[np.float32]

_NAMED_ROWS = 5  # how many offending rows an error names before it says "and N more"


@dataclass(frozen=True)
class Provenance:
    """Where a table came from: enough to fetch the same numbers again.

    Parameters
    ----------
    source : str
        ``file``, ``upload``, ``hub``, ``demo``, ``run``, ``generated`` or ``derived``.
    ref : str
        The reference that opens it (docs/using.md lists the forms).
    file : str or None
        Base name of the file that holds the table.
    parameter : str or None
        Full dotted name in the file, container keys included.
    revision : str or None
        Commit of a Hub model, step of a run.
    dtype : str or None
        Stored type in safetensors spelling (``F32``, ``BF16``), before the change to float32.
    note : str or None
        What was done to the stored numbers, for derived tables ("linear, 1024 to 2048").
    """

    source: str
    ref: str
    file: str | None = None
    parameter: str | None = None
    revision: str | None = None
    dtype: str | None = None
    note: str | None = None

    def line(self) -> str:
        """One quiet line for under a figure: reference, tensor, stored type, commit, change."""
        # A run's revision is its step, which the name of its tensor says already.
        revision = self.revision[:12] if self.revision and self.source != "run" else None
        parts = (self.ref, self.parameter, self.dtype, revision, self.note)
        return " · ".join(part for part in parts if part)

    def header(self) -> dict[str, str]:
        """The same as text pairs, for the header of every file that posviz saves."""
        return {f"posviz.{name}": value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, eq=False)
class PositionTable:
    """An absolute position table: one row a position, checked once, never changed.

    The constructor is the only gate. What passes is two-dimensional, finite, float32 and
    read-only, with at least one position; the rest of posviz trusts it.

    Parameters
    ----------
    raw : array of shape (row_offset + n_positions, d_model)
        The rows as stored, in the weights' own units, not centred. Converted to float32.
    name : str
        Short name for titles and menus.
    provenance : Provenance
    kind : {"learned", "sinusoidal", "random"}
    row_offset : int
        Leading rows that no position uses (RoBERTa and OPT: 2). Position p is
        ``raw[p + row_offset]``.
    grid : (int, int) or None
        Height and width when positions are image patches, row-major, between the prefix and
        suffix rows.
    prefix_rows, suffix_rows : int
        Class or register rows that are used but stand outside the grid. They count as positions.
    seen_finite : bool
        Whether the caller has looked at every number and found it finite, which costs as much as
        reading the table does.

    Raises
    ------
    TableError
        Not two-dimensional, no row left after the offset, values that are not finite (the
        rows are named), or a grid that does not fill the rows.
    """

    raw: Rows
    name: str
    provenance: Provenance
    kind: Kind = "learned"
    row_offset: int = 0
    grid: tuple[int, int] | None = None
    prefix_rows: int = 0
    suffix_rows: int = 0
    seen_finite: InitVar[bool] = False

    def __post_init__(self, seen_finite: bool) -> None:
        raw = np.asarray(self.raw)
        if raw.ndim != 2:
            raise TableError(
                f"{self.name}: a position table has two axes, positions and dimensions; "
                f"this array has shape {_shape(raw.shape)}. Pick another tensor."
            )
        if raw.dtype.kind not in "fiu":
            raise TableError(
                f"{self.name}: a position table holds real numbers; this array holds "
                f"{raw.dtype}. Pick another tensor."
            )
        if raw.shape[1] < 1:
            raise TableError(
                f"{self.name}: a position table needs at least one dimension; this array has "
                f"shape {_shape(raw.shape)}. Pick another tensor."
            )
        if self.kind not in get_args(Kind):
            raise TableError(f"{self.name}: kind is one of {', '.join(get_args(Kind))}.")
        if not 0 <= self.row_offset < max(raw.shape[0], 1) or raw.shape[0] < 1:
            raise TableError(
                f"{self.name}: at least one position is needed; the array has {raw.shape[0]} "
                f"rows, of which {self.row_offset} belong to no position. Pick another tensor."
            )
        self._check_grid(raw.shape[0])
        if not seen_finite or raw.dtype != np.float32:
            _check_finite(raw, self.name, self.row_offset)
        object.__setattr__(self, "raw", _frozen(raw))

    def _check_grid(self, stored_rows: int) -> None:
        if self.prefix_rows < 0 or self.suffix_rows < 0:
            raise TableError(f"{self.name}: prefix and suffix rows are counts, never negative.")
        inside = stored_rows - self.row_offset - self.prefix_rows - self.suffix_rows
        if self.grid is not None and self.grid[0] * self.grid[1] != inside:
            height, width = self.grid
            raise TableError(
                f"{self.name}: a grid of {height} × {width} needs {height * width} rows; "
                f"{inside} are left beside the prefix and suffix rows. Give another grid."
            )
        if inside < 0:
            raise TableError(
                f"{self.name}: {self.prefix_rows} prefix and {self.suffix_rows} suffix rows do "
                f"not fit in {stored_rows - self.row_offset} positions."
            )

    @property
    def weights(self) -> Rows:
        """The rows in use: a read-only view of shape (n_positions, d_model), row i position i."""
        return self.raw[self.row_offset :]

    @property
    def n_positions(self) -> int:
        """How many positions there are; prefix and suffix rows count, offset rows do not."""
        return int(self.raw.shape[0]) - self.row_offset

    @property
    def d_model(self) -> int:
        """How many dimensions a row has."""
        return int(self.raw.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the layout and the float32 bytes: equal exactly when the tables are.

        Computed when first asked for, since it costs more than reading the table.
        """
        import hashlib  # where it is used: importing it costs more than opening a table

        layout = (self.raw.shape, self.row_offset, self.grid, self.prefix_rows, self.suffix_rows)
        digest = hashlib.sha256(repr(layout).encode())
        digest.update(self.raw.data)
        return digest.hexdigest()

    def derive(
        self,
        raw: NDArray[np.floating],
        *,
        note: str,
        grid: tuple[int, int] | None = None,
    ) -> PositionTable:
        """A table made from this one: same name, offset and special rows, its history noted.

        Parameters
        ----------
        raw : array of shape (row_offset + new n_positions, d_model)
            The new rows in the stored layout.
        note : str
            What was done, added to the provenance.
        grid : (int, int) or None
            The new grid, for image tables.
        """
        before = self.provenance.note
        provenance = replace(self.provenance, note=f"{before}; {note}" if before else note)
        return replace(self, raw=raw, provenance=provenance, grid=grid)


def _frozen(raw: NDArray[np.generic]) -> Rows:
    """The numbers as float32 that nobody can write: a copy, unless they lie in a bytes object.

    What was read from a file does, and copying it would take longer than reading it did.
    """
    below = raw
    while isinstance(below, np.ndarray) and not below.flags.writeable and below.base is not None:
        below = below.base
    if isinstance(below, bytes) and raw.dtype == np.float32 and raw.flags.c_contiguous:
        return raw.view()
    frozen = np.array(raw, dtype=np.float32, order="C")
    frozen.flags.writeable = False
    return frozen


def _check_finite(raw: NDArray[np.generic], name: str, row_offset: int) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        # One product is far cheaper than a test of every value, and finite only if they all are.
        if raw.dtype == np.float32:
            flat = raw.astype(np.float32, copy=False).ravel()
            if np.isfinite(flat @ flat):
                return
        finite = np.logical_and.reduce(np.isfinite(raw.astype(np.float32, copy=False)), axis=1)
    if finite.all():
        return
    bad = np.flatnonzero(~finite)
    listed = ", ".join(str(row) for row in bad[:_NAMED_ROWS])
    more = f" and {len(bad) - _NAMED_ROWS} more" if len(bad) > _NAMED_ROWS else ""
    rows, hold = ("rows", "hold") if len(bad) > 1 else ("row", "holds")
    with np.errstate(over="ignore", invalid="ignore"):
        # What float64 holds and float32 does not is infinite by now.
        infinite = np.isinf(raw[bad].astype(np.float32, copy=False)).any()
    what = "NaN, infinity or numbers larger than float32 holds" if infinite else "NaN"
    counted = " (stored rows, offset included)" if row_offset else ""
    raise TableError(
        f"{name}: every value of a position table must be a finite float32 number; {rows} "
        f"{listed}{more} of {len(finite)}{counted} {hold} {what}. "
        f"Export the table again, or repair those rows."
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(str(length) for length in shape) or "a single number"
