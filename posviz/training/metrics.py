"""The numbers kept with each snapshot: the few that show a table forming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.analysis.decomposition import effective_rank, spectrum, variance_ratio
from posviz.analysis.similarity import toeplitz_share
from posviz.analysis.smoothness import adjacent_cosine, roughness, turning_cosine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posviz.training.loop import Snapshot


def table_metrics(table: NDArray[np.floating]) -> dict[str, Any]:
    """Scalars of one table, defined as in :mod:`posviz.analysis`; None where one does not exist.

    Parameters
    ----------
    table : array of shape (n_positions, d_model)
        Every row counts, none is left out.

    Returns
    -------
    dict
        ``top2_share`` and ``top3_share`` are of the centred variance, ``k90`` and ``k95`` the
        components that hold 90 and 95 % of it, ``participation`` its participation ratio; cosine
        and Toeplitz share are raw unless the name says centred.
    """
    values = spectrum(table)
    shares = variance_ratio(values)
    cumulative = None if shares is None else np.cumsum(shares)
    alone = len(table) < 2
    return {
        "top2_share": _held(cumulative, 2),
        "top3_share": _held(cumulative, 3),
        "k90": _needed(cumulative, 0.90),
        "k95": _needed(cumulative, 0.95),
        "participation": None if shares is None else effective_rank(values).participation,
        "adjacent_cosine": None if alone else float(adjacent_cosine(table).mean()),
        "adjacent_cosine_centred": (
            None if alone else float(adjacent_cosine(table, centred=True).mean())
        ),
        "toeplitz_r2": toeplitz_share(table),
        "toeplitz_r2_centred": toeplitz_share(table, centred=True),
        "roughness": roughness(table),
        "turning_cosine": turning_cosine(table),
        "norm_median": float(np.median(np.linalg.norm(table, axis=1))),
    }


def snapshot_metrics(snapshot: Snapshot) -> dict[str, Any]:
    """One line of ``metrics.jsonl``: step, loss in nats, rows seen so far, and the table's own."""
    return {
        "step": snapshot.step,
        "loss": snapshot.loss,
        "rows_seen": int(snapshot.seen.sum()),
        "rows_unseen": row_ranges(~snapshot.seen),
        **table_metrics(snapshot.table),
    }


def row_ranges(chosen: NDArray[np.bool_]) -> list[list[int]]:
    """Where rows are chosen, as first and last of each stretch: ``[[0, 0], [48, 63]]``."""
    edges = np.flatnonzero(np.diff(np.pad(chosen.astype(np.int8), 1)))
    return [[int(start), int(stop) - 1] for start, stop in edges.reshape(-1, 2)]


def _held(cumulative: NDArray[np.float64] | None, k: int) -> float | None:
    return None if cumulative is None else float(cumulative[min(k, len(cumulative)) - 1])


def _needed(cumulative: NDArray[np.float64] | None, share: float) -> int | None:
    return None if cumulative is None else int(np.searchsorted(cumulative, share)) + 1
