"""Short names of well-known Hub models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A short name for a Hub model with a learned position table.

    Parameters
    ----------
    name : str
        What a person types.
    ref : str
        Id of the model on the Hub.
    family : str
        Heading in menus.
    n_positions, d_model : int
        Shape of the table in use, offset rows left out.
    label : str
        For menus.
    """

    name: str
    ref: str
    family: str
    n_positions: int
    d_model: int
    label: str


_ALL = (
    Preset("gpt2", "openai-community/gpt2", "GPT", 1024, 768, "GPT-2 small"),
    Preset("gpt2-medium", "openai-community/gpt2-medium", "GPT", 1024, 1024, "GPT-2 medium"),
    Preset("gpt2-large", "openai-community/gpt2-large", "GPT", 1024, 1280, "GPT-2 large"),
    Preset("gpt2-xl", "openai-community/gpt2-xl", "GPT", 1024, 1600, "GPT-2 XL"),
    Preset("distilgpt2", "distilbert/distilgpt2", "GPT", 1024, 768, "DistilGPT-2"),
    Preset("openai-gpt", "openai-community/openai-gpt", "GPT", 512, 768, "GPT-1"),
    Preset("facebook/opt-125m", "facebook/opt-125m", "OPT", 2048, 768, "OPT 125M"),
    Preset("facebook/opt-1.3b", "facebook/opt-1.3b", "OPT", 2048, 2048, "OPT 1.3B"),
    Preset("bert-base-uncased", "google-bert/bert-base-uncased", "BERT", 512, 768,
           "BERT base, uncased"),
    Preset("bert-base-cased", "google-bert/bert-base-cased", "BERT", 512, 768, "BERT base, cased"),
    Preset("bert-large-uncased", "google-bert/bert-large-uncased", "BERT", 512, 1024,
           "BERT large, uncased"),
    Preset("bert-base-multilingual-cased", "google-bert/bert-base-multilingual-cased", "BERT",
           512, 768, "BERT base, multilingual"),
    Preset("distilbert-base-uncased", "distilbert/distilbert-base-uncased", "BERT", 512, 768,
           "DistilBERT"),
    Preset("roberta-base", "FacebookAI/roberta-base", "BERT", 512, 768, "RoBERTa base"),
    Preset("roberta-large", "FacebookAI/roberta-large", "BERT", 512, 1024, "RoBERTa large"),
    Preset("xlm-roberta-base", "FacebookAI/xlm-roberta-base", "BERT", 512, 768,
           "XLM-RoBERTa base"),
    Preset("albert-base-v2", "albert/albert-base-v2", "BERT", 512, 128, "ALBERT base"),
    Preset("google/electra-base-discriminator", "google/electra-base-discriminator", "BERT", 512,
           768, "ELECTRA base"),
    Preset("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2",
           "BERT", 512, 384, "all-MiniLM-L6-v2"),
    Preset("facebook/bart-base", "facebook/bart-base", "Encoder and decoder", 1024, 768,
           "BART base"),
    Preset("openai/clip-vit-base-patch32", "openai/clip-vit-base-patch32", "Images", 77, 512,
           "CLIP ViT-B/32"),
    Preset("google/vit-base-patch16-224", "google/vit-base-patch16-224", "Images", 197, 768,
           "ViT base, 16 pixel patches"),
    Preset("facebook/dinov2-base", "facebook/dinov2-base", "Images", 1370, 768, "DINOv2 base"),
)  # fmt: skip

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
"""Presets by short name, in menu order."""
