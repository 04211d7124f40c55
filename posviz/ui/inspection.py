"""The Checkpoint page in words and tables: what is in a file and how its table was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

import streamlit as st

from posviz.sources.shards import numbered
from posviz.ui import opened
from posviz.ui.format import ABSENT, counted, data_size, literal
from posviz.ui.tables import markdown_table

if TYPE_CHECKING:
    from posviz.sources import Candidate
    from posviz.ui.facts import Facts
    from posviz.ui.opened import Opened

SHOWN = 200  # tensors listed at once; the filter finds the others
LISTED = 40  # tables with their reasons; a run has one for each of its snapshots
UNSCROLLED = 16  # tensors that stand on the page; more scroll in a window of their own
SCROLLED = 560  # pixels
DEEPEST = 8  # settings in settings; no config nests further
LONGEST = 120  # characters of a setting
LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "block_size")
MATTERS = (  # settings that say something of positions, wherever they stand in a config
    *LENGTHS,
    "model_type",
    "architectures",
    "position_embedding_type",
    "pad_token_id",
    "hidden_size",
    "n_embd",
    "d_model",
    "embedding_size",
    "image_size",
    "patch_size",
    "rope_theta",
    "rope_scaling",
    "sinusoidal_pos_embds",
    "relative_attention_num_buckets",
)

_KINDS = {
    "learned": "learned in training",
    "sinusoidal": "fixed sines and cosines",
    "random": "random numbers",
}


def said(facts: Facts, found: Opened) -> tuple[str, ...]:
    """What the file is, and what of it is open and why.

    Parameters
    ----------
    facts : Facts
        Of the file that was asked for.
    found : Opened
        What the other pages show: a table of that file, or another where it holds none.
    """
    if facts is not found.facts:
        refused = opened.refused()
        name = PurePath(facts.ref).name
        message = facts.message or _unnamed(refused.why if refused else "", name)
        others = f"The other pages still show {literal(found.ref)}."
        return f"{literal(name)}.", literal(message), others
    open_one = found.table.provenance.parameter
    names = [table.parameter for table in facts.tables]
    if open_one is not None and open_one not in names:
        whole = f"It was opened by hand, as {counted(found.table.n_positions, 'position')}."
        else_said = "The file's own tables are listed below." if names else facts.message or ""
        return f"{literal(open_one)}.", whole, literal(else_said)
    at = names.index(open_one) if open_one in names else 0
    chosen = facts.tables[at]
    size = f"{counted(chosen.n_positions, 'position')} of {counted(chosen.d_model, 'dimension')}"
    several = ""
    if len(names) > 1:
        several = f" The first of {len(names)} opens." if at == 0 else f" Picked of {len(names)}."
    return f"{literal(chosen.parameter)}.", f"It holds {size}, {_KINDS[chosen.kind]}.{several}"


def notes(facts: Facts) -> None:
    """What is worth a word and no warning, such as which other weights lie there too."""
    for note in facts.notes:
        st.caption(literal(note))


def _unnamed(sentence: str, name: str) -> str:
    """A sentence about a table of the file ``name``, to stand where that has been said."""
    told, _, rest = sentence.partition(": ")
    file = told.partition(" · ")[0]  # of several tables, the one that is meant stands behind it
    return rest[:1].upper() + rest[1:] if rest and name.startswith(file) else sentence


def tables(facts: Facts, found: Opened) -> None:
    """Every position table with its layout and the reason it was taken for one."""
    open_one = found.table.provenance.parameter
    for table in facts.tables[:LISTED]:
        is_open = " (open)" if table.parameter == open_one and len(facts.tables) > 1 else ""
        st.markdown(f"**{literal(table.parameter)}**{is_open}. {literal(table.reason)}")
        layout = (
            f"{_shape(table.shape)} · {table.dtype} · {counted(table.n_positions, 'position')} · "
            f"{table.kind} · {table.file}"
        )
        st.caption(literal(f"{layout}{_rows_beside(table)}"))
    if len(facts.tables) > LISTED:
        st.caption(f"{len(facts.tables) - LISTED:,} more; the picker at the left lists all.")


def tensors(facts: Facts, wanted: str) -> None:
    """The tensors whose name holds the words: position tables first, else in the file's order."""
    words = wanted.lower().split()
    named = [e for e in facts.entries if all(word in e.name.lower() for word in words)]
    chosen = {name for table in facts.tables for name in table.parameter.split("+")}
    named.sort(key=lambda entry: entry.name not in chosen)
    several = len({entry.file for entry in facts.entries}) > 1
    rows = [
        (
            f"{entry.name}{' ◂' if entry.name in chosen else ''}",
            ABSENT if entry.shape is None else _shape(entry.shape),
            entry.dtype or ABSENT,
            ABSENT if entry.nbytes is None else data_size(entry.nbytes),
            _short_file(entry.file),
        )
        for entry in named[:SHOWN]
    ]
    columns = 5 if several else 4  # one file need not be told on every line
    with st.container(height=SCROLLED if len(rows) > UNSCROLLED else "content", border=False):
        markdown_table(
            ("name", "shape", "type", "bytes", "file")[:columns],
            [row[:columns] for row in rows],
            right=(1, 3),  # which do not break
        )
    if len(named) > SHOWN:
        st.caption(f"{SHOWN} of {len(named):,} shown; the filter finds the others.")
    elif not named:
        st.caption(f"No name holds “{literal(wanted)}”.")
    elif not several:
        st.caption(f"All in {literal(facts.entries[0].file)}.")


def _short_file(name: str) -> str:
    """``2 of 4`` for a shard that says so of itself, in the width that a telephone has."""
    place = numbered(name)
    return f"{place.number} of {place.count}" if place else name


def provenance(facts: Facts) -> None:
    """The quiet line: which checkpoint this page is of, and how it was reached."""
    requests = counted(facts.requests, "request") if facts.requests else None
    parts = (facts.ref, facts.format, facts.model_type, facts.revision, requests)
    with st.container(key="provenance"):
        st.caption(" · ".join(literal(part) for part in parts if part))


def config(facts: Facts) -> None:
    """The settings that say something of positions."""
    rows = [(name, _short(value)) for name, value in _flat(facts.config) if _last(name) in MATTERS]
    if rows:
        markdown_table(("setting", "value"), rows, right=())
    else:
        st.caption("The checkpoint came without settings that say anything of positions.")


def config_length(facts: Facts) -> str:
    """The length that the settings name, for beside the length of the table."""
    found = [value for name, value in _flat(facts.config) if _last(name) in LENGTHS]
    lengths = [value for value in found if type(value) is int and 0 < value < 1 << 40]
    return f"the settings say {lengths[0]:,}" if lengths else "the settings name no length"


def _flat(
    config: Mapping[str, object], under: str = "", depth: int = 0
) -> Iterator[tuple[str, object]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            if depth < DEEPEST:
                yield from _flat(value, f"{under}{name}.", depth + 1)
        else:
            yield f"{under}{name}", value


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _shape(shape: tuple[int, ...]) -> str:
    return "\u00a0×\u00a0".join(f"{length:,}" for length in shape) or "one number"


def _rows_beside(table: Candidate) -> str:
    kinds = {
        "that no position uses": table.row_offset,
        "before the grid": table.prefix_rows,
        "after the grid": table.suffix_rows,
    }
    beside = [f" · {counted(rows, 'row')} {where}" for where, rows in kinds.items() if rows]
    if table.grid:
        beside.append(f" · grid {table.grid[0]} × {table.grid[1]}")
    return "".join(beside)
