"""What an image or audio table lies over, in config.json and beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from posviz.errors import SourceError
from posviz.export.checkpoint import extend_checkpoint


def saved(folder: Path, config: dict[str, Any], **tensors: tuple[int, ...]) -> Path:
    rng = np.random.default_rng(0)
    held = {name: rng.normal(size=shape).astype(np.float32) for name, shape in tensors.items()}
    save_file(held, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def config_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text()))


def test_timm_makes_its_model_of_the_new_size(tmp_path: Path) -> None:
    config = {
        "architecture": "vit_tiny_patch16_224",
        "pretrained_cfg": {"input_size": [3, 64, 64], "crop_pct": 0.9},
    }
    sizes = {"pos_embed": (1, 17, 8), "patch_embed.proj.weight": (8, 3, 16, 16)}
    done = extend_checkpoint(
        str(saved(tmp_path, config, **sizes)), tmp_path / "new", grid_size=(4, 6)
    )
    assert config_of(tmp_path / "new") == {
        "architecture": "vit_tiny_patch16_224",
        "pretrained_cfg": {"input_size": [3, 64, 96], "crop_pct": 0.9},
        "model_args": {"img_size": [64, 96]},
    }
    assert "config.json: model_args.img_size from its default to [64, 96]" in done.changed
    assert 'timm.create_model("local-dir:" + ' in (tmp_path / "new" / "README.md").read_text()


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        ({"model_type": "siglip2_vision_model", "num_patches": 16, "patch_size": 16},
         "vision_model.embeddings.position_embedding.weight", {"num_patches": 36}),
        ({"model_type": "qwen3_vl_vision", "num_position_embeddings": 16, "patch_size": 16},
         "pos_embed.weight", {"num_position_embeddings": 36}),
    ],
)  # fmt: skip
def test_a_number_of_patches_is_that_of_the_new_grid(
    config: dict[str, Any], name: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    folder = saved(tmp_path, config, **{name: (16, 8)})
    extend_checkpoint(str(folder), tmp_path / "new", grid_size=(6, 6))
    assert config_of(tmp_path / "new") == config | expected
    with pytest.raises(SourceError, match="for height and width, so a grid of 6 × 8"):
        extend_checkpoint(str(folder), tmp_path / "wide", grid_size=(6, 8))


def test_two_keys_take_height_and_width(tmp_path: Path) -> None:
    config = {"model_type": "kimi_k25_vision", "pos_emb_height": 4, "pos_emb_width": 4,
              "patch_size": 14}  # fmt: skip
    folder = saved(tmp_path, config, **{"patch_embed.pos_emb.position_embeddings": (4, 4, 8)})
    extend_checkpoint(str(folder), tmp_path / "new", grid_size=(6, 8))
    assert config_of(tmp_path / "new") == config | {"pos_emb_height": 6, "pos_emb_width": 8}


def test_tables_over_other_grids_of_one_picture_are_refused(tmp_path: Path) -> None:
    config = {"model_type": "vit", "image_size": 64, "patch_size": 16}
    names = {"embeddings.position_embeddings": (1, 17, 8), "other.position_embeddings": (1, 17, 8)}
    folder = saved(tmp_path, config, **names)
    done = extend_checkpoint(str(folder), tmp_path / "new", grid_size=(6, 6))
    assert sum("from 1 × 17 × 8 to 1 × 37 × 8" in line for line in done.changed) == 2


def test_longer_audio_is_cut_later_by_the_feature_extractor_too(
    transformers: Any, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_mel_bins=32, max_length=64,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.ASTModel(config).save_pretrained(tmp_path / "ast")
    extractor = {"num_mel_bins": 32, "max_length": 64, "sampling_rate": 16000}
    (tmp_path / "ast" / "preprocessor_config.json").write_text(json.dumps(extractor))
    extend_checkpoint(str(tmp_path / "ast"), tmp_path / "new", grid_size=(2, 10))
    model, said = transformers.ASTModel.from_pretrained(tmp_path / "new", output_loading_info=True)
    assert {name: found for name, found in said.items() if found} == {}
    frames = model.config.max_length
    assert frames == 16 + 9 * 10
    with torch.no_grad():
        hidden = model(torch.zeros(1, frames, model.config.num_mel_bins))[0]
    assert hidden.shape[1] == 2 + 2 * 10
    beside = json.loads((tmp_path / "new" / "preprocessor_config.json").read_text())
    assert beside == extractor | {"max_length": frames, "num_mel_bins": model.config.num_mel_bins}


def test_whisper_hears_longer_and_its_feature_extractor_gives_more(
    transformers: Any, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    config = transformers.WhisperConfig(
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, vocab_size=60,
        max_source_positions=100, max_target_positions=20, num_mel_bins=8, pad_token_id=1,
        bos_token_id=1, eos_token_id=1, decoder_start_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.WhisperModel(config).save_pretrained(tmp_path / "old")
    extractor = {"chunk_length": 2, "n_samples": 32_000, "nb_max_frames": 200, "hop_length": 160}
    (tmp_path / "old" / "preprocessor_config.json").write_text(json.dumps(extractor))
    extend_checkpoint(
        str(tmp_path / "old"), tmp_path / "new", 150, parameter="encoder.embed_positions.weight"
    )
    beside = json.loads((tmp_path / "new" / "preprocessor_config.json").read_text())
    assert beside == {"chunk_length": 3, "n_samples": 48_000, "nb_max_frames": 300,
                      "hop_length": 160}  # fmt: skip
    model = transformers.WhisperModel.from_pretrained(tmp_path / "new")
    with torch.no_grad():
        heard = model.encoder(torch.zeros(1, 8, beside["nb_max_frames"]))[0]
    assert heard.shape[1] == 150
    assert model.config.max_target_positions == 20
