"""Tiny models as transformers itself saves them, with random weights."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_ENCODER = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
_TEXT = {**_ENCODER, "vocab_size": 50}
_SEQ2SEQ = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 50,
}  # fmt: skip
_PICTURE = {**_ENCODER, "image_size": 32, "patch_size": 8}

# Model class, config class, settings; every text table has 32 positions.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config",
             {"n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50,
              "bos_token_id": 0, "eos_token_id": 0}),
    "bert": ("BertForMaskedLM", "BertConfig", {**_TEXT, "max_position_embeddings": 32}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig",
                {**_TEXT, "max_position_embeddings": 34, "pad_token_id": 1}),
    "opt": ("OPTForCausalLM", "OPTConfig",
            {"max_position_embeddings": 32, "hidden_size": 16, "num_hidden_layers": 2,
             "num_attention_heads": 2, "ffn_dim": 32, "vocab_size": 50,
             "word_embed_proj_dim": 16}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig",
                   {"max_position_embeddings": 32, "dim": 16, "n_layers": 2, "n_heads": 2,
                    "hidden_dim": 32, "vocab_size": 50}),
    "bart": ("BartModel", "BartConfig", {**_SEQ2SEQ, "max_position_embeddings": 32}),
    "clip": ("CLIPModel", "CLIPConfig",
             {"text_config": {**_TEXT, "max_position_embeddings": 32},
              "vision_config": _PICTURE, "projection_dim": 16}),
    "vit": ("ViTModel", "ViTConfig", _PICTURE),
    "led": ("LEDModel", "LEDConfig",
            {**_SEQ2SEQ, "max_encoder_position_embeddings": 32,
             "max_decoder_position_embeddings": 32, "attention_window": 4}),
}  # fmt: skip


@pytest.fixture(scope="session")
def transformers() -> Any:
    library = pytest.importorskip("transformers")
    library.utils.logging.disable_progress_bar()
    return library


@pytest.fixture
def built(transformers: Any) -> Callable[[str], Any]:
    """A tiny model of one family in evaluation mode, always the same weights."""
    torch = importlib.import_module("torch")

    def build(family: str) -> Any:
        model, config, settings = MODELS[family]
        torch.manual_seed(0)
        made = getattr(transformers, model)(getattr(transformers, config)(**settings)).eval()
        with torch.no_grad():  # transformers zeroes a padding row: random rows show what is kept
            for name, weight in made.named_parameters():
                if "embed_positions" in name or "position_embedding" in name or "wpe" in name:
                    weight.normal_(std=0.5)
        return made

    return build


@pytest.fixture
def saved(built: Callable[[str], Any], tmp_path: Path) -> Callable[..., Path]:
    """The folder in which such a model was saved."""

    def save(family: str, **settings: Any) -> Path:
        folder = tmp_path / family
        built(family).save_pretrained(folder, **settings)
        return folder

    return save


@pytest.fixture
def loaded(transformers: Any) -> Callable[[Path, str], Any]:
    """The model of a folder, loaded without one complaint."""

    def load(folder: Path, family: str) -> Any:
        kind = getattr(transformers, MODELS[family][0])
        model, complaints = kind.from_pretrained(folder, output_loading_info=True)
        assert {name: found for name, found in complaints.items() if found} == {}
        return model.eval()

    return load


@pytest.fixture(scope="session")
def files() -> Callable[[Path], dict[str, bytes]]:
    """What lies in a folder, by path."""

    def read(folder: Path) -> dict[str, bytes]:
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return read


@pytest.fixture(scope="session")
def outputs() -> Callable[[Any, int], np.ndarray]:
    """What a text model gives for the first symbols of two made texts."""
    torch = importlib.import_module("torch")
    tokens = torch.from_numpy(np.random.default_rng(0).integers(5, 50, (2, 64)))

    def run(model: Any, length: int) -> np.ndarray:
        with torch.no_grad():
            return model(tokens[:, :length])[0].numpy()

    return run
