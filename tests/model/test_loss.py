"""Loss by position: identities, and what science.md 3.6 found on small models, on the demos."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz.interpolation import METHODS, extend
from posviz.model.loading import open_model
from posviz.model.loss import LossByPosition, loss_by_position, smoothed
from posviz.model.texts import sequences
from posviz.sources.demos import DEMOS

if TYPE_CHECKING:
    from posviz.model.runner import Model

RESAMPLED = [key for key, method in METHODS.items() if method.family == "resample"]
APPENDED = [key for key, method in METHODS.items() if method.family == "append"]


@pytest.fixture(scope="module", params=["gpt-mini", "bert-mini"])
def model(request: pytest.FixtureRequest) -> Model:
    return open_model(f"demo:{request.param}")


def made(losses: list[list[float]]) -> LossByPosition:
    values = np.array(losses)
    scored = ~np.isnan(values)
    count = scored.sum(axis=0)
    held = np.where(scored, values, 0)
    with np.errstate(invalid="ignore"):
        return LossByPosition(
            float(held.sum() / count.sum()), held.sum(0) / count, (held**2).sum(0) / count, count,
            "made",
        )  # fmt: skip


def test_the_mean_is_that_of_all_scored_symbols(model: Model) -> None:
    read = sequences(model, length=40, count=6)
    loss = loss_by_position(model, read)
    losses = model.losses(read)
    assert loss.mean == pytest.approx(np.nanmean(losses), rel=1e-12)
    assert loss.count.sum() == read.scored
    np.testing.assert_allclose(loss.by_position, np.nanmean(losses, axis=0), rtol=1e-12)
    assert loss.perplexity == pytest.approx(math.exp(loss.mean))
    first, second = loss.half(0) * loss.count[:20].sum(), loss.half(1) * loss.count[20:].sum()
    assert (first + second) / read.scored == pytest.approx(loss.mean)


def test_seed_zero_reads_what_training_measured_its_loss_on() -> None:
    """The masked demo draws its own sequences, so its last metrics line is the truth."""
    model = open_model("demo:bert-mini")
    lines = (DEMOS / "bert-mini" / "metrics.jsonl").read_text().splitlines()
    read = sequences(model, length=64, count=32)
    assert loss_by_position(model, read).mean == pytest.approx(
        json.loads(lines[-1])["loss"], rel=1e-5
    )


def test_a_position_without_a_symbol_has_no_loss() -> None:
    loss = made([[1.0, math.nan, 3.0], [2.0, math.nan, math.nan]])
    assert math.isnan(loss.by_position[1])
    assert loss.mean == pytest.approx(2.0)


def test_a_smooth_loss_is_the_mean_of_its_window_with_its_standard_error() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(2, 1, (7, 12))
    values[rng.random(values.shape) < 0.3] = np.nan
    found = smoothed(made(values.tolist()), 5)
    for at in range(12):
        window = values[:, max(at - 2, 0) : at + 3]
        window = window[~np.isnan(window)]
        assert found.middle[at] == pytest.approx(window.mean())
        error = window.std() / math.sqrt(len(window))
        assert found.high[at] - found.low[at] == pytest.approx(2 * error)


def test_a_window_of_one_is_the_loss_itself(model: Model) -> None:
    loss = loss_by_position(model, sequences(model, length=24, count=4))
    np.testing.assert_allclose(smoothed(loss, 1).middle, loss.by_position)


# science.md 3.6, on the models that are shipped -----------------------------------------------


@pytest.fixture(scope="module")
def measured(model: Model) -> dict[str, tuple[float, float]]:
    """Mean loss by method: at twice the length, and at the old one with the new table."""
    old = model.table.n_positions
    short = sequences(model, length=old, count=32)
    long = sequences(model, length=2 * old, count=32)
    found = {"": (math.nan, loss_by_position(model, short).mean)}
    for key in METHODS:
        rows = extend(model.table, 2 * old, method=key).table.weights
        found[key] = (
            loss_by_position(model, long, rows).mean, loss_by_position(model, short, rows).mean,
        )  # fmt: skip
    return found


def test_at_twice_the_length_resampling_beats_appending_by_far(
    measured: dict[str, tuple[float, float]],
) -> None:
    worst_resampled = max(measured[key][0] for key in RESAMPLED)
    best_appended = min(measured[key][0] for key in APPENDED)
    assert best_appended > worst_resampled + 0.3
    original = measured[""][1]
    assert (best_appended - original) > 1.5 * (worst_resampled - original)


def test_resampling_kernels_differ_little(measured: dict[str, tuple[float, float]]) -> None:
    losses = [measured[key][0] for key in RESAMPLED]
    gap = min(measured[key][0] for key in APPENDED) - max(losses)
    assert max(losses) - min(losses) < gap / 5


def test_appending_keeps_the_loss_at_the_old_length_bit_for_bit(
    measured: dict[str, tuple[float, float]],
) -> None:
    original = measured[""][1]
    assert {measured[key][1] for key in APPENDED} == {original}
    assert all(measured[key][1] > original for key in RESAMPLED)


def test_a_causal_model_reads_the_first_half_as_before() -> None:
    """Appended rows lie in the future of the first half, which a causal model never sees."""
    model = open_model("demo:gpt-mini")
    old = model.table.n_positions
    long = sequences(model, length=2 * old, count=8)
    before = model.losses(long.cut(old))
    for key in APPENDED:
        rows = extend(model.table, 2 * old, method=key).table.weights
        after = model.losses(long, rows=rows)[:, :old]
        # Longer products are summed in another order: the last bits differ.
        np.testing.assert_allclose(after, before, atol=2e-4)
