"""Which method rebuilds rows best on this table: half of it is hidden and asked for."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from posviz.interpolation.methods import METHODS

Array = NDArray[np.floating]

END_ROWS = 8  # not scored at each end, where methods differ by how they treat the border
FEWEST_ROWS = 2 * END_ROWS + 4


def holdout(weights: Array, *, exclude: Collection[int] = ()) -> dict[str, float]:
    """Relative error of rebuilding every second row from the others, by resampling method.

    Rows 1, 3, 5, … are hidden, rebuilt at their own places, and the error is the root of the
    squared differences over the squared distances from the mean of the rows scored; 0 is
    perfect, 1 no better than the mean row. The ends (8 rows) are used but not scored.

    Parameters
    ----------
    weights : array of shape (n_positions, d_model)
    exclude : collection of int
        Positions left out altogether, such as special rows; the others close up.

    Returns
    -------
    dict
        Error by key of METHODS; empty for tables too short (under 20 rows) or without variance.
    """
    rows = np.delete(weights, sorted(exclude), axis=0).astype(np.float64)
    hidden = np.arange(1, len(rows), 2)
    scored = hidden[(hidden >= END_ROWS) & (hidden < len(rows) - END_ROWS)]
    if len(rows) < FEWEST_ROWS:
        return {}
    truth = rows[scored]
    spread = float(np.square(truth - truth.mean(axis=0)).sum())
    if spread == 0:
        return {}
    return {
        key: float(
            np.sqrt(np.square(method.function(rows[::2], scored / 2) - truth).sum() / spread)
        )
        for key, method in METHODS.items()
        if method.family == "resample"
    }
