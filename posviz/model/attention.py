"""What attention reads from position: the pattern of position alone, and a real score in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.pairs import PairSums, explained_by_offset, sums_by_blocks

if TYPE_CHECKING:
    from posviz.model.embedding import Parts
    from posviz.model.weights import Head, Weights

Float64 = NDArray[np.float64]

PARTS = {
    "token-token": "tokens ask, tokens answer",
    "token-position": "tokens ask, positions answer",
    "position-token": "positions ask, tokens answer",
    "position-position": "positions ask, positions answer",
    "segment": "segments ask or answer",
    "bias": "biases ask or answer",
}
"""Parts of a score; together they are the model's own."""


def position_inputs(
    weights: Weights, layer: int, rows: NDArray[np.floating] | None = None
) -> Float64:
    """What a layer's attention would read were every token row zero and no block to add anything.

    In the first layer that is exactly what the model reads when its token and segment tables are
    zero. In later layers it is a limit: real blocks add to the rows on their way.

    Parameters
    ----------
    weights : Weights
    layer : int
    rows : array of shape (n_positions, d_model), optional
        In place of the model's own position rows.

    Returns
    -------
    array of shape (n_positions, d_model)
        After the layer norms on the way.
    """
    passed = np.asarray(weights.table.weights if rows is None else rows, np.float64)
    for norm in weights.norms_before(layer):
        passed = norm(passed)
    return passed


def position_scores(inputs: Float64, head: Head) -> Float64:
    """Score of every pair from position alone: (x Wq + bq) · (x Wk), scaled.

    The bias of the query is part of it. That of the key adds the same to a whole row, which the
    softmax takes away again, so it is left out.

    Parameters
    ----------
    inputs : array of shape (n, d_model)
        From :func:`position_inputs`.
    head : Head

    Returns
    -------
    array of shape (n, n)
        Entry (i, j): position i asks, position j answers.
    """
    asked = inputs @ head.query + head.query_bias
    scores: Float64 = asked @ (inputs @ head.key).T * head.scale
    return scores


def attention(scores: Float64, *, causal: bool) -> Float64:
    """Scores as attention: the softmax of each row over the positions it sees.

    Parameters
    ----------
    scores : array of shape (n, n)
    causal : bool
        Row i sees columns 0 to i, else all.
    """
    seen = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf) if causal else scores
    weights: Float64 = np.exp(seen - seen.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


@dataclass(frozen=True, eq=False)
class Offsets:
    """Mean and spread of a matrix along its diagonals.

    Parameters
    ----------
    offsets : array of shape (k,)
        j - i: negative looks back.
    mean, std : arrays of shape (k,)
        Over the entries (i, i + offset).
    explained : float or None
        Toeplitz share: R² of the mean of its diagonal for each entry, over i != j.
    """

    offsets: NDArray[np.int64]
    mean: Float64
    std: Float64
    explained: float | None

    def at(self, offset: int) -> float:
        """The mean at one offset; 0 where there is none."""
        found = np.flatnonzero(self.offsets == offset)
        return float(self.mean[found[0]]) if found.size else 0.0


def by_offset(matrix: Float64, *, causal: bool) -> Offsets:
    """A matrix along its diagonals, of a causal head those on and below the main one.

    Parameters
    ----------
    matrix : array of shape (n, n)
    causal : bool
    """
    below = _sums(matrix.T)
    sides = [below] if causal else [below, _sums(matrix)]
    mean, std = zip(*(_moments(side) for side in sides), strict=True)
    n = len(matrix)
    back = np.arange(-(n - 1), 1)
    if causal:
        return Offsets(back, mean[0][::-1], std[0][::-1], explained_by_offset(below))
    return Offsets(
        np.arange(-(n - 1), n),
        np.concatenate([mean[0][:0:-1], mean[1]]),
        np.concatenate([std[0][:0:-1], std[1]]),
        explained_by_offset(*sides),
    )


def _sums(matrix: Float64) -> PairSums:
    """Sums over the entries on and above the main diagonal, offset by offset."""
    places = np.arange(len(matrix), dtype=np.float64)[:, None]

    def entries(left: NDArray[np.floating], right: NDArray[np.floating]) -> Float64:
        rows, columns = (slice(int(run[0, 0]), int(run[-1, 0]) + 1) for run in (left, right))
        block: Float64 = matrix[rows, columns].copy(order="C")  # which is used up
        return block

    return sums_by_blocks(places, entries)


def _moments(sums: PairSums) -> tuple[Float64, Float64]:
    assert sums.squares is not None, "every pair was looked at"
    mean = sums.totals / sums.counts
    return mean, np.sqrt(np.maximum(sums.squares / sums.counts - mean**2, 0.0))


def concentration(pattern: Float64, *, causal: bool) -> float:
    """How far attention is from even: 1 less its entropy over that of even attention.

    Mean over the rows that see two positions or more; in [0, 1]. 0: every position seen gets the
    same. 1: one gets all.

    Parameters
    ----------
    pattern : array of shape (n, n)
        Rows add up to 1.
    causal : bool
    """
    n = len(pattern)
    seen = np.arange(1, n + 1) if causal else np.full(n, n)
    logs = np.log(pattern, out=np.zeros_like(pattern), where=pattern > 0)
    entropy = -(pattern * logs).sum(axis=1)
    several = seen > 1
    if not several.any():
        return 0.0
    return float(np.clip(1 - entropy[several] / np.log(seen[several]), 0.0, 1.0).mean())


@dataclass(frozen=True, eq=False)
class Split:
    """A head's scores for a text, in parts.

    Parameters
    ----------
    parts : mapping of keys of PARTS to arrays of shape (T, T)
        Those that the model has; entry (i, j): token i asks, token j answers.
    causal : bool
        Whether only j <= i counts.
    """

    parts: dict[str, Float64]
    causal: bool

    @property
    def total(self) -> Float64:
        """The model's own score, before any mask, (T, T)."""
        total: Float64 = np.sum(list(self.parts.values()), axis=0)
        return total

    def shares(self) -> dict[str, float] | None:
        """How much of what varies in each row of scores comes from each part; they add up to 1.

        A part that is the same for all that a token sees changes nothing, since the softmax takes
        it away. A part may be below 0 where it works against the rest. None where nothing varies.
        """
        total = self.varying(self.total)
        spread = float((total * total).sum())
        if spread <= 0:
            return None
        return {
            name: float((self.varying(part) * total).sum() / spread)
            for name, part in self.parts.items()
        }

    def varying(self, matrix: Float64) -> Float64:
        """A part about the mean of each row, which is all the softmax sees; 0 where unseen."""
        seen = self.seen
        mean = (matrix * seen).sum(axis=1, keepdims=True) / seen.sum(axis=1, keepdims=True)
        about: Float64 = (matrix - mean) * seen
        return about

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which tokens each token sees, (T, T)."""
        shape = self.total.shape
        return np.tri(*shape) > 0 if self.causal else np.ones(shape, dtype=np.bool_)


def split_scores(text: Parts, head: Head, *, causal: bool) -> Split:
    """A first-layer head's scores for a text, split by who asks and who answers.

    The layer norm before attention divides the whole sum of a token by one number, so that token,
    position and segment row still add up exactly; what its bias adds, and the biases of query and
    key, is the part ``bias``.

    Parameters
    ----------
    text : Parts
    head : Head
        Of layer 0: later layers read rows that blocks have changed.
    causal : bool
    """
    assert head.layer == 0, "only the first layer reads the sum itself"
    asked, answered = _asked_and_answered(text, head)

    def product(one: str, other: str) -> Float64:
        found: Float64 = asked[one] @ answered[other].T * head.scale
        return found

    rows = [name for name in asked if name != "bias"]
    parts = {
        f"{one}-{other}": product(one, other)
        for one in ("token", "position")
        for other in ("token", "position")
    }
    if "segment" in asked:
        crossed = [product(a, b) for a in rows for b in rows if "segment" in (a, b)]
        parts["segment"] = np.sum(crossed, axis=0)
    fixed = [product(a, b) for a in asked for b in asked if "bias" in (a, b)]
    parts["bias"] = np.sum(fixed, axis=0)
    return Split(parts, causal)


def _asked_and_answered(text: Parts, head: Head) -> tuple[dict[str, Float64], dict[str, Float64]]:
    """What each part of the sum asks and answers, (T, d_head) each; the biases are one more."""
    rows = {name: part for name, part in text.rows.items() if name != "sum"}
    bias = np.zeros((1, text.token.shape[1]))
    if text.norm is not None:
        scale = text.norm.scale(text.total)
        rows = {name: text.norm.linear(part, scale) for name, part in rows.items()}
        bias = bias + text.norm.bias
    fixed = np.ones((len(text.tokens), 1))
    asked = {name: part @ head.query for name, part in rows.items()}
    answered = {name: part @ head.key for name, part in rows.items()}
    asked["bias"] = fixed * (bias @ head.query + head.query_bias)
    answered["bias"] = fixed * (bias @ head.key + head.key_bias)
    return asked, answered
