"""Where each architecture keeps what enters its first layer: tables, norms, queries and keys.

Foreign names stop at this file. Adding an architecture is one entry of :data:`LAYOUTS`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from posviz.errors import ModelError

BLOCK = "{n}"  # the number of a block, in names


@dataclass(frozen=True)
class Layout:
    """Names of one architecture's weights, from where the model itself begins.

    Parameters
    ----------
    label : str
        For sentences.
    types : tuple of str
        The ``model_type`` values of config.json that it holds for; others may carry the same names
        and yet compute something else.
    positions, tokens : str
        The position and the token table.
    segments : str or None
        The table of segments, which may be missing in the file.
    sum_norm : str or None
        The layer norm that the sum of the rows passes, before any block.
    first_norm : str or None
        The layer norm at the entrance of block ``{n}``, of models that normalise first.
    block_norms : tuple of str
        The layer norms that block ``{n}`` ends its two halves with, of models that normalise
        after.
    query, key : str or None
        The projections of block ``{n}``; the same name where queries, keys and values are one
        weight; None where attention is not read.
    heads, epsilon : tuple of str
        Keys of the config, the first that is there counts.
    usual_epsilon : float
        Where the config says nothing.
    causal : bool
        Whether a position sees only itself and earlier ones.
    scaled : bool
        Whether scores are divided by the square root of the width of a head.
    """

    label: str
    types: tuple[str, ...]
    positions: str
    tokens: str
    segments: str | None = None
    sum_norm: str | None = None
    first_norm: str | None = None
    block_norms: tuple[str, ...] = ()
    query: str | None = None
    key: str | None = None
    heads: tuple[str, ...] = ("num_attention_heads",)
    epsilon: tuple[str, ...] = ("layer_norm_eps",)
    usual_epsilon: float = 1e-5
    causal: bool = False
    scaled: bool = True

    @property
    def is_fused(self) -> bool:
        """Whether queries, keys and values lie side by side in one weight."""
        return self.query is not None and self.query == self.key


_BERT_TABLES = {
    "positions": "embeddings.position_embeddings",
    "tokens": "embeddings.word_embeddings",
    "sum_norm": "embeddings.LayerNorm",
    "usual_epsilon": 1e-12,
}
_GPT_TABLES = {"positions": "wpe", "tokens": "wte", "first_norm": "h.{n}.ln_1", "causal": True}

LAYOUTS: dict[str, Layout] = {
    "gpt2": Layout(
        "GPT-2 or nanoGPT",
        ("gpt2", ""),
        **_GPT_TABLES,  # type: ignore[arg-type]
        query="h.{n}.attn.c_attn",
        key="h.{n}.attn.c_attn",
        heads=("n_head", "num_attention_heads"),
        epsilon=("layer_norm_epsilon",),
    ),
    "gpt_neo": Layout(
        "GPT-Neo",
        ("gpt_neo",),
        **_GPT_TABLES,  # type: ignore[arg-type]
        query="h.{n}.attn.attention.q_proj",
        key="h.{n}.attn.attention.k_proj",
        heads=("num_heads",),
        epsilon=("layer_norm_epsilon",),
        scaled=False,  # its initial weights are scaled instead
    ),
    "openai-gpt": Layout(
        "GPT-1",
        ("openai-gpt",),
        positions="positions_embed",
        tokens="tokens_embed",
        block_norms=("h.{n}.ln_1", "h.{n}.ln_2"),
        query="h.{n}.attn.c_attn",
        key="h.{n}.attn.c_attn",
        heads=("n_head",),
        epsilon=("layer_norm_epsilon",),
        causal=True,
    ),
    "bert": Layout(
        "BERT or RoBERTa",
        ("bert", "roberta", "xlm-roberta", "camembert", "electra", "data2vec-text", ""),
        **_BERT_TABLES,  # type: ignore[arg-type]
        segments="embeddings.token_type_embeddings",
        block_norms=(
            "encoder.layer.{n}.attention.output.LayerNorm",
            "encoder.layer.{n}.output.LayerNorm",
        ),
        query="encoder.layer.{n}.attention.self.query",
        key="encoder.layer.{n}.attention.self.key",
    ),
    "distilbert": Layout(
        "DistilBERT",
        ("distilbert", ""),
        **_BERT_TABLES,  # type: ignore[arg-type]
        block_norms=(
            "transformer.layer.{n}.sa_layer_norm",
            "transformer.layer.{n}.output_layer_norm",
        ),
        query="transformer.layer.{n}.attention.q_lin",
        key="transformer.layer.{n}.attention.k_lin",
        heads=("n_heads",),
        epsilon=(),
    ),
    "opt": Layout(
        "OPT",
        ("opt",),
        positions="embed_positions",
        tokens="embed_tokens",
        first_norm="layers.{n}.self_attn_layer_norm",
        query="layers.{n}.self_attn.q_proj",
        key="layers.{n}.self_attn.k_proj",
        epsilon=(),
        causal=True,
    ),
    "clip": Layout(
        "CLIP's text side",
        ("clip", "clip_text_model"),
        positions="embeddings.position_embedding",
        tokens="embeddings.token_embedding",
        first_norm="encoder.layers.{n}.layer_norm1",
        query="encoder.layers.{n}.self_attn.q_proj",
        key="encoder.layers.{n}.self_attn.k_proj",
        causal=True,
    ),
    "albert": Layout(
        "ALBERT",
        ("albert",),
        **_BERT_TABLES,  # type: ignore[arg-type]
        segments="embeddings.token_type_embeddings",
    ),
}
"""By architecture; of ALBERT the sum alone is known."""


def find_layout(
    parameter: str, names: Collection[str], types: Collection[str], model: str
) -> tuple[Layout, str]:
    """The layout of a model, and what stands before its names in the file.

    Parameters
    ----------
    parameter : str
        Full name of the position table, which tells where the model's names begin.
    names : collection of str
        Every tensor.
    types : collection of str
        What config.json says of its type; none where it says nothing.
    model : str
        Name of the model, for messages.

    Raises
    ------
    ModelError
        The names are those of no known architecture, or there is no token table.
    """
    table = parameter.removesuffix(".weight")
    lacking = ""
    for layout in LAYOUTS.values():
        prefix = table.removesuffix(layout.positions)
        fits = prefix != table and (not prefix or prefix.endswith("."))
        if not fits or not set(types or ("",)) & set(layout.types):
            continue
        missing = [name for name in _needed(layout, prefix) if name not in names]
        if not missing:
            return layout, prefix
        lacking = lacking or missing[0]
    if lacking:
        raise ModelError(
            f"{model} holds a position table but not all of what stands beside it in a model: "
            f"there is no {lacking} in the file. Open the whole model."
        )
    if len(names) == 1:
        raise ModelError(
            f"{model} is a table by itself: its file holds nothing else of a model. "
            f"Open the folder of a whole model, or a demo."
        )
    known = ", ".join(layout.label for layout in LAYOUTS.values())
    kind = f"a model of type {next(iter(types))}" if types else f"a model with {parameter}"
    raise ModelError(
        f"{model}: how {kind} adds up its input is not known here. Known are {known}. Open one of "
        f"these, or a demo."
    )


def _needed(layout: Layout, prefix: str) -> list[str]:
    """The tensors that tell this layout from the others."""
    parts = (layout.tokens, layout.query, layout.sum_norm)
    return [f"{prefix}{part}.weight".replace(BLOCK, "0") for part in parts if part]
