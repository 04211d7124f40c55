"""Public bug reports about resizing position tables, each with its right answer.

The names R01 … R13 are those of the collection; every one goes through the command line and is
checked on the numbers that were written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import posviz
from posviz.analysis.similarity import similarity
from posviz.cli import main

Resize = Callable[..., np.ndarray]
Folder = Callable[..., Path]


@pytest.fixture
def resize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Resize:
    """The stored rows after ``extend``, of an array or of a checkpoint."""

    def run(source: np.ndarray | Path, *options: str) -> np.ndarray:
        if isinstance(source, np.ndarray):
            np.save(tmp_path / "in.npy", source.astype(np.float32))
            source = tmp_path / "in.npy"
        out = tmp_path / "out.npy"
        assert main(["extend", str(source), *options, "-o", str(out), "--json"]) == 0
        json.loads(capsys.readouterr().out)
        return np.load(out)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A checkpoint of one tensor and its config."""

    def write(model_type: str, name: str, rows: np.ndarray, **config: int) -> Path:
        path = tmp_path / model_type
        path.mkdir()
        save_file({name: rows}, path / "model.safetensors", metadata={"format": "pt"})
        (path / "config.json").write_text(json.dumps({"model_type": model_type, **config}))
        return path

    return write


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None]


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("values", "grid", "right"),
    [
        ([0, 1], "align-corners", [0, 1 / 3, 2 / 3, 1]),
        ([0, 1], "half-pixel", [0, 0.25, 0.75, 1]),
        ([0, 1, 2, 3], "align-corners",
         [0, 3 / 7, 6 / 7, 9 / 7, 12 / 7, 15 / 7, 18 / 7, 3]),
        ([0, 1, 2, 3], "half-pixel", [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
    ],
)  # fmt: skip
def test_r01_the_two_rules_for_end_points(
    resize: Resize, values: list[float], grid: str, right: list[float]
) -> None:
    found = resize(column(*values), "--length", str(len(right)), "--grid", grid)
    np.testing.assert_allclose(found[:, 0], right, atol=1e-6)


def test_r01_the_rule_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for grid in ("align-corners", "half-pixel"):
        assert main(["extend", "random:4x2", "--length", "8", "--grid", grid]) == 0
        assert grid in capsys.readouterr().out.splitlines()[0]


def test_r02_twice_the_length_keeps_the_old_points_only_at_2l_minus_1(resize: Resize) -> None:
    seven = resize(column(0, 1, 2, 3), "--length", "7")[:, 0]
    np.testing.assert_array_equal(seven, [0, 0.5, 1, 1.5, 2, 2.5, 3])
    eight = resize(column(0, 1, 2, 3), "--length", "8")[:, 0]
    assert sorted(set(eight.tolist()) & {0.0, 1.0, 2.0, 3.0}) == [0.0, 3.0]


def test_r06_a_tiled_roberta_continues_with_its_first_position(
    resize: Resize, folder: Folder
) -> None:
    rows = noise(514, 16)
    source = folder(
        "roberta", "roberta.embeddings.position_embeddings.weight", rows,
        max_position_embeddings=514, pad_token_id=1,
    )  # fmt: skip
    found = resize(source, "--length", "4096", "--method", "tile")
    assert found.shape == (4098, 16)
    np.testing.assert_array_equal(found[:514], rows)  # rows 0 and 1, and row 512, as they were
    np.testing.assert_array_equal(found[514], rows[2])


def test_r06_a_tiled_bart_keeps_its_two_offset_rows(resize: Resize, folder: Folder) -> None:
    rows = noise(1026, 16)
    source = folder(
        "bart", "model.encoder.embed_positions.weight", rows, max_position_embeddings=1024
    )
    found = resize(source, "--length", "2048", "--method", "tile")
    assert found.shape == (2050, 16)
    np.testing.assert_array_equal(found[:1026], rows)
    np.testing.assert_array_equal(found[1026:], rows[2:])


def test_r07_repeating_the_last_row_makes_positions_alike(resize: Resize) -> None:
    rows = noise(512, 16)
    found = resize(rows, "--length", "1024", "--method", "clamp")
    assert (found[511:] == rows[511]).all()
    ones = np.isclose(similarity(found), 1.0, atol=1e-6)
    assert ones[511:, 511:].all()
    assert ones.sum() == 263_680
    assert np.linalg.matrix_rank(found) == np.linalg.matrix_rank(rows) == 16


def test_r08_clips_first_twenty_rows_are_kept(resize: Resize) -> None:
    found = resize(column(*range(77)), "--length", "248", "--keep", "first:20")[:, 0]
    np.testing.assert_array_equal(found[:20], np.arange(20))
    assert (len(found), found[20], found[247]) == (77 * 4 - 60, 20, 76)


@pytest.mark.parametrize("method", ["zeros", "gaussian", "tile", "mirror", "clamp", "hierarchical"])
@pytest.mark.parametrize("length", [24, 12, 16])
def test_r09_without_interpolation_the_first_rows_stay_bit_equal(
    resize: Resize, method: str, length: int
) -> None:
    rows = noise(16, 8)
    found = resize(rows, "--length", str(length), "--method", method)
    assert found.shape == (length, 8)
    np.testing.assert_array_equal(found[:16], rows[:length])


@pytest.mark.parametrize(("dtype", "coarse"), [("bfloat16", 0.00195), ("float16", 0.00034)])
def test_r10_half_tables_are_computed_in_float32(
    resize: Resize, tmp_path: Path, dtype: str, coarse: float
) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    stored = torch.linspace(0, 1, 512)[:, None].to(getattr(torch, dtype))
    save_torch({"wpe.weight": stored}, tmp_path / "half.safetensors")
    found = resize(tmp_path / "half.safetensors", "--length", "1024")
    expected = torch.nn.functional.interpolate(
        stored.float().T[None], size=1024, mode="linear", align_corners=True
    )[0].T.numpy()
    assert np.abs(found - expected).max() <= 1e-6
    # What computing in the stored type would have cost, so that the test can tell the two.
    rounded = torch.from_numpy(expected).to(stored.dtype).float().numpy()
    assert coarse / 8 < np.abs(rounded - expected).max() <= coarse + 5e-6  # as the digits given


def test_r10_a_half_checkpoint_keeps_its_type(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file
    from safetensors.torch import save_file as save_torch

    source = tmp_path / "half"
    source.mkdir()
    stored = torch.linspace(0, 1, 512)[:, None].bfloat16()
    save_torch({"wpe.weight": stored}, source / "model.safetensors", {"format": "pt"})
    (source / "config.json").write_text('{"model_type": "gpt2", "n_positions": 512}')
    out = tmp_path / "out"
    assert main(["extend", str(source), "--length", "1024", "-o", str(out)]) == 0
    found = load_file(out / "model.safetensors")["wpe.weight"]
    computed = posviz.load(str(source)).weights
    wide = np.interp(np.arange(1024) * 511 / 1023, np.arange(512), computed[:, 0])
    assert found.dtype == torch.bfloat16
    assert torch.equal(found[:, 0], torch.from_numpy(wide.astype(np.float32)).bfloat16())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("method", ["linear", "bicubic"])
def test_r11_smoothed_shrinking_of_half_tables_equals_float32(
    resize: Resize, tmp_path: Path, dtype: str, method: str
) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    stored = torch.from_numpy(noise(1, 197, 16)).to(getattr(torch, dtype))
    (tmp_path / "config.json").write_text(
        '{"model_type": "vit", "image_size": 224, "patch_size": 16}'
    )
    options = ("--grid-size", "7x7", "--antialias", "--method", method, "--grid", "half-pixel")
    found = []
    for values in (stored, stored.float()):
        save_torch(
            {"embeddings.position_embeddings": values}, tmp_path / "model.safetensors",
        )  # fmt: skip
        found.append(resize(tmp_path / "model.safetensors", *options))
    assert found[0].shape == (50, 16)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][0], stored[0, 0].float().numpy())


def test_r13_an_image_table_is_a_picture_and_no_list(resize: Resize, folder: Folder) -> None:
    source = folder(
        "siglip_vision_model", "embeddings.position_embedding.weight", column(0, 1, 2, 3),
        image_size=32, patch_size=16,
    )  # fmt: skip
    found = resize(source, "--grid-size", "3x3")[:, 0]
    np.testing.assert_allclose(found, [0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3], atol=1e-6)
