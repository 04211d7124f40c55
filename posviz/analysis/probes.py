"""What a simple reader can tell from the rows: the position, or which of two comes first.

The procedures are those of Wang and Chen, on rows as they are: neither centred nor scaled. A
linear reader fitted to about as many rows as there are dimensions errs wildly, however good the
table (the double-descent peak): so the first 512 rows are used as in the paper, and the ridge
reader stands beside the plain one.

References
----------
Wang and Chen (2020), "What do position embeddings learn?", arXiv:2010.04903.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

ROWS = 512
PAIRS = 512
FOLDS = 5
SIZES = (1e-3, 1e3)  # of rows: inside, the logistic reader takes them as they are
PEAK = (0.7, 1.4)  # training rows over dimensions: inside, least squares is on the peak


@dataclass(frozen=True)
class PositionProbe:
    """How far off a linear reader of positions is, on rows it did not see.

    Parameters
    ----------
    ridge_mae, ols_mae : float
        Mean absolute error in positions, predictions rounded: ridge with its strength chosen on
        the training rows, and ordinary least squares.
    chance_mae : float
        Error of always saying the middle position.
    rows : int
        Leading rows used.
    on_peak : bool
        Whether least squares stands on the double-descent peak here: then read the ridge.
    """

    ridge_mae: float
    ols_mae: float
    chance_mae: float
    rows: int
    on_peak: bool


def position_probe(weights: Array, *, seed: int = 0) -> PositionProbe | None:
    """Predict the position from the row, 5-fold cross-validated over shuffled rows.

    None below 20 rows.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    seed : int
        Of the folds.
    """
    rows = weights[:ROWS].astype(np.float64)
    if len(rows) < 4 * FOLDS:
        return None
    from sklearn.linear_model import LinearRegression, RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict

    positions = np.arange(len(rows))
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    size = float(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean())
    # Strengths relative to the size of the rows, so that the scale of a table does not matter.
    ridge = RidgeCV(alphas=(size or 1.0) * np.logspace(-6, 2, 9))

    def error(reader: object) -> float:
        said = cross_val_predict(reader, rows, positions, cv=folds)
        return float(np.abs(np.round(said) - positions).mean())

    trained = len(rows) * (FOLDS - 1) / FOLDS
    return PositionProbe(
        ridge_mae=error(ridge),
        ols_mae=error(LinearRegression()),
        chance_mae=float(np.abs(positions - np.median(positions)).mean()),
        rows=len(rows),
        on_peak=PEAK[0] <= trained / rows.shape[1] <= PEAK[1],
    )


def relative_order_error(weights: Array, *, seed: int = 0) -> float | None:
    """How often a logistic reader of two rows errs on which comes first.

    512 random pairs of different rows among the first 512, the label whether the second comes
    later, 5-fold cross-validated. In [0, 1], 0.5 for guessing. None below 20 rows. Rows whose size
    (root mean squared distance from their mean) is outside SIZES are brought to size 1 first.

    Parameters
    ----------
    weights : array of shape (n_rows, d_model)
    seed : int
        Of pairs and folds.
    """
    rows = weights[:ROWS].astype(np.float64)
    if len(rows) < 4 * FOLDS:
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_score

    # The penalty has a size of its own: it hides tiny rows, and huge ones stop the search at once.
    size = float(np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()))
    if size and not SIZES[0] <= size <= SIZES[1]:
        rows = rows / size
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(rows), PAIRS)
    second = (first + rng.integers(1, len(rows), PAIRS)) % len(rows)
    scores = cross_val_score(
        LogisticRegression(max_iter=5000),
        np.hstack([rows[first], rows[second]]),
        second > first,
        cv=KFold(FOLDS, shuffle=True, random_state=seed),
    )
    return float(1 - scores.mean())
