"""Tensors that may be position tables, judged by name, type and axes alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.errors import SourceError
from posviz.sources import configs, layouts, shapes
from posviz.sources.formats.dtypes import is_real
from posviz.sources.formats.tensors import Entry

if TYPE_CHECKING:
    from posviz.sources.configs import Config
    from posviz.sources.layouts import Layout

ReadEntry = Callable[[Entry], NDArray[np.float32]]

_MOST_ROWS = 1 << 16  # of a table that is made by combining two axes
_MOST_BYTES = 256 << 20
MOST_SUSPECTS = 512  # more than the snapshots of a long training, let alone any model
_MOST_NEAR = 20_000  # names that come near to those of position tables; models have a few hundred


@dataclass(frozen=True)
class _PairRule:
    """Two tensors, one a row axis and one a column axis, that make one table together."""

    ending: str
    row: str
    columns: tuple[str, ...]
    combine: str
    columns_first: bool = False


_PAIRS = (
    _PairRule(r"row_embed(?:dings)?", "row", ("col", "column"), "concat", columns_first=True),
    _PairRule(r"row_(?:position_embeddings|embedder)", "row", ("col", "column"), "sum"),
    _PairRule(r"pos_embed_y", "embed_y", ("embed_x",), "sum"),
    _PairRule(r"position_embeddings\.weights\.0", "weights.0", ("weights.1",), "concat"),
)

_AUXILIARY = {"mllama tile", "memory_temporal", "img_temporal", "florence2 temporal"}
_IMAGE_RULES = {"position_embedding(s)", "pos_embed*", "pos_embedding", "positional_embedding",
                "patch_pos/pixel_pos"}  # fmt: skip


@dataclass(frozen=True)
class Suspect:
    """One tensor, or a pair that makes one table, with all that is known before reading it.

    Parameters
    ----------
    parts : tuple of Entry
        The tensor, or the row tensor and the column tensor.
    axes : tuple of Axes
        How each is read.
    known : Layout or None
        What the catalogue says of it.
    chain : tuple of mapping
        The configs that govern it, closest first.
    tower : str or None
        ``text``, ``vision`` or ``audio``.
    kind : str
        As in Layout, with ``part`` for one axis of a pair.
    part : int
        Which table of a stack is read.
    combine : {"sum", "concat"} or None
    columns_first : bool
        Whether the column's dimensions come first in a concatenation.
    """

    parts: tuple[Entry, ...]
    axes: tuple[shapes.Axes, ...]
    known: Layout | None
    chain: tuple[Config, ...]
    tower: str | None
    kind: str
    part: int = 0
    combine: str | None = None
    columns_first: bool = False

    @property
    def parameter(self) -> str:
        """The names joined by ``+``; with ``[1]`` for another part of a stack than the first."""
        joined = "+".join(entry.name for entry in self.parts)
        return f"{joined}[{self.part}]" if self.part else joined

    @property
    def n_rows(self) -> int:
        """Rows as read, offset rows included."""
        return self.axes[0].n_rows * (self.axes[1].n_rows if self.combine else 1)

    @property
    def d_model(self) -> int:
        """Dimensions of a row."""
        widths = [how.d_model for how in self.axes]
        return sum(widths) if self.combine == "concat" else widths[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows as float32."""
        return self.n_rows * self.d_model * 4

    @property
    def is_image(self) -> bool:
        """Whether positions are taken for image patches."""
        if self.tower in ("text", "audio") and not (self.known and self.known.grid == "ft"):
            return False
        if self.known is not None:
            return self.known.grid not in ("-", "part")
        entry = self.parts[0]
        stacked = len(entry.shape or ()) > 2 and layouts.rule(entry.name) in _IMAGE_RULES
        return self.tower == "vision" or stacked

    def rows(self, read: ReadEntry) -> NDArray[np.float32]:  # (n_rows, d_model)
        """The numbers, read and arranged as rows of positions."""
        first, *second = [
            shapes.as_rows(read(entry), how, self.part)
            for entry, how in zip(self.parts, self.axes, strict=True)
        ]
        if not second:
            return first
        column = second[0]
        if self.combine == "sum":
            return (first[:, None] + column[None]).reshape(self.n_rows, -1)
        shape = (len(first), len(column))
        wide = np.broadcast_to(first[:, None], (*shape, first.shape[1]))
        long = np.broadcast_to(column[None], (*shape, column.shape[1]))
        both = (long, wide) if self.columns_first else (wide, long)
        return np.concatenate(both, axis=2).reshape(self.n_rows, -1)


def find(entries: Iterable[Entry], config: Config | None) -> list[Suspect]:
    """Every tensor whose name, type and axes are those of a position table, pairs joined.

    Raises
    ------
    SourceError
        More names that come near to one than patterns are tried on.
    """
    found, near = [], 0
    for entry in entries:
        # Most tensors of a model are told by their axes, at less cost than by their names.
        if len(entry.shape or ()) < 2 or not layouts.is_near(entry.name):
            continue
        near += 1
        if near > _MOST_NEAR:
            raise SourceError(
                f"{entry.file}: more than {_MOST_NEAR:,} of its tensors are named much like "
                f"position tables, as in no model. Save the table alone in a file of its own."
            )
        if layouts.rule(entry.name) is not None:
            suspect = examine(entry, config)
            if suspect is not None and suspect.n_rows > 1 and suspect.kind != "rotary":
                found.append(suspect)
        if len(found) == MOST_SUSPECTS:
            break
    return _joined(found)


def unfit(entries: Sequence[Entry], config: Config | None) -> Entry | None:
    """The tensor that has the name of a position table, and a type or axes that rule one out."""
    unfit = None
    near = (entry for entry in entries if entry.shape is not None and layouts.is_near(entry.name))
    for entry in islice(near, _MOST_NEAR):
        real = is_real(entry.dtype or "F32")
        if (real and unfit is not None) or layouts.rule(entry.name) is None:
            continue
        if not real:
            return entry
        found = examine(entry, config)
        if found is None or found.n_rows < 2:
            unfit = entry
    return unfit


def examine(entry: Entry, config: Config | None, part: int = 0) -> Suspect | None:
    """One tensor by its axes, or None where its type or axes rule a table out."""
    if entry.shape is None or entry.dtype is None or not is_real(entry.dtype):
        return None
    chain = configs.chain(config, entry.name)
    types = configs.types(chain, entry.name)
    known = layouts.layout(types, entry.name)
    how = shapes.axes(entry.shape, entry.name, known)
    if how is None or part >= how.parts:
        return None
    tower = configs.tower(entry.name, types)
    return Suspect((entry,), (how,), known, chain, tower, _kind(entry.name, known), part)


def _kind(name: str, known: Layout | None) -> str:
    rule = layouts.rule(name)
    if known is not None and known.grid == "part":
        return "part"
    if known is not None:
        return known.kind
    if rule == "layout x/y/h/w/box":
        return "box"
    if rule == "row/col":
        return "part"
    return "auxiliary" if rule in _AUXILIARY else "learned"


def _joined(found: list[Suspect]) -> list[Suspect]:
    """Row and column tensors as one suspect each, where the whole is not too large."""
    by_name = {suspect.parts[0].name: suspect for suspect in found}
    gone: set[str] = set()
    joined = []
    for suspect in found:
        whole = _pair(suspect, by_name)
        if whole is not None:
            gone.update(entry.name for entry in whole.parts)
            joined.append(whole)
    return [suspect for suspect in found if suspect.parts[0].name not in gone] + joined


def _pair(row: Suspect, by_name: dict[str, Suspect]) -> Suspect | None:
    name = row.parts[0].name
    for rule in _PAIRS:
        if not re.search(rf"(?:^|[./]){rule.ending}(?:\.weight|:0)?$", name):
            continue
        head, _, tail = name.rpartition(rule.row)
        names = (f"{head}{column}{tail}" for column in rule.columns)
        column = next((by_name[other] for other in names if other in by_name), None)
        if column is None or (rule.combine == "sum" and row.d_model != column.d_model):
            return None
        whole = replace(
            row,
            parts=row.parts + column.parts,
            axes=row.axes + column.axes,
            kind="learned",
            combine=rule.combine,
            columns_first=rule.columns_first,
        )
        fits = whole.n_rows <= _MOST_ROWS and whole.nbytes <= _MOST_BYTES
        return whole if fits else None
    return None
