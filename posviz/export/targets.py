"""Which tensors of a checkpoint follow when one table gets another length, and their new values."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.export.lengths import LengthKey, length_key
from posviz.export.limits import JSON, Lengths
from posviz.export.stored import Tensor, encode
from posviz.sources import suspects
from posviz.sources.shapes import as_stored

if TYPE_CHECKING:
    from posviz.export.recipe import Recipe
    from posviz.interpolation import Extended
    from posviz.sources import Candidate, Entry
    from posviz.sources.bundle import Bundle
    from posviz.sources.suspects import Suspect

# Tables of offsets, whose length follows from the number of positions and which nothing here
# stretches: a model with one fails to load, or reads wrong rows.
_RELATIVE = re.compile(
    r"(?:^|[._])(?:distance_embedding|rel_pos_[hw]|relative_position_bias_table"
    r"|relative_position_index|pos_embed_window)(?:\.weight)?$"
)


@dataclass(frozen=True, eq=False)
class Governed:
    """All that follows one table.

    Parameters
    ----------
    suspect : Suspect
        The table's tensor under the config that is to be changed.
    extended : Extended
    key : LengthKey or None
        What counts its positions in config.json.
    lengths : Lengths
    tensors : mapping of str to Tensor
        New values of the table, of tables that the same key counts, and of copies.
    parent : str
        Dotted path of the module around the table's own, where its buffers lie.
    """

    suspect: Suspect
    extended: Extended
    key: LengthKey | None
    lengths: Lengths
    tensors: dict[str, Tensor]
    parent: str
    grid_before: tuple[int, int] | None

    @property
    def is_image(self) -> bool:
        """Whether positions are patches of a picture."""
        return self.grid_before is not None

    @property
    def grids(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Height and width in patches, before and after."""
        assert self.grid_before is not None
        assert self.extended.table.grid is not None
        return self.grid_before, self.extended.table.grid


def governed(bundle: Bundle, recipe: Recipe, config: JSON, parameter: str | None) -> Governed:
    """The table that is asked for at its new length, and every tensor that must follow it.

    Raises
    ------
    SourceError
        It is stored in a way that cannot be written, or another table stands in the way.
    """
    checkpoint = bundle.checkpoint
    chosen = checkpoint.candidate(parameter)
    entry, suspect = _examined(bundle, chosen, config)
    table = checkpoint.table(chosen.parameter)
    extended = recipe.apply(table)
    lengths = Lengths(table.n_positions, extended.table.n_positions, table.row_offset)
    parent = entry.name.removesuffix(".weight").rpartition(".")[0]
    _check_alone(bundle, parent, lengths)
    key = None if table.grid is not None else length_key(suspect, table.n_positions, config)
    tensors = {entry.name: _tensor(entry, suspect, extended)}
    for other in checkpoint.tables:
        if other.parameter == chosen.parameter or key is None or other.grid is not None:
            continue
        if other.combine or other.parameter.endswith("]"):
            continue
        beside, its = _examined(bundle, other, config)
        if length_key(its, other.n_positions, config) != key:
            continue
        if other.n_positions != lengths.old:
            raise SourceError(
                f"{checkpoint.name}: {key} counts {chosen.parameter} and {other.parameter}, which "
                f"have {lengths.old:,} and {other.n_positions:,} positions. No checkpoint can be "
                f"written; save the table alone."
            )
        tensors[beside.name] = _tensor(beside, its, recipe.apply(checkpoint.table(other.parameter)))
    for name in _copies(bundle, entry) - set(tensors):
        tensors[name] = tensors[entry.name]
    return Governed(suspect, extended, key, lengths, tensors, parent, table.grid)


def _examined(bundle: Bundle, candidate: Candidate, config: JSON) -> tuple[Entry, Suspect]:
    entry = next(
        (entry for entry in bundle.checkpoint.entries if entry.name == candidate.parameter), None
    )
    suspect = None if entry is None else suspects.examine(entry, config or None)
    if entry is None or suspect is None or candidate.combine:
        raise SourceError(
            f"{candidate.parameter} is not one tensor of its own but put together from parts, "
            f"which cannot be written back. Save the table alone: an OUT that ends in .safetensors "
            f"or .npy."
        )
    return entry, suspect


def _tensor(entry: Entry, suspect: Suspect, extended: Extended) -> Tensor:
    table = extended.table
    values = as_stored(table.raw, entry.shape or (), suspect.axes[0], table.grid)
    if values is None:
        raise SourceError(
            f"{entry.name} is stored as {len(entry.shape or ())} axes of which no single table can "
            f"be written back. Save the table alone."
        )
    return encode(values, entry.dtype or "", name=entry.name)


def _check_alone(bundle: Bundle, parent: str, lengths: Lengths) -> None:
    """Refuse where tables of offsets depend on the length too."""
    tower = parent.split(".")[0]
    for entry in bundle.checkpoint.entries:
        if _RELATIVE.search(entry.name) and entry.name.split(".")[0] == tower:
            if lengths.new == lengths.old:
                return
            raise SourceError(
                f"{posixpath.basename(bundle.files.label)} also holds tables of offsets between "
                f"positions ({entry.name}), whose length depends on the number of positions and "
                f"which are not stretched here. Save the table alone."
            )


def _copies(bundle: Bundle, entry: Entry) -> set[str]:
    """Other tensors with the very bytes of the table, such as a tied copy under another name."""

    def content(name: str) -> bytes:
        for file in bundle.opened.values():
            for other in file.entries:
                if other.name == name and file.stored is not None:
                    return b"".join(file.stored(other))
        return b""

    alike = [
        other.name
        for other in bundle.checkpoint.entries
        if (other.shape, other.dtype) == (entry.shape, entry.dtype) and other.name != entry.name
    ]
    if not alike:
        return set()
    own = content(entry.name)
    return {name for name in alike if content(name) == own}
