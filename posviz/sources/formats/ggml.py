"""The number types of GGUF: plain ones, and blocks of quantised numbers with their scales.

References
----------
Layouts are those of ggml's ``ggml-common.h`` (MIT licence); each block is read as a table of
bytes, one row a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posviz.errors import SourceError
from posviz.sources.formats import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

Bytes = NDArray[np.uint8]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Block:
    """One type: its name, the numbers and bytes of a block, and how a block is decoded."""

    name: str
    elements: int
    nbytes: int
    decode: Callable[[Bytes], Values] | None = None


def decode(raw: bytes, kind: Block, shape: tuple[int, ...], *, name: str) -> Values:
    """Stored bytes as float32 in the given shape.

    Raises
    ------
    SourceError
        A quantised type that is not read.
    """
    if kind.elements == 1:
        return dtypes.decode(raw, kind.name, shape, name=name)
    if kind.decode is None:
        raise SourceError(
            f"{name} is quantised as {kind.name}, which is not read. Open a file of this model "
            f"in F16, BF16, F32, Q8_0 or another common type."
        )
    blocks = np.frombuffer(raw, dtype=np.uint8).reshape(-1, kind.nbytes)
    with np.errstate(over="ignore", invalid="ignore"):  # a broken scale shows up in the table
        return kind.decode(blocks).astype(np.float32).reshape(shape)


def _half(blocks: Bytes, start: int) -> Values:
    """The float16 at a byte of each block, as a column."""
    return blocks[:, start : start + 2].copy().view("<f2").astype(np.float32)


def _nibbles(packed: Bytes) -> NDArray[np.int16]:
    """Low halves of the bytes, then high halves."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.int16)


def _fifth_bits(blocks: Bytes, start: int) -> NDArray[np.int16]:
    """The fifth bit of each of 32 numbers, from four bytes."""
    return np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little").astype(np.int16)


def _q4_0(blocks: Bytes) -> Values:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]) - 8)


def _q4_1(blocks: Bytes) -> Values:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _q5_0(blocks: Bytes) -> Values:
    return _half(blocks, 0) * ((_nibbles(blocks[:, 6:]) | (_fifth_bits(blocks, 2) << 4)) - 16)


def _q5_1(blocks: Bytes) -> Values:
    values = _nibbles(blocks[:, 8:]) | (_fifth_bits(blocks, 4) << 4)
    return _half(blocks, 0) * values + _half(blocks, 2)


def _q8_0(blocks: Bytes) -> Values:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _k_scales(packed: Bytes) -> tuple[Values, Values]:
    """Eight six-bit scales and minima of a K block, from twelve bytes."""
    low, middle, high = (packed[:, start : start + 4] for start in (0, 4, 8))
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=1)
    minima = np.concatenate([middle & 63, (high >> 4) | ((middle >> 6) << 4)], axis=1)
    return scales.astype(np.float32)[:, :, None], minima.astype(np.float32)[:, :, None]


def _q4_k(blocks: Bytes) -> Values:
    scales, minima = _k_scales(blocks[:, 4:16])
    values = _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    whole, least = _half(blocks, 0)[:, :, None], _half(blocks, 2)[:, :, None]
    return whole * scales * values - least * minima


def _q5_k(blocks: Bytes) -> Values:
    scales, minima = _k_scales(blocks[:, 4:16])
    values = _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    bits = (blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[None, :, None]) & 1
    values = values | (bits.astype(np.int16) << 4)
    whole, least = _half(blocks, 0)[:, :, None], _half(blocks, 2)[:, :, None]
    return whole * scales * values - least * minima


def _q6_k(blocks: Bytes) -> Values:
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)[None, None, :, None]
    high = (blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts) & 3
    values = (low | (high.astype(np.int16) << 4)) - 32
    scales = blocks[:, 192:208].view(np.int8).astype(np.float32)
    whole = _half(blocks, 208) * scales  # one scale for every sixteen numbers
    return whole[:, :, None] * values.reshape(-1, 16, 16)


BLOCKS: dict[int, Block] = {
    0: Block("F32", 1, 4), 1: Block("F16", 1, 2), 28: Block("F64", 1, 8), 30: Block("BF16", 1, 2),
    24: Block("I8", 1, 1), 25: Block("I16", 1, 2), 26: Block("I32", 1, 4), 27: Block("I64", 1, 8),
    2: Block("Q4_0", 32, 18, _q4_0), 3: Block("Q4_1", 32, 20, _q4_1),
    6: Block("Q5_0", 32, 22, _q5_0), 7: Block("Q5_1", 32, 24, _q5_1),
    8: Block("Q8_0", 32, 34, _q8_0), 9: Block("Q8_1", 32, 36),
    10: Block("Q2_K", 256, 84), 11: Block("Q3_K", 256, 110),
    12: Block("Q4_K", 256, 144, _q4_k), 13: Block("Q5_K", 256, 176, _q5_k),
    14: Block("Q6_K", 256, 210, _q6_k), 15: Block("Q8_K", 256, 292),
    16: Block("IQ2_XXS", 256, 66), 17: Block("IQ2_XS", 256, 74), 18: Block("IQ3_XXS", 256, 98),
    19: Block("IQ1_S", 256, 50), 20: Block("IQ4_NL", 32, 18), 21: Block("IQ3_S", 256, 110),
    22: Block("IQ2_S", 256, 82), 23: Block("IQ4_XS", 256, 136), 29: Block("IQ1_M", 256, 56),
    34: Block("TQ1_0", 256, 54), 35: Block("TQ2_0", 256, 66), 39: Block("MXFP4", 32, 17),
}  # fmt: skip
"""Types by the number that the tensor directory gives."""
