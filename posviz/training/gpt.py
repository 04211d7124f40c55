"""A GPT-2-style transformer: causal, pre-layer-norm, learned positions. One file, whole.

References
----------
1. Radford et al. (2019), "Language Models are Unsupervised Multitask Learners": the layout,
   and the initial scales of openai/gpt-2, src/model.py.
2. Vaswani et al. (2017), arXiv:1706.03762: attention, the sinusoidal table.
3. Karpathy, nanoGPT, model.py: the way this file is written.

Shape letters: B sequences, T positions, D = d_model, H heads, V symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import gelu, linear, scaled_dot_product_attention

from posviz.errors import TrainingError
from posviz.training.positions import position_table

# Spread of the logits before training. Smaller than GPT-2's own 0.16 at this width, since the sum
# hands each token's own row to the output, which favours repeating the symbol just read.
FIRST_LOGITS = 0.05


@dataclass(frozen=True)
class GPTConfig:
    """Sizes and initial scales; scales are standard deviations of the initial weights."""

    vocabulary_size: int
    n_positions: int = 128
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    table: str = "learned"
    token_scale: float = 0.02
    table_scale: float = 0.02
    weight_scale: float = 0.02


class Attention(nn.Module):
    """Causal self-attention: each position mixes in what it and earlier positions hold."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model)
        self.out = nn.Linear(config.d_model, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mixed vectors, (B, T, D) from (B, T, D)."""
        B, T, D = x.shape
        q, k, v = (
            part.view(B, T, self.n_heads, D // self.n_heads).transpose(1, 2)  # (B, H, T, D/H)
            for part in self.qkv(x).split(D, dim=2)
        )
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, D/H)
        joined: Tensor = self.out(mixed.transpose(1, 2).reshape(B, T, D))
        return joined


class Block(nn.Module):
    """Attention, then a two-layer network, each added to its own input (pre-layer-norm)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.attention = Attention(config)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.widen = nn.Linear(config.d_model, 4 * config.d_model)
        self.narrow = nn.Linear(4 * config.d_model, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next layer's vectors, (B, T, D) from (B, T, D)."""
        x = x + self.attention(self.norm_1(x))
        # The tanh form of GELU is the one GPT-2 was trained with.
        hidden = gelu(self.widen(self.norm_2(x)), approximate="tanh")  # (B, T, 4D)
        added: Tensor = self.narrow(hidden)
        return x + added


class GPT(nn.Module):
    """Predicts each next symbol from the ones before it.

    The position table is ``self.positions``; the output reuses the token table.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary_size, config.d_model)
        self.positions = position_table(
            config.table, config.n_positions, config.d_model, config.table_scale
        )
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(config.d_model)
        self._initialise()

    def _initialise(self) -> None:
        nn.init.normal_(self.tokens.weight, std=self.config.token_scale)
        # Two additions a block grow the sum; GPT-2 shrinks what is added by 1/sqrt(2 n_layers).
        added = self.config.weight_scale / math.sqrt(2 * self.config.n_layers)
        for name, module in self.blocks.named_modules():
            if isinstance(module, nn.Linear):
                last = name.endswith(("out", "narrow"))
                nn.init.normal_(module.weight, std=added if last else self.config.weight_scale)
                nn.init.zeros_(module.bias)
        # The output is (normed vector) · (token row): its spread is gain * token_scale * sqrt(D).
        # A gain that keeps it small starts the loss at ln V for any token scale and width.
        spread = self.config.token_scale * math.sqrt(self.config.d_model)
        nn.init.constant_(self.norm.weight, min(1.0, FIRST_LOGITS / spread))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits, (B, T, V) from symbol numbers (B, T); entry t predicts symbol t + 1."""
        T = tokens.shape[1]
        if self.config.n_positions < T:
            raise TrainingError(
                f"The position table has {self.config.n_positions} rows, and this input needs "
                f"row {T - 1} too. Shorten the input or stretch the table."
            )
        x = self.tokens(tokens) + self.positions.weight[:T]  # (B, T, D): the sum of the chapter
        for block in self.blocks:
            x = block(x)
        return linear(self.norm(x), self.tokens.weight)  # (B, T, V)
