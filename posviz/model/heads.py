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
    layer, number : int
    offsets : Offsets
        Mean attention by j - i.
    null_offsets : Offsets
        The same with random rows of the same lengths as positions.
    toeplitz, null_toeplitz : float or None
        How far the scores depend on j - i alone.
    concentration, null_concentration : float
        In [0, 1]; heads are sorted by it.
    kind : key of KINDS
    """

    layer: int
    number: int
    offsets: Offsets
    null_offsets: Offsets
    toeplitz: float | None
    null_toeplitz: float | None
    concentration: float
    null_concentration: float
    kind: str

    @property
    def label(self) -> str:
        """The kind in words; a head of one distance says which."""
        if self.kind != "fixed":
            return KINDS[self.kind].label
        offset = _best(self.offsets)
        return f"{abs(offset)} {'back' if offset < 0 else 'ahead'}"

    @property
    def name(self) -> str:
        """Such as ``head 3 · previous token``."""
        return f"head {self.number} · {self.label}"


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
    random = NULLS["gaussian"].make(rows, np.random.default_rng(0))
    inputs, null_inputs = (position_inputs(weights, layer, given) for given in (rows, random))
    found = [_profile(head, inputs, null_inputs, causal=weights.is_causal) for head in heads]
    return sorted(found, key=lambda profile: -profile.concentration)


def head_pattern(weights: Weights, layer: int, number: int) -> Float64:
    """One head's attention from position alone, (n, n); only its own weights are read.

    Parameters
    ----------
    weights : Weights
    layer, number : int

    Raises
    ------
    ModelError
        There is no such head, or its attention is not read.
    """
    head = weights.head(layer, number)
    inputs = position_inputs(weights, layer, weights.table.weights[:MOST_POSITIONS])
    return attention(position_scores(inputs, head), causal=weights.is_causal)


def _profile(head: Head, inputs: Float64, null_inputs: Float64, *, causal: bool) -> HeadProfile:
    scores, null_scores = (position_scores(given, head) for given in (inputs, null_inputs))
    pattern, null = (attention(given, causal=causal) for given in (scores, null_scores))
    offsets = by_offset(pattern, causal=causal)
    return HeadProfile(
        layer=head.layer,
        number=head.number,
        offsets=offsets,
        null_offsets=by_offset(null, causal=causal),
        toeplitz=by_offset(scores, causal=causal).explained,
        null_toeplitz=by_offset(null_scores, causal=causal).explained,
        concentration=concentration(pattern, causal=causal),
        null_concentration=concentration(null, causal=causal),
        kind=next(key for key, kind in KINDS.items() if kind.holds(offsets, pattern)),
    )
