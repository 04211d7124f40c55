"""Frames of a changing table: turned onto each other, never scaled."""

from __future__ import annotations

import numpy as np

from posviz.analysis.film import frames, laid_over, unmoved

RNG = np.random.default_rng(0)
CURVE = RNG.normal(size=(30, 3)) * (3, 2, 1)


def distances(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows[:, None] - rows[None], axis=2)


def test_a_turned_curve_comes_back() -> None:
    centred = CURVE - CURVE.mean(axis=0)
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    np.testing.assert_allclose(laid_over(centred @ turn + 5, centred), centred, atol=1e-12)


def test_the_size_is_left_alone() -> None:
    other = RNG.normal(size=(30, 3))
    np.testing.assert_allclose(distances(laid_over(other, CURVE)), distances(other), atol=1e-12)


def test_frames_of_one_table_in_turned_dimensions_are_one_frame() -> None:
    """Also where two components are nearly equal, so that their own axes swap freely."""
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    table = np.pad(np.stack([np.cos(angle), np.sin(angle)], axis=1), ((0, 0), (0, 6)))
    turns = [np.linalg.qr(RNG.normal(size=(8, 8)))[0] for _ in range(4)]
    first, *others = frames([table @ turn for turn in turns])
    assert first.shape == (40, 3)
    for frame in others:
        np.testing.assert_allclose(frame, first, atol=1e-6)  # float64 Gram: half the digits


def test_awkward_tables_have_frames() -> None:
    found = frames([np.zeros((5, 2)), np.ones((5, 2)), RNG.normal(size=(5, 2))])
    assert [frame.shape for frame in found] == [(5, 3)] * 3
    assert all(np.isfinite(frame).all() for frame in found)
    assert not found[0].any()
    assert frames([np.ones((1, 4))])[0].shape == (1, 3)


def test_rows_that_only_decayed_have_not_moved() -> None:
    before = RNG.normal(size=(6, 4)).astype(np.float32)
    now = before * np.float32(0.3)
    now[2] += RNG.normal(size=4).astype(np.float32)
    assert unmoved(before, now).tolist() == [True, True, False, True, True, True]
    assert unmoved(before, before).all()


def test_decay_of_many_small_steps_is_no_movement() -> None:
    before = RNG.normal(size=(50, 16)).astype(np.float32)
    now = before.copy()
    for _ in range(20_000):
        now *= np.float32(1 - 1e-4)
    assert unmoved(before, now).all()


def test_rows_that_leave_zero_have_moved() -> None:
    before, now = np.zeros((3, 2)), np.array([[0.0, 0.0], [1e-30, 0.0], [0.0, 2.0]])
    assert unmoved(before, now).tolist() == [True, False, False]
    assert unmoved(now, before).tolist() == [True, False, False]
