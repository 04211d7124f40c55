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


def _planes(packed: Bytes, bits: int) -> NDArray[np.int16]:
    """Numbers of one or two bits; each 32 bytes hold the first 32 in their lowest bits."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    apart = packed.reshape(len(packed), -1, 1, 32) >> shifts  # (blocks, groups, planes, 32)
    return (apart & ((1 << bits) - 1)).astype(np.int16)


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


def _q2_k(blocks: Bytes) -> Values:
    values = _planes(blocks[:, 16:80], 2).reshape(-1, 16, 16)
    scales, minima = (blocks[:, :16] & 15).astype(np.float32), blocks[:, :16] >> 4
    whole, least = _half(blocks, 80) * scales, _half(blocks, 82) * minima.astype(np.float32)
    return whole[:, :, None] * values - least[:, :, None]


def _q3_k(blocks: Bytes) -> Values:
    third_bits = _planes(blocks[:, :32], 1).reshape(-1, 256)
    values = _planes(blocks[:, 32:96], 2).reshape(-1, 256) - 4 * (1 - third_bits)
    pairs = np.array([0, 2, 4, 6], dtype=np.uint8)[:, None]
    high = ((blocks[:, None, 104:108] >> pairs) & 3).reshape(-1, 16).astype(np.int16)
    scales = (_nibbles(blocks[:, 96:104]) | (high << 4)) - 32
    whole = _half(blocks, 108) * scales.astype(np.float32)  # one scale for every sixteen numbers
    return whole[:, :, None] * values.reshape(-1, 16, 16)


def _q4_k(blocks: Bytes) -> Values:
    scales, minima = _k_scales(blocks[:, 4:16])
    values = _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    whole, least = _half(blocks, 0)[:, :, None], _half(blocks, 2)[:, :, None]
    return whole * scales * values - least * minima


def _q5_k(blocks: Bytes) -> Values:
    scales, minima = _k_scales(blocks[:, 4:16])
    values = _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    values = values | (_planes(blocks[:, 16:48], 1).reshape(-1, 8, 32) << 4)
    whole, least = _half(blocks, 0)[:, :, None], _half(blocks, 2)[:, :, None]
    return whole * scales * values - least * minima


def _q6_k(blocks: Bytes) -> Values:
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    values = (low | (_planes(blocks[:, 128:192], 2) << 4)) - 32
    scales = blocks[:, 192:208].view(np.int8).astype(np.float32)
    whole = _half(blocks, 208) * scales  # one scale for every sixteen numbers
    return whole[:, :, None] * values.reshape(-1, 16, 16)


def _q8_k(blocks: Bytes) -> Values:
    return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].view(np.int8)


_UNEVEN = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], dtype=np.float32
)
"""What four bits stand for in IQ4: levels that lie closer near zero."""


def _iq4_nl(blocks: Bytes) -> Values:
    return _half(blocks, 0) * _UNEVEN[_nibbles(blocks[:, 2:])]


def _iq4_xs(blocks: Bytes) -> Values:
    packed = blocks[:, 4:8, None]  # low halves of the scales, two neighbours a byte
    low = np.concatenate([packed & 15, packed >> 4], axis=2).reshape(-1, 8).astype(np.int16)
    high = (blocks[:, 2:4].copy().view("<u2") >> np.arange(0, 16, 2, dtype=np.uint16)) & 3
    scales = (low | (high.astype(np.int16) << 4)) - 32
    whole = _half(blocks, 0) * scales.astype(np.float32)
    return whole[:, :, None] * _UNEVEN[_nibbles(blocks[:, 8:].reshape(-1, 8, 16))]


_FOUR_BITS = np.outer([1, -1], [0, 1, 2, 3, 4, 6, 8, 12]).astype(np.float32).ravel()
"""Twice what a float of four bits (E2M1) stands for."""


def _mxfp4(blocks: Bytes) -> Values:
    halved = np.ldexp(np.float32(1), blocks[:, :1].astype(np.int32) - 128)  # half of 2 ** (e - 127)
    return halved * _FOUR_BITS[_nibbles(blocks[:, 1:])]


def _ternary(packed: Bytes, count: int) -> NDArray[np.int16]:
    """Numbers -1, 0 and 1, the first ``count`` digits to base three of the fraction byte / 256."""
    shifted = packed[:, None, :] * (3 ** np.arange(count, dtype=np.uint8))[:, None]  # modulo 256
    return ((shifted.astype(np.int16) * 3) >> 8).reshape(len(packed), -1) - 1


def _tq1_0(blocks: Bytes) -> Values:
    spans = ((0, 32, 5), (32, 48, 5), (48, 52, 4))
    values = [_ternary(blocks[:, start:stop], count) for start, stop, count in spans]
    return _half(blocks, 52) * np.concatenate(values, axis=1)


def _tq2_0(blocks: Bytes) -> Values:
    return _half(blocks, 64) * (_planes(blocks[:, :64], 2).reshape(-1, 256) - 1)


BLOCKS: dict[int, Block] = {
    0: Block("F32", 1, 4), 1: Block("F16", 1, 2), 28: Block("F64", 1, 8), 30: Block("BF16", 1, 2),
    24: Block("I8", 1, 1), 25: Block("I16", 1, 2), 26: Block("I32", 1, 4), 27: Block("I64", 1, 8),
    2: Block("Q4_0", 32, 18, _q4_0), 3: Block("Q4_1", 32, 20, _q4_1),
    6: Block("Q5_0", 32, 22, _q5_0), 7: Block("Q5_1", 32, 24, _q5_1),
    8: Block("Q8_0", 32, 34, _q8_0), 9: Block("Q8_1", 32, 36),
    10: Block("Q2_K", 256, 84, _q2_k), 11: Block("Q3_K", 256, 110, _q3_k),
    12: Block("Q4_K", 256, 144, _q4_k), 13: Block("Q5_K", 256, 176, _q5_k),
    14: Block("Q6_K", 256, 210, _q6_k), 15: Block("Q8_K", 256, 292, _q8_k),
    20: Block("IQ4_NL", 32, 18, _iq4_nl), 23: Block("IQ4_XS", 256, 136, _iq4_xs),
    34: Block("TQ1_0", 256, 54, _tq1_0), 35: Block("TQ2_0", 256, 66, _tq2_0),
    39: Block("MXFP4", 32, 17, _mxfp4), 40: Block("NVFP4", 64, 36),
    16: Block("IQ2_XXS", 256, 66), 17: Block("IQ2_XS", 256, 74), 18: Block("IQ3_XXS", 256, 98),
    19: Block("IQ1_S", 256, 50), 21: Block("IQ3_S", 256, 110), 22: Block("IQ2_S", 256, 82),
    29: Block("IQ1_M", 256, 56), 41: Block("Q1_0", 128, 18),
}  # fmt: skip
"""Types by the number that the tensor directory gives."""
