"""Which tensors of a checkpoint follow when one table gets another length, and their new values."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.export.lengths import LengthKey, length_key
from posviz.export.limits import JSON, Lengths
from posviz.export.parts import rewrite
from posviz.export.sizes import SizeKey, size_key
from posviz.sources import suspects

if TYPE_CHECKING:
    from posviz.export.recipe import Recipe
    from posviz.export.stored import Tensor
    from posviz.interpolation import Extended
    from posviz.sources import Candidate, Entry
    from posviz.sources.bundle import Bundle
    from posviz.sources.suspects import Suspect

# A model that holds one of these fails to load, or reads wrong rows, with another table.
_BESIDE = {
    r"(?:^|[._])(?:distance_embedding|rel_pos_[hw]|relative_position_bias_table"
    r"|relative_position_index)(?:\.weight)?$": "tables of offsets between positions",
    r"(?:^|[._])pos_embed_window$": "a second table for windows of the picture",
    r"gated_positional_embedding\.tile_embedding\.weight$": "a table for each tile of a picture",
    r"position_embeddings\.weight_integer$": "a copy of its table in whole numbers",
}


@dataclass(frozen=True, eq=False)
class Governed:
    """All that follows one table.

    Parameters
    ----------
    suspect : Suspect
        The table's tensor under the config that is to be changed.
    extended : Extended
    key : LengthKey, SizeKey or None
        What counts its positions in config.json.
    lengths : Lengths
    tensors : mapping of str to Tensor
        New values of the table, of tables that the same key counts, and of copies.
    parent : str
        Dotted path of the module around the table's own, where its buffers lie.
    """

    suspect: Suspect
    extended: Extended
    key: LengthKey | SizeKey | None
    lengths: Lengths
    tensors: dict[str, Tensor]
    parent: str
    grid_before: tuple[int, int] | None


def governed(bundle: Bundle, recipe: Recipe, config: JSON, parameter: str | None) -> Governed:
    """The table that is asked for at its new length, and every tensor that must follow it.

    Raises
    ------
    SourceError
        It is stored in a way that cannot be written, or another table stands in the way.
    """
    checkpoint = bundle.checkpoint
    chosen = checkpoint.candidate(parameter)
    suspect = _examined(bundle, chosen, config)
    table = checkpoint.table(chosen.parameter)
    extended = recipe.apply(bundle.table(chosen.parameter))
    lengths = Lengths(table.n_positions, extended.table.n_positions, table.row_offset)
    _check_alone(bundle, suspect.parts[0].name, lengths)
    key = _key(bundle, suspect, chosen, config)
    _check_key(bundle, suspect, chosen, key)
    tensors, folds = rewrite(bundle, suspect, recipe, extended)
    for other in checkpoint.tables:
        if other.parameter == chosen.parameter or key is None:
            continue
        its = _examined(bundle, other, config)
        beside = _key(bundle, its, other, config)
        if beside is None or not key.is_same(beside) or its.parts[0].name in tensors:
            continue
        again = _recipe_beside(bundle, recipe, chosen, other, (key, beside), lengths)
        stretched = again.apply(checkpoint.table(other.parameter))
        tensors |= rewrite(bundle, its, again, stretched)[0]
    for entry in suspect.parts:
        for name in _copies(bundle, entry) - set(tensors):
            tensors[name] = tensors[entry.name]
    lengths = replace(lengths, folds=folds)
    parent = suspect.parts[0].name.removesuffix(".weight").rpartition(".")[0]
    return Governed(suspect, extended, key, lengths, tensors, parent, table.grid)


def _examined(bundle: Bundle, candidate: Candidate, config: JSON) -> Suspect:
    """A table's tensors under the config that is to be changed."""
    held = {entry.name: entry for entry in bundle.checkpoint.entries}
    names, part = candidate.parameter, 0
    if candidate.parameter not in held and names.endswith("]"):
        names, _, number = names[:-1].rpartition("[")
        part = int(number)
    parts = [held[name] for name in (names.split("+") if names not in held else (names,))]
    if len(parts) > 1:
        found = suspects.find(parts, config or None)
        return next(one for one in found if one.combine)
    suspect = suspects.examine(parts[0], config or None, part)
    assert suspect is not None, "it was opened as a table"
    return suspect


def _key(
    bundle: Bundle, suspect: Suspect, candidate: Candidate, config: JSON
) -> LengthKey | SizeKey | None:
    if candidate.grid is None:
        return length_key(suspect, candidate.n_positions, config)
    return size_key(suspect, candidate.grid, config, bundle.checkpoint.entries)


def _check_key(
    bundle: Bundle, suspect: Suspect, chosen: Candidate, key: LengthKey | SizeKey | None
) -> None:
    """Refuse where a class of transformers would not take the new table."""
    known = suspect.known
    if key is None and bundle.weights.config and known is not None and "*" not in known.types:
        raise SourceError(
            f"{bundle.checkpoint.name}: no key of config.json tells {known.types[0]} how many "
            f"positions {chosen.label or chosen.parameter} has, so from_pretrained would refuse "
            f"another number. Save the table alone."
        )


def _recipe_beside(
    bundle: Bundle, recipe: Recipe, chosen: Candidate, other: Candidate,
    keys: tuple[LengthKey | SizeKey, LengthKey | SizeKey], lengths: Lengths,
) -> Recipe:  # fmt: skip
    """The recipe for another table that the same key counts.

    Raises
    ------
    SourceError
        That table had another length, so one number cannot count both.
    """
    ours, theirs = keys
    if isinstance(ours, LengthKey) and isinstance(theirs, LengthKey):
        before = ours.count(lengths.old, lengths.offset)
        if theirs.count(other.n_positions, other.row_offset) == before:
            after = ours.count(lengths.new, lengths.offset)
            return replace(recipe, length=after - theirs.count(0, other.row_offset))
    elif chosen.grid == other.grid:
        return recipe
    raise SourceError(
        f"{bundle.checkpoint.name}: {ours} counts {chosen.parameter} and {other.parameter}, which "
        f"have {lengths.old:,} and {other.n_positions:,} positions. No checkpoint can be "
        f"written; save the table alone."
    )


def _check_alone(bundle: Bundle, name: str, lengths: Lengths) -> None:
    """Refuse where tensors that nothing here stretches depend on the length too."""
    tower = name.rpartition(".")[0].split(".")[0]
    for entry in bundle.checkpoint.entries:
        for pattern, what in _BESIDE.items():
            if entry.name == name or entry.name.split(".")[0] != tower:
                continue
            if re.search(pattern, entry.name) and lengths.new != lengths.old:
                raise SourceError(
                    f"{posixpath.basename(bundle.files.label)} also holds {what} ({entry.name}), "
                    f"whose shape depends on the number of positions and which nothing here "
                    f"stretches. Save the table alone."
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
