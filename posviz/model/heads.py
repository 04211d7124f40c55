"""The heads of a layer by what they would do from position alone, and what that is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.nulls import NULLS
from posviz.model.attention import (
    Offsets,
    attention,
    by_offset,
    concentration,
    position_inputs,
    position_scores,
)

if TYPE_CHECKING:
    from posviz.model.weights import Head, Weights

Float64 = NDArray[np.float64]

MOST_POSITIONS = 1024  # of a longer table, the first are looked at
HALF = 0.5  # of the attention, which a head of a kind gives to what the kind is named after
NEAR = 5  # positions on each side that a local head looks at
TIMES = 2  # how many times even attention that must be, so that short tables are not all local


@dataclass(frozen=True)
class Kind:
    """What a head does from position alone.

    Parameters
    ----------
    label : str
        A few words for a menu.
    rule : str
        When it is called so, as a sentence.
    holds : function
        From the mean attention by offset and the pattern to whether it is.
    """

    label: str
    rule: str
    holds: Callable[[Offsets, Float64], bool]


def _best(offsets: Offsets) -> int:
    """The distance that gets most, among those that at least half of the positions have."""
    common = np.abs(offsets.offsets) <= -offsets.offsets[0] // 2
    return int(offsets.offsets[common][int(offsets.mean[common].argmax())])


def _near(offsets: Offsets, pattern: Float64) -> bool:
    n = len(pattern)
    band = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= NEAR
    near = float(pattern[band].sum() / n)
    even = float((band * (pattern > 0) / np.maximum((pattern > 0).sum(1, keepdims=True), 1)).sum())
    return near >= HALF and near >= TIMES * even / n


KINDS: dict[str, Kind] = {
    "previous": Kind(
        "previous token",
        "Half of the attention or more goes to the position before.",
        lambda offsets, pattern: offsets.at(-1) >= HALF,
    ),
    "next": Kind(
        "next token",
        "Half of the attention or more goes to the position after.",
        lambda offsets, pattern: offsets.at(1) >= HALF,
    ),
    "self": Kind(
        "itself",
        "Half of the attention or more goes to the own position.",
        lambda offsets, pattern: offsets.at(0) >= HALF,
    ),
    "fixed": Kind(
        "one distance",
        "Half of the attention or more goes to one other distance, which half of the positions "
        "or more have.",
        lambda offsets, pattern: offsets.at(_best(offsets)) >= HALF,
    ),
    "first": Kind(
        "first position",
        "Half of the attention or more goes to position 0.",
        lambda offsets, pattern: len(pattern) > 1 and float(pattern[1:, 0].mean()) >= HALF,
    ),
    "local": Kind(
        "local",
        f"Half of the attention or more, and {TIMES} times that of an even head, goes to the "
        f"{NEAR} positions on each side.",
        _near,
    ),
    "broad": Kind(
        "broad",
        "None of these: from position alone, attention is spread.",
        lambda offsets, pattern: True,
    ),
}
"""Kinds of heads; a head is of the first whose rule holds."""


@dataclass(frozen=True, eq=False)
class HeadProfile:
    """One head, from position alone.

    Parameters
    ----------
    head : Head
    pattern : array of shape (n, n)
        Its attention from position alone.
    offsets : Offsets
        Of the pattern: mean attention by j - i.
    toeplitz : float or None
        Of the scores: how far they depend on j - i alone.
    concentration : float
        In [0, 1]; heads are sorted by it.
    null : float
        The same with random rows of the same lengths as positions.
    kind : key of KINDS
    """

    head: Head
    pattern: NDArray[np.float32]
    offsets: Offsets
    toeplitz: float | None
    concentration: float
    null: float
    kind: str

    @property
    def name(self) -> str:
        """Such as ``head 3 · previous token``; a head of one distance says which."""
        label = KINDS[self.kind].label
        if self.kind == "fixed":
            offset = _best(self.offsets)
            label = f"{abs(offset)} {'back' if offset < 0 else 'ahead'}"
        return f"head {self.head.number} · {label}"


def profile_heads(weights: Weights, layer: int) -> list[HeadProfile]:
    """Every head of a layer from position alone, the most concentrated first.

    Parameters
    ----------
    weights : Weights
    layer : int

    Raises
    ------
    ModelError
        There is no such layer, or its attention is not read.
    """
    heads = weights.heads(layer)
    rows = weights.table.weights[:MOST_POSITIONS]
    inputs = position_inputs(weights, layer, rows)
    random = NULLS["gaussian"].make(rows, np.random.default_rng(0))
    null_inputs = position_inputs(weights, layer, random)
    found = [profile_head(head, inputs, null_inputs, causal=weights.is_causal) for head in heads]
    return sorted(found, key=lambda profile: -profile.concentration)


def profile_head(head: Head, inputs: Float64, null_inputs: Float64, *, causal: bool) -> HeadProfile:
    """One head from position alone.

    Parameters
    ----------
    head : Head
    inputs, null_inputs : arrays of shape (n, d_model)
        From :func:`posviz.model.attention.position_inputs`, of the model's rows and of random ones.
    causal : bool
    """
    scores = position_scores(inputs, head)
    pattern = attention(scores, causal=causal)
    null = attention(position_scores(null_inputs, head), causal=causal)
    offsets = by_offset(pattern, causal=causal)
    return HeadProfile(
        head=head,
        pattern=pattern.astype(np.float32),
        offsets=offsets,
        toeplitz=by_offset(scores, causal=causal).explained,
        concentration=concentration(pattern, causal=causal),
        null=concentration(null, causal=causal),
        kind=next(key for key, kind in KINDS.items() if kind.holds(offsets, pattern)),
    )
