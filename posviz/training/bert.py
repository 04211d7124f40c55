"""A BERT-style transformer: sees both sides, post-layer-norm, three tables added. One file, whole.

References
----------
1. Devlin et al. (2019), arXiv:1810.04805: token + position + segment, masked symbols.
2. Vaswani et al. (2017), arXiv:1706.03762: the post-layer-norm block BERT keeps.
3. google-research/bert, modeling.py: the output network and its tied table.

Shape letters: B sequences, T positions, D = d_model, H heads, V symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import gelu, linear, scaled_dot_product_attention

from posviz.errors import TrainingError
from posviz.training.positions import position_table

FIRST_LOGITS = 0.16  # BERT's own at this width: token scale 0.02 times sqrt(64)
EPSILON = 1e-12  # of every layer norm, as published


@dataclass(frozen=True)
class BERTConfig:
    """Sizes and initial scales; scales are standard deviations of the initial weights."""

    vocabulary_size: int
    n_positions: int = 64
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    table: str = "learned"
    token_scale: float = 0.02
    table_scale: float = 0.02
    weight_scale: float = 0.02


class Attention(nn.Module):
    """Self-attention without a direction: each position mixes in what all positions hold."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.out = nn.Linear(config.d_model, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mixed vectors, (B, T, D) from (B, T, D)."""
        B, T, D = x.shape
        q, k, v = (
            part(x).view(B, T, self.n_heads, D // self.n_heads).transpose(1, 2)  # (B, H, T, D/H)
            for part in (self.query, self.key, self.value)
        )
        mixed = scaled_dot_product_attention(q, k, v)  # (B, H, T, D/H)
        joined: Tensor = self.out(mixed.transpose(1, 2).reshape(B, T, D))
        return joined


class Block(nn.Module):
    """Attention, then a two-layer network; each sum is normalised after (post-layer-norm)."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.norm_1 = nn.LayerNorm(config.d_model, eps=EPSILON)
        self.widen = nn.Linear(config.d_model, 4 * config.d_model)
        self.narrow = nn.Linear(4 * config.d_model, config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next layer's vectors, (B, T, D) from (B, T, D)."""
        x = self.norm_1(x + self.attention(x))
        hidden = gelu(self.widen(x))  # (B, T, 4D)
        normed: Tensor = self.norm_2(x + self.narrow(hidden))
        return normed


class BERT(nn.Module):
    """Predicts the symbols that were replaced by [MASK], from both sides.

    The position table is ``self.positions``; the output reuses the token table.
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary_size, config.d_model)
        self.positions = position_table(
            config.table, config.n_positions, config.d_model, config.table_scale
        )
        self.segments = nn.Embedding(2, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=EPSILON)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.output = nn.Linear(config.d_model, config.d_model)
        self.output_norm = nn.LayerNorm(config.d_model, eps=EPSILON)
        self.output_bias = nn.Parameter(self.tokens.weight.new_zeros(config.vocabulary_size))
        self._initialise()

    def _initialise(self) -> None:
        nn.init.normal_(self.tokens.weight, std=self.config.token_scale)
        nn.init.normal_(self.segments.weight, std=self.config.table_scale)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=self.config.weight_scale)
                nn.init.zeros_(module.bias)
        # The output is (normed vector) · (token row): its spread is gain * token_scale * sqrt(D).
        # A gain that keeps it small starts the loss at ln V for any token scale and width.
        spread = self.config.token_scale * math.sqrt(self.config.d_model)
        nn.init.constant_(self.output_norm.weight, min(1.0, FIRST_LOGITS / spread))

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        """Return logits, (B, T, V) from symbol numbers and segments (0 or 1), both (B, T)."""
        T = tokens.shape[1]
        if self.config.n_positions < T:
            raise TrainingError(
                f"The position table has {self.config.n_positions} rows, and this input needs "
                f"row {T - 1} too. Shorten the input or stretch the table."
            )
        x = self.tokens(tokens) + self.positions.weight[:T] + self.segments(segments)  # (B, T, D)
        x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        x = self.output_norm(gelu(self.output(x)))  # (B, T, D)
        return linear(x, self.tokens.weight, self.output_bias)  # (B, T, V)
