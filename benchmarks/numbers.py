"""What every page stands on, against the libraries' own ways, and all that the Overview shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Row, fresh, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SHAPES = ((512, 384), (1024, 768), (1024, 1600))
OVERVIEWS = {(1024, 768): 400, (8192, 1024): 3000}  # milliseconds to reach
LONGEST = (32_768, 1024)
LONG = """
import numpy as np
import posviz
from benchmarks.numbers import overview, table_of

overview(table_of({}, {}))
"""


def rows() -> Iterator[Row]:
    """Decomposition and all-pairs cosine of the shapes of MiniLM, GPT-2 and GPT-2 XL; overviews."""
    for n_positions, d_model in SHAPES:
        weights = table_of(n_positions, d_model)
        yield from _decomposition(weights)
        yield from _cosine(weights)
    for shape, target in OVERVIEWS.items():
        yield from _overview(shape, target)
    long = fresh(LONG.format(*LONGEST), repeats=1)
    what = f"everything of the Overview, {LONGEST[0]:,} × {LONGEST[1]}, a process of its own"
    yield Row(what, long.milliseconds / 1000, "", 0, unit="s")
    yield Row(f"{what}: peak memory", long.mebibytes, "", 0, unit="MiB", reach="under 2,048 MiB")


def overview(weights: NDArray[np.float32]) -> None:
    """Everything that the Overview computes of a table seen for the first time."""
    from posviz.analysis.null_draws import sinusoidal_draw
    from posviz.analysis.similarity import pooled_similarity
    from posviz.analysis.special import special_rows
    from posviz.analysis.summary import analyze
    from posviz.table import PositionTable, Provenance

    sinusoidal_draw.cache_clear()
    special_rows(weights)
    numbers = analyze(PositionTable(weights, "made", Provenance("generated", "made")))
    numbers.decomposition.scores(3)
    pooled_similarity(weights)


def _overview(shape: tuple[int, int], target: int) -> Iterator[Row]:
    """All numbers, nulls and pictures, beside the bare decomposition of the same table."""
    weights = table_of(*shape)
    ours, bare = milliseconds(
        [lambda: overview(weights), lambda: _bare(weights)], rounds=2, in_a_row=2
    )
    what = f"everything of the Overview, {shape[0]:,} × {shape[1]}"
    yield Row(what, ours, "bare Gram matrix and eigh", bare, reach=f"at most {target} ms")


def table_of(n_positions: int, d_model: int) -> NDArray[np.float32]:
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

    ours, gram, svd, pca = milliseconds(
        [
            lambda: decompose(weights),
            lambda: _bare(weights),
            lambda: np.linalg.svd(double - double.mean(axis=0), full_matrices=False),
            lambda: PCA(svd_solver="full").fit(double),
        ],
        rounds=2,
    )
    what = f"decompose {weights.shape[0]} × {weights.shape[1]}, every component"
    yield Row(what, ours, "bare Gram matrix and eigh", gram, reach="at most 1.3 ×")
    yield Row(what, ours, "numpy.linalg.svd", svd, reach="at most 0.5 ×")
    yield Row(what, ours, "scikit-learn PCA, full", pca, reach="at most 0.5 ×")


def _bare(weights: NDArray[np.float32]) -> None:
    centred = weights.astype(np.float64)
    centred -= centred.mean(axis=0)
    wide = weights.shape[1] > weights.shape[0]
    np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)


def _cosine(weights: NDArray[np.float32]) -> Iterator[Row]:
    from posviz.analysis.similarity import similarity

    ours, product = milliseconds(
        [lambda: similarity(weights, metric="cosine"), lambda: weights @ weights.T], in_a_row=5
    )
    what = f"cosine of every pair, {weights.shape[0]} × {weights.shape[1]}"
    yield Row(what, ours, "one bare float32 product", product, reach="at most 1.3 ×")
