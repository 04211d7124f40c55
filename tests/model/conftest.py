"""Small models of other people's layouts, with random weights and a tokenizer of a few words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = (
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "then",
    "it",
    "ran",
    "up",
    "that",
    "hill",
    "to",
    "see",
    "what",
    "was",
    "there",
    "once",
    "more",
    "today",
    "and",
)
SPECIAL = {"causal": ["<unk>", "<eos>"], "masked": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}


@pytest.fixture(scope="session")
def text() -> str:
    """Four hundred words in an order that repeats only late."""
    return " ".join(WORDS[(i * i + i // 7) % len(WORDS)] for i in range(400))


def tokenizer(kind: str) -> Any:
    """A tokenizer that knows WORDS, as transformers saves it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    symbols = [*SPECIAL[kind], *WORDS]
    unknown = "<unk>" if kind == "causal" else "[UNK]"
    inner = Tokenizer(models.WordLevel({s: n for n, s in enumerate(symbols)}, unk_token=unknown))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if kind == "causal":
        return PreTrainedTokenizerFast(
            tokenizer_object=inner, unk_token="<unk>", eos_token="<eos>", model_max_length=16
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=16,
    )  # fmt: skip


SMALL = {"num_hidden_layers": 2, "num_attention_heads": 2}
LAYOUTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: kind, class of the model, settings
    "gpt2": ("causal", "GPT2LMHeadModel", {"n_positions": 16, "n_embd": 12, "n_layer": 2,
                                           "n_head": 2}),
    "openai-gpt": ("causal", "OpenAIGPTLMHeadModel", {"n_positions": 16, "n_embd": 12,
                                                      "n_layer": 2, "n_head": 2}),
    "gpt-neo": ("causal", "GPTNeoForCausalLM", {
        "max_position_embeddings": 16, "hidden_size": 12, "num_layers": 2, "num_heads": 2,
        "attention_types": [[["global", "local"], 1]], "window_size": 4}),
    "opt": ("causal", "OPTForCausalLM", {
        "max_position_embeddings": 16, "hidden_size": 12, "ffn_dim": 24, "word_embed_proj_dim": 12,
        "num_hidden_layers": 2, "num_attention_heads": 2}),
    "bert": ("masked", "BertForMaskedLM", {
        "max_position_embeddings": 16, "hidden_size": 12, "intermediate_size": 24, **SMALL}),
    "roberta": ("masked", "RobertaForMaskedLM", {
        "max_position_embeddings": 18, "hidden_size": 12, "intermediate_size": 24,
        "pad_token_id": 1, "type_vocab_size": 1, **SMALL}),
    "distilbert": ("masked", "DistilBertForMaskedLM", {
        "max_position_embeddings": 16, "dim": 12, "hidden_dim": 24, "n_layers": 2, "n_heads": 2}),
    "electra": ("masked", "ElectraForMaskedLM", {
        "max_position_embeddings": 16, "hidden_size": 12, "embedding_size": 12,
        "intermediate_size": 24, **SMALL}),
}  # fmt: skip


@pytest.fixture(scope="session")
def folder_of_layout(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], tuple[Path, Any]]:
    """From a name of LAYOUTS to its folder on disk and the model that was saved there."""
    made: dict[str, tuple[Path, Any]] = {}

    def make(name: str) -> tuple[Path, Any]:
        if name not in made:
            import torch
            import transformers

            kind, class_name, settings = LAYOUTS[name]
            kind_of_model = getattr(transformers, class_name)
            config = kind_of_model.config_class(
                vocab_size=len(SPECIAL[kind]) + len(WORDS), **settings
            )
            torch.manual_seed(4)
            model = kind_of_model(config).eval()
            with torch.no_grad():
                for weight in model.parameters():
                    weight.add_(0.2 * torch.randn_like(weight))
            folder = tmp_path_factory.mktemp("layout") / name
            model.save_pretrained(folder)
            tokenizer(kind).save_pretrained(folder)
            made[name] = folder, model
        return made[name]

    return make
