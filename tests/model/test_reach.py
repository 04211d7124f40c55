"""How far models read: at their own length exactly as ever, past it by what stands in for rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.reach import Reach, lengths, reach, refusal
from posviz.model.texts import sequences
from posviz.training.config import default_config
from posviz.training.engine import train

if TYPE_CHECKING:
    from posviz.model.runner import Model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """The same task twice, enough for position to matter, with each kind of table."""
    home = tmp_path_factory.mktemp("runs")
    for table in ("learned", "sinusoidal"):
        config = default_config(
            "sticky-mlm", steps=260, n_positions=32, d_model=32, batch_size=32, table=table
        )
        for _ in train(config, home / table):
            pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_RUNS", str(home))
        return {table: open_model(f"run:{table}") for table in ("learned", "sinusoidal")}


def by_way(found: list[Reach]) -> dict[tuple[str, int], float]:
    return {(one.way, one.length): one.loss.mean for one in found}


def test_a_stretched_table_of_the_own_length_is_the_table_itself(
    trained: dict[str, Model],
) -> None:
    losses = by_way(list(reach(trained["learned"])))
    assert losses["own", 32] == losses["stretched", 32] == losses["appended", 32]


def test_the_loss_is_that_of_the_same_sequences_read_by_hand(trained: dict[str, Model]) -> None:
    model = trained["learned"]
    found = by_way(list(reach(model, seed=3)))
    read = sequences(model, length=16, count=8192 // 16, seed=3)
    assert found["own", 16] == loss_by_position(model, read).mean


def test_past_the_last_row_a_formula_goes_on_and_a_learned_table_is_stretched(
    trained: dict[str, Model],
) -> None:
    learned = by_way(list(reach(trained["learned"])))
    waves = by_way(list(reach(trained["sinusoidal"])))
    assert {way for way, length in learned if length > 32} == {"stretched", "appended"}
    assert {way for way, length in waves if length > 32} == {"formula"}
    assert all(np.isfinite(loss) for loss in (*learned.values(), *waves.values()))
    # Two rows apart mean what one row apart meant; random rows mean nothing.
    assert learned["stretched", 64] < learned["appended", 64]
    # Vectors that exist are not vectors that were trained.
    assert waves["formula", 64] > waves["own", 32] + 0.1


def test_the_wall_is_the_librarys_own_sentence(trained: dict[str, Model]) -> None:
    assert refusal(trained["learned"]) == "IndexError: index out of range in self"
    assert refusal(trained["sinusoidal"]) == ""


@pytest.mark.parametrize("n_positions", [4, 8, 9, 32, 1000])
def test_lengths_rise_and_hold_the_tables_own(n_positions: int) -> None:
    found = lengths(n_positions)
    assert found == sorted(set(found))
    assert n_positions in found
    assert found[-1] >= min(3 * n_positions, 8)
    assert min(found) >= min(8, n_positions)


def test_a_model_that_learned_nothing_loses_nothing(tmp_path: Path) -> None:
    config = default_config("copy", steps=0, n_positions=16, d_model=8)
    for _ in train(config, tmp_path / "fresh"):
        pass
    model = open_model(str(tmp_path / "fresh"))
    for one in reach(model):
        assert abs(one.loss.mean - math.log(model.vocabulary_size)) < 0.2
