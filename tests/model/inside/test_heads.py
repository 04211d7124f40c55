"""Heads are sorted by how concentrated they are, and named by the stated rules."""

from __future__ import annotations

import numpy as np
import pytest

from posviz.model.attention import by_offset, concentration
from posviz.model.heads import KINDS, head_pattern, profile_heads
from posviz.model.opening import open_weights

N = 64


def shifted(offset: int, share: float = 0.9) -> np.ndarray:
    """A pattern that gives ``share`` to one distance, and the rest to all."""
    pattern = np.full((N, N), (1 - share) / N)
    place = np.arange(N)
    inside = (place + offset >= 0) & (place + offset < N)
    pattern[place[inside], place[inside] + offset] += share
    return pattern / pattern.sum(axis=1, keepdims=True)


def band() -> np.ndarray:
    distance = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    pattern = np.exp(-distance / 3.0)
    return pattern / pattern.sum(axis=1, keepdims=True)


def first() -> np.ndarray:
    pattern = np.full((N, N), 0.3 / N)
    pattern[:, 0] += 0.7
    return pattern


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (shifted(-1), "previous"), (shifted(1), "next"), (shifted(0), "self"),
        (shifted(-2), "fixed"), (shifted(3), "fixed"), (band(), "local"), (first(), "first"),
        (np.full((N, N), 1 / N), "broad"), (shifted(-1, 0.4), "broad"),
    ],
)  # fmt: skip
def test_a_pattern_is_named_by_the_first_rule_that_holds(pattern, kind):
    offsets = by_offset(pattern, causal=False)
    assert next(key for key, one in KINDS.items() if one.holds(offsets, pattern)) == kind


def test_a_short_even_head_is_not_local():
    even = np.full((8, 8), 1 / 8)
    assert not KINDS["local"].holds(by_offset(even, causal=False), even)


def test_heads_come_most_concentrated_first(made):
    weights = open_weights(made.ref)
    found = profile_heads(weights, 0)
    assert sorted(profile.number for profile in found) == list(range(weights.n_heads))
    values = [profile.concentration for profile in found]
    assert values == sorted(values, reverse=True)
    for profile in found:
        pattern = head_pattern(weights, 0, profile.number)
        again = concentration(pattern, causal=weights.is_causal)
        assert again == pytest.approx(profile.concentration, abs=1e-9)
        assert profile.offsets.at(0) == pytest.approx(np.trace(pattern) / len(pattern))
        assert 0 <= profile.null_concentration <= 1
        assert profile.kind in KINDS


def test_the_real_minilm_has_a_previous_token_head_in_its_first_layer(make):
    found = profile_heads(open_weights(make("minilm").ref), 0)
    best = found[0]
    assert (best.number, best.name) == (2, "head 2 · previous token")
    assert best.offsets.at(-1) > 0.98
    # Random rows as positions: no distance gets more than by chance, though some get a lot.
    assert best.null_concentration < best.concentration


def test_chains_that_repeat_their_letter_make_local_heads(make):
    """bert-mini's letters tell most about their neighbours, and all heads look there."""
    for layer in (0, 1):
        found = profile_heads(open_weights(make("bert-mini").ref), layer)
        assert {profile.kind for profile in found} == {"local"}
        for profile in found:
            assert profile.toeplitz > 0.9
            assert profile.concentration > profile.null_concentration
