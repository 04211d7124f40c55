"""The two computations that every page stands on, against the libraries' own ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Row, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SHAPES = ((512, 384), (1024, 768), (1024, 1600))


def rows() -> Iterator[Row]:
    """Decomposition and all-pairs cosine on tables of the shapes of MiniLM, GPT-2 and GPT-2 XL."""
    for n_positions, d_model in SHAPES:
        weights = _table(n_positions, d_model)
        yield from _decomposition(weights)
        yield from _cosine(weights)


def _table(n_positions: int, d_model: int) -> NDArray[np.float32]:
    """A helix in noise: the spectrum of a learned table, some large values and a floor."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 6 * np.pi, n_positions)
    helix = np.stack([np.cos(angle), np.sin(angle), np.linspace(-1, 1, n_positions)], axis=1)
    noise = rng.normal(0, 0.02, (n_positions, d_model))
    return (helix @ rng.normal(0, 0.1, (3, d_model)) + noise).astype(np.float32)


def _decomposition(weights: NDArray[np.float32]) -> Iterator[Row]:
    from sklearn.decomposition import PCA

    from posviz.analysis.decomposition import decompose

    double = weights.astype(np.float64)

    def bare() -> None:
        centred = weights.astype(np.float64)
        centred -= centred.mean(axis=0)
        wide = weights.shape[1] > weights.shape[0]
        np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)

    ours, gram, svd, pca = milliseconds(
        [
            lambda: decompose(weights),
            bare,
            lambda: np.linalg.svd(double - double.mean(axis=0), full_matrices=False),
            lambda: PCA(svd_solver="full").fit(double),
        ],
        rounds=2,
    )
    what = f"decompose {weights.shape[0]} × {weights.shape[1]}, every component"
    yield Row(what, ours, "bare Gram matrix and eigh", gram)
    yield Row(what, ours, "numpy.linalg.svd", svd)
    yield Row(what, ours, "scikit-learn PCA, full", pca)


def _cosine(weights: NDArray[np.float32]) -> Iterator[Row]:
    from posviz.analysis.similarity import similarity

    ours, product = milliseconds(
        [lambda: similarity(weights, metric="cosine"), lambda: weights @ weights.T], in_a_row=5
    )
    what = f"cosine of every pair, {weights.shape[0]} × {weights.shape[1]}"
    yield Row(what, ours, "one bare float32 product", product)
