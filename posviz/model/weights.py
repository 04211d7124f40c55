"""The weights in front of and inside attention, read from the file when asked for.

Nothing is loaded as a whole: of the token table the rows of the tokens that were typed, of
attention the layer or the head that is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.errors import ModelError
from posviz.model.layouts import BLOCK, Layout
from posviz.sources import configs
from posviz.sources.parts import gather

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from posviz.sources import Checkpoint
    from posviz.table import PositionTable

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

STRIP = 4096  # rows of the token table read at a time


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer norm: every row less its mean, over its standard deviation, times gain, plus bias.

    Parameters
    ----------
    gain, bias : arrays of shape (d_model,)
    epsilon : float
        Added to the variance.
    """

    gain: Float64
    bias: Float64
    epsilon: float

    def __call__(self, rows: ArrayLike) -> Float64:
        """Rows of shape (n, d_model), normalised; in float64."""
        return self.linear(rows, self.scale(rows)) + self.bias

    def scale(self, rows: ArrayLike) -> Float64:
        """What each row is divided by, shape (n, 1)."""
        variance: Float64 = np.var(np.asarray(rows, np.float64), axis=1, keepdims=True)
        return np.sqrt(variance + self.epsilon)

    def linear(self, rows: ArrayLike, scale: Float64) -> Float64:
        """The rows' part in a sum that is normalised by ``scale``; parts add up, less the bias."""
        given = np.asarray(rows, np.float64)
        centred: Float64 = (given - given.mean(axis=1, keepdims=True)) / scale * self.gain
        return centred


@dataclass(frozen=True, eq=False)
class Head:
    """What one attention head asks with and answers with.

    A row x asks ``x @ query + query_bias`` and answers ``x @ key + key_bias``; the score is
    their dot product times ``scale``.

    Parameters
    ----------
    layer, number : int
        From 0.
    query, key : arrays of shape (d_model, d_head)
    query_bias, key_bias : arrays of shape (d_head,)
    scale : float
    """

    layer: int
    number: int
    query: Float64
    key: Float64
    query_bias: Float64
    key_bias: Float64
    scale: float


@dataclass(frozen=True, eq=False)
class Weights:
    """A model whose weights stay in their file.

    Parameters
    ----------
    checkpoint : Checkpoint
    table : PositionTable
        Its positions.
    layout : Layout
    prefix : str
        What stands before the layout's names.
    n_heads, n_layers : int
        0 where attention is not read.
    no_attention : str
        Why it is not, as a sentence; empty where it is.
    """

    checkpoint: Checkpoint
    table: PositionTable
    layout: Layout
    prefix: str
    n_heads: int = 0
    n_layers: int = 0
    no_attention: str = ""

    @property
    def d_model(self) -> int:
        """How many numbers a row has."""
        return self.table.d_model

    @property
    def is_causal(self) -> bool:
        """Whether a position sees only itself and earlier ones."""
        return self.layout.causal or self.setting("is_decoder") is True

    @property
    def n_tokens(self) -> int:
        """How many rows the token table has."""
        return int((self.shape_of(self.layout.tokens) or (0,))[0])

    @property
    def token_bytes(self) -> int:
        """What reading the whole token table costs."""
        return self.checkpoint.entry(self._name(self.layout.tokens)).nbytes or 0

    @property
    def n_segments(self) -> int:
        """How many segments the model tells apart; 0 where it adds none."""
        shape = self.shape_of(self.layout.segments) if self.layout.segments else None
        return shape[0] if shape else 0

    def token_rows(self, tokens: ArrayLike) -> Float32:
        """Rows of the token table, shape (n, d_model), in the order of ``tokens``.

        Raises
        ------
        ModelError
            A number is not in the vocabulary.
        """
        wanted = np.asarray(tokens, dtype=np.int64)
        outside = wanted[(wanted < 0) | (wanted >= self.n_tokens)]
        if outside.size:
            raise ModelError(
                f"{self.checkpoint.name} has {self.n_tokens:,} tokens, numbered from 0; "
                f"{outside[0]} is none of them. Type other text, or smaller numbers."
            )
        name = self._name(self.layout.tokens)
        return gather(lambda span: self.checkpoint.read_part(name, span), wanted)

    def token_strips(self) -> Iterator[Float32]:
        """The whole token table, STRIP rows at a time."""
        name, last = self._name(self.layout.tokens), self.n_tokens
        for start in range(0, last, STRIP):
            yield self.checkpoint.read_part(name, (start, min(start + STRIP, last)))

    def segment_rows(self, segments: ArrayLike) -> Float32 | None:
        """Rows of the segment table, shape (n, d_model); None where the model adds none."""
        if not self.n_segments or self.layout.segments is None:
            return None
        name = self._name(self.layout.segments)
        wanted = np.minimum(np.asarray(segments, dtype=np.int64), self.n_segments - 1)
        return gather(lambda span: self.checkpoint.read_part(name, span), wanted)

    def sum_norm(self) -> Norm | None:
        """The norm that the sum of the rows passes on its way to the first attention."""
        name = self.layout.sum_norm or self.layout.first_norm
        return self._norm(name.replace(BLOCK, "0")) if name else None

    def norms_before(self, layer: int) -> list[Norm]:
        """The norms a row passes before the attention of a layer, were all blocks to add nothing.

        In a model that normalises first that is one norm, else two more for every block.
        """
        names = [self.layout.sum_norm]
        for block in range(layer):
            names += [name.replace(BLOCK, str(block)) for name in self.layout.block_norms]
        if self.layout.first_norm:
            names.append(self.layout.first_norm.replace(BLOCK, str(layer)))
        return [self._norm(name) for name in names if name]

    def head(self, layer: int, number: int) -> Head:
        """One head; only its own weights are read.

        Raises
        ------
        ModelError
            There is no such head.
        """
        self._check(layer, number)
        width = self.d_model // self.n_heads
        query, query_bias = self._projection("query", layer, number * width, width)
        key, key_bias = self._projection("key", layer, number * width, width)
        return Head(layer, number, query, key, query_bias, key_bias, self._scale(layer))

    def heads(self, layer: int) -> list[Head]:
        """Every head of a layer, in the order of the model; queries and keys are read once.

        Raises
        ------
        ModelError
            There is no such layer.
        """
        self._check(layer, 0)
        width = self.d_model // self.n_heads
        if self.layout.is_fused:  # side by side: one read brings both
            both, bias = self._projection("query", layer, 0, 2 * self.d_model)
            query, key = np.split(both, 2, axis=1)
            query_bias, key_bias = np.split(bias, 2)
        else:
            query, query_bias = self._projection("query", layer, 0, self.d_model)
            key, key_bias = self._projection("key", layer, 0, self.d_model)
        parts = [slice(h * width, (h + 1) * width) for h in range(self.n_heads)]
        scale = self._scale(layer)
        return [
            Head(layer, h, query[:, at], key[:, at], query_bias[at], key_bias[at], scale)
            for h, at in enumerate(parts)
        ]

    def _scale(self, layer: int) -> float:
        scale = 1 / sqrt(self.d_model // self.n_heads)
        if not self.layout.scaled or self.setting("scale_attn_weights") is False:
            scale = 1.0
        by_layer = self.setting("scale_attn_by_inverse_layer_idx") is True
        return scale / (layer + 1) if by_layer else scale

    def _projection(
        self, which: str, layer: int, start: int, width: int
    ) -> tuple[Float64, Float64]:
        """A part of the outputs of a projection: (d_model, width) and its bias, (width,)."""
        name = self._name(getattr(self.layout, which).replace(BLOCK, str(layer)))
        d_model, fused = self.d_model, self.layout.is_fused
        outputs = 3 * d_model if fused else d_model
        shape = self.checkpoint.entry(name).shape
        if shape not in ((outputs, d_model), (d_model, outputs)):
            raise ModelError(
                f"{self.checkpoint.name}: {name} should have {d_model:,} inputs and {outputs:,} "
                f"outputs and has the shape {shape}. Choose another layer."
            )
        start += d_model if fused and which == "key" else 0
        span = (start, start + width)
        # GPT-2's weights are stored (inputs, outputs), all others (outputs, inputs).
        if fused and shape == (d_model, outputs):
            weight = self.checkpoint.read_part(name, (0, d_model), span)
        else:
            weight = self.checkpoint.read_part(name, span).T
        bias = f"{name.removesuffix('.weight')}.bias"
        read = (
            self.checkpoint.read_part(bias, span)
            if self._has(bias)
            else np.zeros(width, np.float32)
        )
        return weight.astype(np.float64), read.astype(np.float64)

    def _check(self, layer: int, number: int) -> None:
        if self.no_attention:
            raise ModelError(self.no_attention)
        if not (0 <= layer < self.n_layers and 0 <= number < self.n_heads):
            raise ModelError(
                f"{self.checkpoint.name} has layers 0 to {self.n_layers - 1} with heads 0 to "
                f"{self.n_heads - 1}; layer {layer}, head {number} is none of them."
            )

    def _norm(self, name: str) -> Norm:
        gain = self.checkpoint.read(self._name(name)).astype(np.float64)
        bias = f"{self.prefix}{name}.bias"
        found = self.checkpoint.read(bias) if self._has(bias) else np.zeros(len(gain))
        epsilon = next(
            (
                float(value)
                for key in self.layout.epsilon
                if isinstance(value := self.setting(key), int | float)
            ),
            self.layout.usual_epsilon,
        )
        return Norm(gain, found.astype(np.float64), epsilon)

    def _name(self, name: str) -> str:
        return f"{self.prefix}{name}.weight"

    def _has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.checkpoint.entries)

    def shape_of(self, name: str) -> tuple[int, ...] | None:
        """Stored shape of one of the layout's weights; None where the file lacks it."""
        full = self._name(name)
        return self.checkpoint.entry(full).shape if self._has(full) else None

    def setting(self, key: str) -> object:
        """A value of the config that governs these weights; None without."""
        chain = configs.chain(self.checkpoint.config, self._name(self.layout.positions))
        return configs.value(chain, key)
