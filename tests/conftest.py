"""Tables, visits and patience that many tests share: no network, nothing but the project."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from safetensors.numpy import save_file

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

# Two test workers, and the processes that they start, share a few cores: threads of PyTorch that
# wait for one another would only spin, and take ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

PROJECT = Path(__file__).resolve().parents[1]
GPT2 = PROJECT.parent / "shared" / "tables" / "gpt2.npy"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--online", action="store_true", help="also run tests that reach the Hub")
    parser.addoption("--slow", action="store_true", help="also run tests that take minutes")


def pytest_configure(config: pytest.Config) -> None:
    # No limit of time, since a busy machine is slow; other examples each time only with --slow.
    settings.register_profile(
        "posviz",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=not config.getoption("--slow"),
        database=None,
    )
    settings.load_profile("posviz")
    # A shell that starts the tests in the background makes them deaf to Ctrl-C, which some send.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for mark in ("online", "slow"):
        if not config.getoption(f"--{mark}"):
            skip = pytest.mark.skip(reason=f"run with --{mark}")
            for item in items:
                if mark in item.keywords:
                    item.add_marker(skip)


@pytest.fixture(scope="session")
def gpt2_weights() -> np.ndarray:
    """GPT-2 small's own table, (1024, 768) float32; its digits are tested only where it lies."""
    if not GPT2.is_file():
        pytest.skip("GPT-2's own table is not beside this checkout")
    return np.load(GPT2, allow_pickle=False)


def made_helix(n_positions: int = 1024, d_model: int = 768, *, seed: int = 0) -> np.ndarray:
    """A stand-in with GPT-2's shape of curve: three turns, jitter, an odd first and last row.

    Three orthonormal directions carry the helix, the other 765 only noise of std 0.03, so
    that three components hold about nine tenths of the centred variance.
    """
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 3 * 2 * np.pi, n_positions)
    axis = np.linspace(-2.2, 2.2, n_positions)
    helix = np.stack([2.6 * np.cos(angle), 2.6 * np.sin(angle), axis], axis=1)
    basis = np.linalg.qr(rng.normal(size=(d_model, 3)))[0].T
    weights = helix @ basis + rng.normal(0, 0.03, (n_positions, d_model))
    weights[0] *= 3
    weights[-1] *= 0.03
    return weights.astype(np.float32)


@pytest.fixture(scope="session")
def helix_weights() -> np.ndarray:
    return made_helix()


@pytest.fixture(scope="session")
def gpt2_like_weights() -> np.ndarray:
    """GPT-2's table where it lies beside the checkout, else the made helix."""
    return np.load(GPT2, allow_pickle=False) if GPT2.is_file() else made_helix()


@pytest.fixture
def odd_table(tmp_path: Path) -> str:
    """Path of a smooth table of 40 rows, of which row 7 is special."""
    place = np.linspace(0, 3, 40)
    rows = np.stack([np.sin(place), np.cos(place), 0 * place + 0.1, 0 * place], axis=1)
    rows[7] *= 10
    np.save(tmp_path / "odd.npy", rows)
    return str(tmp_path / "odd.npy")


@pytest.fixture
def grid_table(tmp_path: Path) -> str:
    """Folder of an image model's table: 4 × 4 patches and a class row."""
    rows = np.random.default_rng(0).normal(size=(1, 17, 8)).astype(np.float32)
    save_file({"embeddings.position_embeddings": rows}, tmp_path / "model.safetensors")
    config = {"model_type": "vit", "image_size": 32, "patch_size": 8, "hidden_size": 8}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return str(tmp_path)


@pytest.fixture(scope="session")
def visit() -> Callable[..., AppTest]:
    """A function (file of a page, query of its address) to what a new visitor sees there."""
    from streamlit.testing.v1 import AppTest

    def visit(page: str = "", **query: str) -> AppTest:
        app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=120)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        return app.switch_page(f"pages/{page}").run() if page else app

    return visit


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], None]:
    """A function that waits until a condition holds."""

    def until(condition: Callable[[], bool]) -> None:
        while not condition():  # pytest's own time limit ends a hang
            time.sleep(0.02)

    return until
