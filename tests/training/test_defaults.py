"""The default runs do what their explanations promise, for every one of five seeds."""

from __future__ import annotations

import pytest

from posviz.training.config import default_config
from posviz.training.loop import snapshots
from posviz.training.metrics import table_metrics

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("one_thread"),
]


@pytest.mark.parametrize("seed", range(5))
def test_sticky_chains_order_a_random_table(seed: int) -> None:
    kept = list(snapshots(default_config(seed=seed)))
    toeplitz = [table_metrics(snapshot.table)["toeplitz_r2"] for snapshot in kept]
    end = table_metrics(kept[-1].table)
    assert end["adjacent_cosine"] >= 0.90
    assert end["top2_share"] >= 0.75
    assert end["toeplitz_r2"] >= 0.85
    # The jump is on film: from random to ordered in several pictures, not between two.
    assert toeplitz[0] < 0.1
    assert sum(0.2 < share < 0.8 for share in toeplitz) >= 2


@pytest.mark.parametrize("seed", range(5))
def test_copying_is_solved_by_a_table_that_is_not_smooth(seed: int) -> None:
    *_, last = snapshots(default_config("copy", seed=seed))
    assert last.loss < 0.02
    assert abs(table_metrics(last.table)["adjacent_cosine_centred"]) < 0.2
