"""The quick ways to the numbers of nulls give what the slow ways give."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.analysis.decomposition import effective_rank, joined, spectrum
from posviz.analysis.measures import measure
from posviz.analysis.null_draws import gaussian_draws, repeats_for, shuffles, sinusoidal_draw
from posviz.analysis.references import random_normal, sinusoidal, sinusoidal_halves


@pytest.mark.parametrize(
    "shape", [(1, 2), (2, 4), (3, 100), (40, 12), (41, 12), (12, 40), (64, 64), (300, 128)]
)
def test_the_halves_of_a_sinusoidal_table_have_its_spectrum(shape: tuple[int, int]) -> None:
    direct = spectrum(sinusoidal(*shape))
    halves = [spectrum(half, centred=False) for half in sinusoidal_halves(*shape)]
    found = joined(halves, *shape)
    # The table is float32, each entry off by up to 3e-8; the halves are float64.
    np.testing.assert_allclose(found, direct, atol=2e-7 * max(float(direct[0]), 1.0))


def test_the_sinusoidal_null_has_the_ranks_of_the_table_itself() -> None:
    direct = vars(effective_rank(spectrum(sinusoidal(512, 768))))
    assert vars(sinusoidal_draw(512, 768).effective_rank) == pytest.approx(direct, rel=1e-6)


@pytest.mark.parametrize("shape", [(40, 12), (30, 7)])
def test_the_sinusoidal_null_is_measured_like_any_table(shape: tuple[int, int]) -> None:
    direct = measure(sinusoidal(*shape)).scalars()
    assert sinusoidal_draw(*shape).scalars() == pytest.approx(direct, rel=1e-5, abs=1e-6)


def test_shuffles_have_the_numbers_of_the_shuffled_rows() -> None:
    weights = random_normal(60, 16)
    weights[7] *= 9
    # The orders of the same generator, made into tables and measured one by one.
    rng = np.random.default_rng(3)
    orders = [rng.permutation(60) for _ in range(4)]
    drawn = list(shuffles(weights, repeats=4, seed=3))
    for order, (norms, along) in zip(orders, drawn, strict=True):
        direct = measure(weights[order])
        assert vars(norms) == pytest.approx(vars(direct.norms))
        np.testing.assert_allclose(along.cosine.by_offset, direct.cosine.by_offset, atol=1e-6)
        for name in ("toeplitz_r2", "toeplitz_r2_centred", "roughness", "turning_cosine"):
            assert getattr(along, name) == pytest.approx(getattr(direct, name), abs=1e-6)
        for name in ("mean", "min", "adjacent_mean"):
            for kind in ("cosine", "cosine_centred"):
                value = getattr(getattr(along, kind), name)
                assert value == pytest.approx(getattr(getattr(direct, kind), name), abs=1e-6)
        assert along.power[0].share == pytest.approx(direct.power[0].share)


def test_gaussian_draws_have_the_norms_of_the_table() -> None:
    weights = random_normal(50, 8)
    weights[3] *= 20
    for draw in gaussian_draws(weights, repeats=3, seed=0):
        assert draw.norms.max == pytest.approx(float(np.linalg.norm(weights[3])), rel=1e-6)
        assert abs(draw.cosine.mean or 0) < 0.1


def test_there_are_many_draws_of_what_is_cheap() -> None:
    gpt2 = np.empty((1024, 768), dtype=np.float32)
    assert repeats_for("gaussian", gpt2) == 1
    assert repeats_for("shuffled", gpt2) == 5
    assert repeats_for("shuffled", np.empty((32_768, 1024), dtype=np.float32)) == 1
    assert repeats_for("gaussian", np.empty((64, 64), dtype=np.float32)) == 20
