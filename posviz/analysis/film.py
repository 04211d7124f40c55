"""A table that changes, laid frame by frame over itself, so that only its shape is seen to move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import decompose
from posviz.analysis.likeness import align

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]

_DIRECTION = 1e-4  # relative; float32 decayed for a million steps stays well below


def laid_over(scores: Array, reference: Array) -> Float64:
    """Scores turned (a mirror image is allowed) to lie on a reference as well as they can.

    Two nearly equal components turn freely into each other from one step of training to the
    next, so fixing their signs is not enough to keep a curve still. The size is left as it is.

    Parameters
    ----------
    scores : array of shape (n_rows, k)
    reference : array of shape (n_rows, m)

    Returns
    -------
    array of shape (n_rows, wider of both)
        Centred; the distances between rows are those of ``scores``.
    """
    fitted = align(reference, scores).aligned
    size, now = np.linalg.norm(scores - scores.mean(axis=0)), np.linalg.norm(fitted)
    return fitted * (size / now) if now > 0 else fitted


def frames(tables: Iterable[Array], *, components: int = 3) -> list[Float64]:
    """The curves of a table's snapshots, all laid over the last one.

    Parameters
    ----------
    tables : iterable of arrays of shape (n_rows, d_model)
        In the order of steps, at least one.
    components : int
        How many of its own principal components each snapshot is shown in.

    Returns
    -------
    list of arrays of shape (n_rows, components)
        Each snapshot's own scores, turned and never scaled: a table that grows is seen to grow.
    """
    return laid_over_last([own_scores(table, components) for table in tables])


def laid_over_last(scores: Sequence[Float64]) -> list[Float64]:
    """Scores of each snapshot, all turned to lie on the last one as well as they can."""
    return [laid_over(own, scores[-1]) for own in scores[:-1]] + list(scores[-1:])


def own_scores(table: Array, components: int = 3) -> Float64:
    """A table in its own principal components, zero where it has no more of them.

    Parameters
    ----------
    table : array of shape (n_rows, d_model)
    components : int

    Returns
    -------
    array of shape (n_rows, components)
        Centred.
    """
    scores = decompose(table).scores(components)
    return np.pad(scores, ((0, 0), (0, components - scores.shape[1])))


def unmoved(before: Array, now: Array) -> NDArray[np.bool_]:
    """Which rows point where they did, so that nothing but weight decay has touched them.

    A row without a gradient keeps its direction, whatever decay does to its length.

    Parameters
    ----------
    before, now : arrays of shape (n_rows, d_model)
        One table at two steps.

    Returns
    -------
    bool array of shape (n_rows,)
        A row that is zero in both has not moved; one that left zero or came to it has.
    """
    old, new = (rows.astype(np.float64) for rows in (before, now))
    inner, square = (old * new).sum(axis=1), (old * old).sum(axis=1)
    scale = np.divide(inner, square, out=np.zeros_like(inner), where=square > 0)
    rest = np.linalg.norm(new - scale[:, None] * old, axis=1)
    parallel = rest <= _DIRECTION * np.linalg.norm(new, axis=1)
    still: NDArray[np.bool_] = parallel & ((square > 0) == (new != 0).any(axis=1))
    return still
