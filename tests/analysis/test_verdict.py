from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from posviz.analysis.references import random_normal, sinusoidal
from posviz.analysis.summary import analyze
from posviz.table import PositionTable, Provenance
from posviz.wording import significant

PAGES = {"curve", "similarity", "spectrum", "interpolation", "dimensions"}


def said(weights: np.ndarray, *, exclude_special: bool = False, kind: str = "learned") -> list[str]:
    table = PositionTable(weights, "made", Provenance("file", "made"), kind=kind)
    return [
        sentence.text
        for sentence in analyze(table, exclude_special=exclude_special, null_repeats=5).verdict
    ]


def embedded(*columns: np.ndarray, noise: float = 0.02, d_model: int = 32) -> np.ndarray:
    rng = np.random.default_rng(0)
    curve = np.stack(columns, axis=1)
    basis = np.linalg.qr(rng.normal(size=(d_model, curve.shape[1])))[0].T
    return curve @ basis + rng.normal(0, noise, (len(curve), d_model))


PLACE = np.linspace(0, 1, 128)
ANGLE = 2 * np.pi * PLACE

HEADLINES: dict[str, np.ndarray] = {
    "A helix in three dimensions.": embedded(
        2 * np.cos(3 * ANGLE), 2 * np.sin(3 * ANGLE), 3 * (PLACE - 0.5)
    ),
    "A circle in two dimensions.": embedded(np.cos(ANGLE), np.sin(ANGLE)),
    "A winding curve in two dimensions.": embedded(
        PLACE * np.cos(2 * ANGLE), PLACE * np.sin(2 * ANGLE), noise=0.01
    ),
    "An arc in two dimensions.": embedded(np.cos(ANGLE / 2), np.sin(ANGLE / 2)),
    "Nearly a straight line.": embedded(9 * PLACE),
    "Waves of several lengths, not one simple curve.": embedded(
        *(f(turns * ANGLE) for turns in (2, 9, 20, 31) for f in (np.cos, np.sin))
    ),
    "Noise: no order along position.": random_normal(128, 32),
    "Few directions, but no order.": np.random.default_rng(1).permutation(
        embedded(3 * np.cos(ANGLE), 3 * np.sin(ANGLE))
    ),
    "Every row is the same.": np.ones((16, 8)),
    "One row.": np.ones((1, 8)),
    "Only 3 rows.": random_normal(3, 8),
}


@pytest.mark.parametrize("headline", HEADLINES)
def test_the_headline_says_the_shape(headline: str) -> None:
    assert said(HEADLINES[headline])[0] == headline


def test_the_headline_does_not_depend_on_scale_or_direction() -> None:
    for headline, weights in HEADLINES.items():
        for other in (weights * 1e-3, weights[::-1], -weights):
            assert said(other)[0] == headline


def test_gpt2_shape_is_a_helix_with_jitter_and_two_odd_rows(helix_weights: np.ndarray) -> None:
    sentences = said(helix_weights)
    assert sentences[0] == "A helix in three dimensions."
    assert any("jitters" in sentence for sentence in sentences)
    assert any("Row 0" in sentence and "row 1,023" in sentence for sentence in sentences)
    left_out = said(helix_weights, exclude_special=True)
    assert left_out[0] == "A helix in three dimensions."
    assert any(sentence.endswith("look trained.") for sentence in left_out)


def test_low_rank_is_not_called_order() -> None:
    shuffled = HEADLINES["Few directions, but no order."]
    assert any(sentence.startswith("Neighbours are not alike") for sentence in said(shuffled))
    ordered = said(HEADLINES["A circle in two dimensions."])
    assert any(sentence.startswith("Low rank is not order") for sentence in ordered)


def test_a_rough_learned_table_is_no_failure() -> None:
    text = " ".join(said(random_normal(128, 32)))
    assert "Training need not make them so" in text
    assert "Training need not make them so" not in " ".join(
        said(random_normal(128, 32), kind="random")
    )


def test_a_sinusoidal_table_is_not_called_low_dimensional() -> None:
    text = " ".join(said(sinusoidal(256, 128), kind="sinusoidal"))
    assert "A sinusoidal table is not low-dimensional" in text
    assert "Low rank" not in text


def test_fast_winding_is_not_called_an_arc() -> None:
    sentences = said(embedded(np.cos(25 * ANGLE), np.sin(25 * ANGLE), PLACE))
    assert any("that plane winds 25" in sentence for sentence in sentences)


def test_a_dip_in_similarity_is_said() -> None:
    waves = HEADLINES["Waves of several lengths, not one simple curve."]
    assert any("rises again" in sentence for sentence in said(waves))
    assert not any("rises again" in s for s in said(HEADLINES["An arc in two dimensions."]))


@pytest.mark.parametrize("change", [lambda w: w, np.flipud], ids=["as is", "upside down"])
def test_every_table_has_three_to_six_sentences_that_lead_to_a_page(
    awkward: np.ndarray, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    table = PositionTable(change(awkward), "made", Provenance("file", "made"))
    sentences = analyze(table, null_repeats=1).verdict
    assert 3 <= len(sentences) <= 6
    assert {sentence.page for sentence in sentences} <= PAGES
    for sentence in sentences:
        assert sentence.text[0].isupper() or sentence.text[0].isdigit()
        assert sentence.text.endswith(".")
        assert "nan" not in sentence.text.split()
    assert len(sentences[0].text) < 60
    assert all(first != second for first, second in pairwise(sentences))


def test_equal_rows_are_said_first_and_without_a_guess() -> None:
    weights = HEADLINES["A circle in two dimensions."]
    assert not any("equal rows" in sentence for sentence in said(weights))
    assert said(np.vstack([weights, weights]))[1] == (
        "Rows 128 to 255 repeat rows 0 to 127: positions with equal rows cannot be told apart."
    )
    ends = np.vstack([weights, np.full((40, 32), 0.02)])
    assert said(ends)[1] == (
        "Rows 128 to 167 are the same row: positions with equal rows cannot be told apart."
    )


@pytest.mark.parametrize("rows", [np.ones((64, 16)), np.tile(np.arange(16.0), (64, 1))])
def test_rows_that_are_all_the_same_tell_no_position(rows: np.ndarray) -> None:
    norm = significant(float(np.linalg.norm(rows[0])))
    assert said(rows) == [
        "Every row is the same.",
        "Positions cannot be told apart: nothing varies from position to position, so there is no "
        "curve and no spectrum.",
        f"Every row has norm {norm}.",
    ]
