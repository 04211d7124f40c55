"""Sentences about a table: why it was taken for one, and what a person should know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.analysis.repeats import all_equal, in_words, without_first
from posviz.sources import configs, layouts, looks, ownnames
from posviz.sources.formats.dtypes import is_real
from posviz.sources.formats.tensors import Entry, brief, shape_text
from posviz.sources.names import is_copy
from posviz.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources import values
    from posviz.sources.checkpoint import Candidate
    from posviz.sources.suspects import Suspect

_NAMED_ROWS = 5

_LENGTH_KEYS = ("max_position_embeddings", "n_positions", "block_size", "context_length")

_KINDS = {
    "part": "one axis of a pair of tables",
    "box": "coordinates of a layout box, not the order of a sequence",
    "auxiliary": "an auxiliary table (tiles, time steps, output queries or rows never used)",
}


def reason(
    suspect: Suspect, found: Candidate, offset: str | None, *, seen: bool, bare: bool = False
) -> str:
    """Why a tensor was taken for a position table, in one sentence.

    Parameters
    ----------
    suspect, found : Suspect, Candidate
    offset : str or None
        Why its first rows belong to no position.
    seen : bool
        Whether its numbers were looked at.
    bare : bool
        Whether there is nothing but one array, as in a ``.npy``.
    """
    name = suspect.parts[0].name
    ruled = suspect.known is not None or layouts.rule(name) is not None
    named = ruled or ownnames.speaks_of_positions(name)
    label = brief(found.label)
    if suspect.known is not None:
        said = f"{label} is where {suspect.known.family} keeps its positions"
    elif ruled:
        said = f"{label} is a name that position tables carry"
    elif named:
        said = f"{label} is a name that speaks of positions, though no known architecture uses it"
    elif bare:
        said = "It is the only array there, and so taken for a position table"
    else:
        said = f"{label} was named by hand; nothing in its name says position table"
    clauses = [said, *_layout(suspect, found, offset)]
    if is_copy(found.parameter):
        clauses.append("an averaged copy of the model's own weights")
    if seen and found.kind == "sinusoidal":
        clauses.append("its numbers are fixed sines and cosines, not learned")
    elif seen and named:
        clauses.append("its numbers follow no fixed sinusoid, so they were learned")
    elif found.kind == "sinusoidal":
        clauses.append("models of this kind fill it with fixed sines and cosines")
    return "; ".join(clauses) + "."


def _layout(suspect: Suspect, found: Candidate, offset: str | None) -> list[str]:
    clauses = []
    if suspect.kind in _KINDS:
        note = suspect.known.note if suspect.known and suspect.kind == "auxiliary" else ""
        clauses.append(note or _KINDS[suspect.kind])
    if suspect.combine:
        how = "added" if suspect.combine == "sum" else "put side by side"
        clauses.append(f"a row axis and a column axis, {how} for every cell")
    how_read = suspect.axes[0]
    if how_read.parts > 1:
        clauses.append(f"part {suspect.part} of {how_read.parts} stacked tables")
    if found.row_offset:
        clauses.append(
            f"its first {counted(found.row_offset, 'row')} belong to no position: {offset}"
        )
    if found.grid is not None:
        outside = [
            counted(number, f"{where} row")
            for number, where in ((found.prefix_rows, "class"), (found.suffix_rows, "trailing"))
            if number
        ]
        patches = f"a grid of {found.grid[0]} × {found.grid[1]} patches"
        clauses.append(" and ".join([*outside, patches]))
    else:
        clauses.append(f"{counted(found.n_positions, 'position')} in a sequence")
    return clauses


def warnings(suspect: Suspect, found: Candidate, look: values.Look | None) -> tuple[str, ...]:
    """Sentences about the table that opens: its length; rows of zeros, not finite, or equal."""
    said = [text for text in (_length(suspect, found), _unread(suspect)) if text is not None]
    if look is None:
        return tuple(said)
    label = brief(found.label)
    if len(look.unfinite_rows):
        holds = "holds" if len(look.unfinite_rows) == 1 else "hold"
        what = "NaN" if look.only_nan else "NaN, infinity or numbers larger than float32 holds"
        said.append(f"{_rows(look.unfinite_rows)} of {label} {holds} {what}.")
    if found.n_positions == 0:
        return (*said, f"{label} has no rows: there is no position to show.")
    zero = look.zero_rows[look.zero_rows >= found.row_offset] - found.row_offset
    if len(zero) == found.n_positions:
        said.append(f"Every row of {label} is zero: it was never trained.")
    elif len(zero) and found.kind == "learned":
        said.append(
            f"{_rows(zero)} of {label} (counted as positions) "
            f"{'is' if len(zero) == 1 else 'are'} zero in every dimension: probably never trained."
        )
    finite = not len(look.unfinite_rows)
    if finite and look.first_equal is not None and len(zero) < found.n_positions:
        said += _equal(label, without_first(look.first_equal, found.row_offset), zero)
    return tuple(said)


def _equal(label: str, first_equal: NDArray[np.intp], zero: NDArray[np.intp]) -> list[str]:
    """The sentence about positions that have the same row."""
    if all_equal(first_equal):
        return [f"Every row of {label} is the same: positions cannot be told apart."]
    which = in_words(first_equal, zero=zero.tolist())
    if which is None:
        return []
    return [
        f"In {label} {which} (counted as positions): positions with equal rows cannot be told "
        f"apart."
    ]


def _unread(suspect: Suspect) -> str | None:
    """Where the config switches a table off that the file holds all the same."""
    if suspect.tower in ("vision", "audio") or suspect.is_image:
        return None
    switch = looks.switch(suspect.chain)
    if switch is None:
        return None
    return (
        f"The config says {switch.setting}: the model does not read this table, though the file "
        f"holds it."
    )


def _length(suspect: Suspect, found: Candidate) -> str | None:
    """Where the file and the config disagree about the number of positions."""
    if suspect.combine or found.grid is not None:
        return None
    if suspect.known is None and layouts.rule(suspect.parts[0].name) is None:
        return None  # any tensor, which the config does not speak of
    key, _, stored = (suspect.known.length if suspect.known else "-").partition(":")
    keys = (key,) if key != "-" else _LENGTH_KEYS
    if key == "-" and (suspect.known is not None or suspect.tower in ("vision", "audio")):
        return None
    said = configs.count(suspect.chain, *keys)
    held = suspect.n_rows if stored else found.n_positions
    if said is None or said == held or said == suspect.n_rows:
        return None
    which = next(key for key in keys if configs.count(suspect.chain, key))
    return (
        f"The file holds {held:,} positions, while its config says {which} = {said:,}. "
        f"The table is shown as stored."
    )


def not_a_table(entry: Entry, part: int) -> str:
    """Why a tensor that a person named cannot be opened."""
    name = brief(entry.name)
    if entry.shape is None:
        return f"{name} lies in {entry.file}, which was not opened. Open that file itself."
    if part != 0:
        return f"{name} holds no part {part}; it has shape {shape_text(entry.shape)}."
    found = f"{name} is {entry.dtype} of shape {shape_text(entry.shape)}"
    if entry.dtype is None or not is_real(entry.dtype):
        return (
            f"{found}; a position table holds real numbers (F32, F16, BF16 and the like). "
            f"Save it as one of those, or take another one."
        )
    if len(entry.shape) == 2:
        return (
            f"{found}; a position table has a row for each of several positions. Take another one."
        )
    return f"{found}; a position table has two axes, positions and dimensions. Take another one."


def _rows(rows: NDArray[np.intp]) -> str:
    named = ", ".join(str(row) for row in rows[:_NAMED_ROWS])
    more = f" and {len(rows) - _NAMED_ROWS:,} more" if len(rows) > _NAMED_ROWS else ""
    return f"Row{'s' if len(rows) > 1 else ''} {named}{more}"
