"""Reference tables made on the spot: sinusoidal and random ones of any shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.analysis.references import random_normal, sinusoidal
from posviz.errors import SourceError
from posviz.sources.checkpoint import MAX_TABLE_BYTES, Candidate, Checkpoint, Reading
from posviz.sources.formats.tensors import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from posviz.sources.access import Access
    from posviz.table import Kind

_SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})(?::(\d{1,18}))?", re.ASCII)


def open_sinusoidal(ref: str, access: Access) -> Checkpoint:
    """``sinusoidal:LxD``: interleaved sines and cosines, base 10000."""
    n_positions, d_model, seed = _shape(ref, "sinusoidal:LxD, such as sinusoidal:1024x768")
    if seed is not None:
        raise SourceError(f"{ref}: a sinusoidal table has no seed. Write sinusoidal:LxD.")
    return _made(
        ref,
        f"sinusoidal {n_positions} × {d_model}",
        "sinusoidal",
        (n_positions, d_model),
        lambda: sinusoidal(n_positions, d_model),
        "Interleaved sines and cosines with base 10000, computed, not learned.",
    )


def open_random(ref: str, access: Access) -> Checkpoint:
    """``random:LxD`` or ``random:LxD:SEED``: independent draws from N(0, 0.02²)."""
    n_positions, d_model, seed = _shape(ref, "random:LxD or random:LxD:SEED, such as random:64x32")
    return _made(
        ref,
        f"random {n_positions} × {d_model}",
        "random",
        (n_positions, d_model),
        lambda: random_normal(n_positions, d_model, seed=seed or 0),
        f"Independent draws from N(0, 0.02²) with seed {seed or 0}, as before any training.",
    )


def _shape(ref: str, grammar: str) -> tuple[int, int, int | None]:
    found = _SHAPE.fullmatch(ref.partition(":")[2])
    if found is None or not int(found[1]) or not int(found[2]):
        raise SourceError(f"{ref} is not a generated table; write {grammar}.")
    n_positions, d_model = int(found[1]), int(found[2])
    if n_positions * d_model * 4 > MAX_TABLE_BYTES:
        raise SourceError(
            f"{ref} would take {n_positions * d_model * 4 >> 20:,} MiB; at most "
            f"{MAX_TABLE_BYTES >> 20:,} MiB are made. Ask for a smaller table."
        )
    return n_positions, d_model, None if found[3] is None else int(found[3])


def _made(
    ref: str,
    name: str,
    kind: Kind,
    shape: tuple[int, int],
    make: Callable[[], NDArray[np.float32]],
    reason: str,
) -> Checkpoint:
    table = Candidate(
        parameter="table",
        file=ref,
        shape=shape,
        dtype="F32",
        kind=kind,
        n_positions=shape[0],
        d_model=shape[1],
        row_offset=0,
        prefix_rows=0,
        suffix_rows=0,
        grid=None,
        default=True,
        reason=reason,
        label="table",
    )
    return Checkpoint(
        ref=ref,
        source="generated",
        name=name,
        format="generated",
        model_type=None,
        config=None,
        entries=(Entry("table", shape, "F32", shape[0] * shape[1] * 4, ref),),
        tables=(table,),
        scheme="sinusoidal" if kind == "sinusoidal" else "none",
        message=None,
        warnings=(),
        size=0,
        read_entry=lambda name: make(),
        read_table=lambda chosen: Reading(chosen, make()),
        by_hand=lambda parameter: None,
    )
