"""How far the vectors of an encoder move when another table takes the place of its own.

A model without an output head has no loss. What it makes of a text are its last hidden states,
one a token, and their mean, the sentence vector; with another table both should stay where they
were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.model.runner import Model
    from posviz.model.texts import Sequences


@dataclass(frozen=True, eq=False)
class Drift:
    """Cosines between the vectors of one text read twice; 1 is no drift.

    Parameters
    ----------
    tokens : float
        Mean cosine of a token's two vectors.
    sentence : float
        Mean cosine of the two sentence vectors, each the mean over the tokens of the text.
    by_position : float64 array of shape (T,)
        Mean cosine of the token vectors at each position, over the sequences.
    said : str
        What was read.
    """

    tokens: float
    sentence: float
    by_position: NDArray[np.float64]
    said: str


def drift(before: NDArray[np.float32], after: NDArray[np.float32], said: str) -> Drift:
    """Compare two readings of the same tokens, both of shape (B, T, d_model)."""
    first, second = before.astype(np.float64), after.astype(np.float64)
    along = _cosine(first, second)  # (B, T)
    return Drift(
        tokens=float(along.mean()),
        sentence=float(_cosine(first.mean(axis=1), second.mean(axis=1)).mean()),
        by_position=along.mean(axis=0),
        said=said,
    )


def read_in_parts(model: Model, sequences: Sequences) -> NDArray[np.float32]:
    """Vectors of a text longer than the model's own table, read part by part with that table.

    Each part is as long as the table allows and stands between the special symbols of the whole.

    Returns
    -------
    float32 array of shape (B, T - opening - closing, d_model)
        Of the tokens of the text; the special symbols are left out.
    """
    ends = sequences.opening + sequences.closing
    inside = sequences.length - ends
    room = model.table.n_positions - ends
    vectors = []
    for at in range(0, inside, room):
        size = min(room, inside - at)
        columns = np.r_[
            : sequences.opening,
            sequences.opening + at : sequences.opening + at + size,
            sequences.length - sequences.closing : sequences.length,
        ]
        part = replace(
            sequences, tokens=sequences.tokens[:, columns],
            segments=sequences.segments[:, columns], targets=sequences.targets[:, columns],
        )  # fmt: skip
        vectors.append(text_only(model.vectors(part), part))
    return np.concatenate(vectors, axis=1)


def text_only(vectors: NDArray[np.float32], sequences: Sequences) -> NDArray[np.float32]:
    """The vectors of the text, those of the special symbols at its ends left out."""
    return vectors[:, sequences.opening : sequences.length - sequences.closing]


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Along the last axis; 1 where both are zero, 0 where one is."""
    sizes = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    # Equal vectors have the cosine 1 exactly: rounding is no drift.
    same = (a == b).all(axis=-1)
    found: NDArray[np.float64] = (a * b).sum(axis=-1) / np.where(sizes > 0, sizes, 1.0)
    return np.where(same, 1.0, np.clip(found, -1.0, 1.0))
