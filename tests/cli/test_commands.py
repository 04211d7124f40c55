"""What each command answers: the keys that must stay, and values from elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors.numpy import save_file

import posviz
from posviz.cli import main
from posviz.interpolation import GRIDS, METHODS
from posviz.sources import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    Run = Callable[..., Any]

CONTRACT = {
    "inspect": {
        "ref", "format", "model_type", "scheme", "message", "warnings", "bytes_read", "requests",
        "tables",
    },
    "inspect tables": {
        "parameter", "file", "shape", "dtype", "kind", "n_positions", "d_model", "row_offset",
        "prefix_rows", "suffix_rows", "grid", "default", "reason",
    },
    "analyze": {
        "ref", "parameter", "n_positions", "d_model", "special_rows", "rows_used",
        "explained_variance_ratio", "components", "singular_values", "effective_rank", "norms",
        "cosine", "cosine_centred", "toeplitz_r2", "toeplitz_r2_centred", "roughness",
        "turning_cosine", "power", "helix", "usable_length", "nulls", "verdict",
    },
    "compare": {"cka", "procrustes", "principal_angles", "rows_compared", "a", "b"},
    "extend": {"method", "grid", "from", "to", "kept", "metrics", "holdout", "out"},
    "extend metrics": {
        "step_median", "step_max", "turning_cosine", "roughness", "toeplitz_r2",
        "toeplitz_r2_centred", "min_norm",
    },
}  # fmt: skip


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with --json: strict JSON, one object, nothing on stderr."""

    def run(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert out.count("\n") == 1
        return json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))

    return run


@pytest.fixture
def roberta(tmp_path: Path) -> Path:
    """A RoBERTa-layout checkpoint with two towers: 2 rows before position 0, 24 positions."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(26, 8)).astype(np.float32)
    (tmp_path / "config.json").write_text('{"model_type": "roberta", "pad_token_id": 1}')
    save_file(
        {
            "roberta.embeddings.position_embeddings.weight": rows,
            "roberta.embeddings.word_embeddings.weight": rng.normal(size=(50, 8)).astype("f4"),
        },
        tmp_path / "model.safetensors",
    )
    return tmp_path


def test_inspect_says_which_tensor_is_the_table(run: Run, roberta: Path) -> None:
    found = run("inspect", str(roberta))
    assert CONTRACT["inspect"] <= set(found)
    (table,) = found["tables"]
    assert CONTRACT["inspect tables"] <= set(table)
    assert (found["ref"], found["format"], found["model_type"], found["scheme"]) == (
        str(roberta), "safetensors", "roberta", "learned",
    )  # fmt: skip
    assert (table["parameter"], table["file"], table["shape"], table["dtype"]) == (
        "roberta.embeddings.position_embeddings.weight", "model.safetensors", [26, 8], "F32",
    )  # fmt: skip
    assert (table["n_positions"], table["d_model"], table["row_offset"], table["grid"]) == (
        24, 8, 2, None,
    )  # fmt: skip
    assert table["default"] is True
    assert found["message"] is None
    assert found["requests"] == 0
    assert found["bytes_read"] > 0


def test_inspect_notes_weights_that_lie_there_unread(
    run: Run, roberta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("inspect", str(roberta))["notes"] == []
    (roberta / "model-q8_0.gguf").write_bytes(b"never read")
    found = run("inspect", str(roberta))
    (note,) = found["notes"]
    assert note.startswith("model.safetensors is open; model-q8_0.gguf is there too, unread.")
    assert found["warnings"] == []
    main(["inspect", str(roberta)])
    assert note in capsys.readouterr().out


def test_inspect_answers_for_the_tensor_that_is_named(run: Run, roberta: Path) -> None:
    name = "roberta.embeddings.word_embeddings.weight"
    (table,) = run("inspect", str(roberta), "--parameter", name)["tables"]
    assert (table["parameter"], table["default"]) == (name, True)


def test_f04_a_dead_padding_row_is_no_position_and_gives_no_nan(run: Run, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(514, 16)).astype(np.float16)
    rows[1] = 0
    (tmp_path / "config.json").write_text(
        '{"model_type": "roberta", "pad_token_id": 1, "max_position_embeddings": 514}'
    )
    save_file(
        {"roberta.embeddings.position_embeddings.weight": rows}, tmp_path / "model.safetensors"
    )
    found = run("analyze", str(tmp_path))
    assert (found["n_positions"], found["rows_used"]) == (512, 512)
    norms = np.linalg.norm(rows[2:].astype(np.float64), axis=1)
    assert found["norms"]["min"] == pytest.approx(norms.min(), rel=1e-6)
    assert found["norms"]["first"] == pytest.approx(norms[0], rel=1e-6)
    assert all(value is not None for value in found["norms"].values())


def test_a_model_without_a_table_is_inspected_but_not_analysed(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    save_file(
        {"model.embed_tokens.weight": np.zeros((50, 8), np.float32)},
        tmp_path / "model.safetensors",
    )
    found = run("inspect", str(tmp_path))
    assert (found["tables"], found["scheme"]) == ([], "rotary")
    assert main(["analyze", str(tmp_path), "--json"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert found["message"] in err


def test_the_text_of_inspect_says_what_the_json_says(
    roberta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(roberta)]) == 0
    out = capsys.readouterr().out
    assert "* roberta.embeddings.position_embeddings.weight" in out
    assert "24 positions × 8, F32, first position in row 2" in out


def test_an_unknown_parameter_is_refused_with_the_choices(
    roberta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(roberta), "--parameter", "wpe"]) == 3
    assert "roberta.embeddings.position_embeddings.weight" in capsys.readouterr().err


def test_analyze_agrees_with_numpy(run: Run, roberta: Path) -> None:
    found = run("analyze", str(roberta))
    assert CONTRACT["analyze"] <= set(found)
    rows = posviz.load(str(roberta)).weights.astype(np.float64)
    singular = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    assert found["ref"] == str(roberta)
    assert (found["n_positions"], found["d_model"], found["rows_used"]) == (24, 8, 24)
    np.testing.assert_allclose(found["singular_values"], singular, rtol=1e-9)
    np.testing.assert_allclose(
        found["explained_variance_ratio"], singular**2 / (singular**2).sum(), rtol=1e-9
    )
    np.testing.assert_allclose(found["norms"]["first"], np.linalg.norm(rows[0]), rtol=1e-12)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for offset in (0, 1, 5, 23):
        mean = np.diag(units @ units.T, offset).mean()
        np.testing.assert_allclose(found["cosine"]["by_offset"][offset], mean, atol=1e-6)
    for null in ("gaussian", "shuffled", "sinusoidal"):
        assert {"repeats", "seed", "roughness", "effective_rank"} <= set(found["nulls"][null])
    assert all(isinstance(sentence, str) for sentence in found["verdict"])


def test_special_rows_can_be_left_out(run: Run, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    rows[0] *= 20
    np.save(tmp_path / "table.npy", rows)
    path = str(tmp_path / "table.npy")
    whole, without = run("analyze", path), run("analyze", path, "--exclude-special")
    assert [row["position"] for row in whole["special_rows"]] == [0]
    assert without["special_rows"] == whole["special_rows"]
    assert (whole["rows_used"], without["rows_used"]) == (40, 39)
    np.testing.assert_allclose(
        without["singular_values"],
        np.linalg.svd(rows[1:] - rows[1:].astype(np.float64).mean(axis=0), compute_uv=False),
        rtol=1e-6,
    )


def test_one_row_is_analysed_with_null_for_what_does_not_exist(run: Run) -> None:
    found = run("analyze", "random:1x4")
    assert found["rows_used"] == 1
    assert found["roughness"] is None
    assert found["explained_variance_ratio"] is None


def test_the_text_of_analyze_puts_every_null_beside_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["analyze", "sinusoidal:64x16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sinusoidal:64x16: 64 positions × 16, 64 rows used"
    assert lines[1].split() == ["table", "gaussian", "(20)", "shuffled", "(20)", "sinusoidal"]
    (toeplitz,) = [line.split() for line in lines if line.split()[0] == "toeplitz_r2"]
    assert (toeplitz[1], toeplitz[-1]) == ("1", "1")  # the table is its own null


def test_a_table_is_like_itself_turned_and_scaled(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 6))
    turned = 3 * rows @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    np.save(tmp_path / "a.npy", rows.astype(np.float32))
    np.save(tmp_path / "b.npy", turned.astype(np.float32))
    found = run("compare", str(tmp_path / "a.npy"), str(tmp_path / "b.npy"))
    assert CONTRACT["compare"] <= set(found)
    assert found["rows_compared"] == 30
    assert found["cka"] == pytest.approx(1, abs=1e-6)
    assert found["procrustes"] == pytest.approx(0, abs=1e-6)
    assert found["a"]["roughness"] == pytest.approx(found["b"]["roughness"], rel=1e-5)


def test_tables_of_two_sizes_are_compared_where_both_are(run: Run) -> None:
    found = run("compare", "sinusoidal:20x8", "random:30x4")
    assert (found["rows_compared"], found["principal_angles"]) == (20, None)


def test_two_tables_of_one_checkpoint_are_compared_by_name(run: Run, roberta: Path) -> None:
    name = "roberta.embeddings.{}_embeddings.weight"
    words = ["compare", str(roberta), str(roberta)]
    same = run(*words, "--parameter", name.format("position"))
    other = run(*words, "--parameter", name.format("position"), "--parameter", name.format("word"))
    assert same["cka"] == pytest.approx(1)
    assert other["cka"] != pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length", [40, 12])
def test_extend_gives_the_length_asked_for(
    run: Run, tmp_path: Path, method: str, length: int
) -> None:
    out = tmp_path / "new.safetensors"
    found = run(
        "extend", "sinusoidal:24x8", "--length", str(length), "--method", method, "-o", str(out)
    )
    assert CONTRACT["extend"] <= set(found)
    assert set(found["metrics"]) == CONTRACT["extend metrics"]
    assert (found["method"], found["from"], found["to"], found["out"]) == (
        method, 24, length, str(out),
    )  # fmt: skip
    new = posviz.load(str(out))
    assert new.n_positions == length
    norms = np.linalg.norm(new.weights, axis=1)
    np.testing.assert_allclose(found["metrics"]["min_norm"], norms.min(), rtol=1e-6)


@pytest.mark.parametrize("grid", GRIDS)
def test_extend_uses_the_grid(run: Run, tmp_path: Path, grid: str) -> None:
    np.save(tmp_path / "two.npy", np.array([[0, 0], [12, 24]], np.float32))
    out = tmp_path / "four.npy"
    found = run(
        "extend", str(tmp_path / "two.npy"), "--length", "4", "--grid", grid, "-o", str(out)
    )
    assert found["grid"] == grid
    by_hand = {
        "align-corners": [0, 4, 8, 12],
        "half-pixel": [0, 3, 9, 12],
        "anchored": [0, 6, 12, 12],
    }
    np.testing.assert_allclose(np.load(out)[:, 0], by_hand[grid], atol=1e-5)


def test_offset_rows_and_kept_rows_come_through_unchanged(
    run: Run, roberta: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new.safetensors"
    found = run("extend", str(roberta), "--length", "48", "--keep", "0,last:1", "-o", str(out))
    old, new = posviz.load(str(roberta)), posviz.load(str(out))
    assert found["kept"] == [0, 23]
    assert new.row_offset == 2
    np.testing.assert_array_equal(new.raw[:3], old.raw[:3])
    np.testing.assert_array_equal(new.raw[-1], old.raw[-1])
    assert new.raw.shape == (50, 8)


def test_an_image_table_is_stretched_in_two_dimensions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    rows = np.random.default_rng(0).normal(size=(1, 17, 8)).astype(np.float32)
    save_file({"vit.embeddings.position_embeddings": rows}, tmp_path / "model.safetensors")
    found = run("extend", str(tmp_path), "--grid-size", "8x6")
    assert (found["from"], found["to"], found["kept"]) == (17, 49, [0])


def test_extend_writes_nothing_where_it_may_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "absent" / "new.npy"
    assert main(["extend", "random:8x4", "--length", "9", "-o", str(out), "--json"]) == 2
    assert capsys.readouterr() == (
        "",
        f"posviz: {out} cannot be written: the folder {out.parent} does not exist.\n",
    )


@pytest.mark.parametrize("spelling", ["{0}/table.npy", "{0}/../{1}/table.npy"])
def test_extend_never_writes_over_what_it_reads(
    tmp_path: Path, spelling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.npy"
    np.save(table, np.eye(9, 4, dtype=np.float32))
    before = table.read_bytes()
    out = spelling.format(tmp_path, tmp_path.name)
    assert main(["extend", str(table), "--length", "5", "-o", out]) == 2
    assert "is the table that is read; writing there would lose it" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_the_text_of_extend_ranks_the_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extend", "sinusoidal:64x16", "--length", "128"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sinusoidal:64x16: 64 to 128 positions, linear, align-corners"
    start = lines.index("Every second row left out and rebuilt: relative error, smallest first")
    errors = [float(line.split()[1]) for line in lines[start + 1 :]]
    assert errors == sorted(errors)
    assert len(errors) == 5


def test_presets_lists_every_short_name(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    listed = run("presets")["presets"]
    assert [preset["name"] for preset in listed] == list(PRESETS)
    assert main(["presets"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in text[1:]] == list(PRESETS)
