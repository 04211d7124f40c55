"""Stored number types, and how their bytes become float32.

Names are those of safetensors (``F32``, ``BF16``, ``F8_E4M3``); every format maps its own
spelling to them, so that a person reads one spelling everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from posviz.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F8_E8M0": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
    "I64": 64, "I32": 32, "I16": 16, "I8": 8,
    "U64": 64, "U32": 32, "U16": 16, "U8": 8,
    "BOOL": 8, "C64": 64, "C128": 128,
}  # fmt: skip
"""Bits an element of each stored type takes."""

_NUMPY = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "<u1",
}  # fmt: skip

FLOAT8 = {  # exponent bits, mantissa bits, bias, what the largest exponents mean
    "F8_E4M3": (4, 3, 7, "nan at all ones"),
    "F8_E5M2": (5, 2, 15, "ieee"),
    "F8_E4M3FNUZ": (4, 3, 8, "nan at minus zero"),
    "F8_E5M2FNUZ": (5, 2, 16, "nan at minus zero"),
}

_REAL = frozenset({"F64", "F32", "F16", "BF16", *FLOAT8})


def is_real(dtype: str) -> bool:
    """Whether a stored type holds real numbers that a position table may consist of.

    ``Q8_0``, ``IQ2_XS`` and the like are GGUF's blocks of quantised numbers.
    """
    return dtype in _REAL or dtype.startswith(("Q", "IQ", "TQ", "MXFP"))


def decode(raw: bytes, dtype: str, shape: tuple[int, ...], *, name: str) -> NDArray[np.float32]:
    """The stored bytes as float32, in the stored shape.

    Values beyond float32 become infinite; the table's own gate names their rows.

    Raises
    ------
    SourceError
        The stored type has no meaning as real numbers (complex, four or six bits wide).
    """
    if dtype in _NUMPY:
        stored = np.frombuffer(raw, dtype=_NUMPY[dtype])
        with np.errstate(over="ignore", invalid="ignore"):
            values = stored.astype(np.float32, copy=False)
    elif dtype == "BF16":  # the upper half of a float32
        values = (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype in FLOAT8:
        values = _float8(dtype)[np.frombuffer(raw, dtype=np.uint8)]
    else:
        raise SourceError(
            f"{name} is stored as {dtype}, which is not read. Save the tensor as float32."
        )
    return values.reshape(shape)


def decode_span(
    read_at: Callable[[int, int], bytes], dtype: str, span: tuple[int, int], *, name: str
) -> NDArray[np.float32]:
    """Elements of a tensor that lies in one piece, from the first to before the last of ``span``.

    Parameters
    ----------
    read_at : function
        From a place in the tensor and a length, both in bytes, to those bytes.

    Raises
    ------
    SourceError
        As :func:`decode`.
    """
    start, stop = span
    size = BITS[dtype] // 8
    return decode(read_at(start * size, (stop - start) * size), dtype, (stop - start,), name=name)


@cache
def _float8(dtype: str) -> NDArray[np.float32]:
    """The value of each of the 256 bytes.

    References
    ----------
    Micikevicius et al. (2022), arXiv:2209.05433 (E4M3, E5M2); the FNUZ variants shift the
    bias by one and keep minus zero for NaN.
    """
    exponent_bits, mantissa_bits, bias, special = FLOAT8[dtype]
    code = np.arange(256)
    sign = np.where(code & 0x80, -1.0, 1.0)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = (1 + mantissa) * 2.0 ** (exponent - bias)
    value = sign * np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), normal)
    if special == "nan at all ones":
        value[(code & 0x7F) == 0x7F] = np.nan
    elif special == "nan at minus zero":
        value[code == 0x80] = np.nan
    else:
        top = exponent == (1 << exponent_bits) - 1
        value[top] = np.where(mantissa[top] == 0, sign[top] * np.inf, np.nan)
    return value.astype(np.float32)


def encode_float8(values: NDArray[np.float32], dtype: str, *, name: str) -> NDArray[np.uint8]:
    """Float32 values as the nearest of the 256 bytes, ties to the even one.

    Raises
    ------
    SourceError
        Values beyond the largest that the type holds.
    """
    table = _float8(dtype)
    codes = np.flatnonzero(np.isfinite(table[:128])).astype(np.uint8)  # rising from 0
    sizes, wanted = table[codes].astype(np.float64), np.abs(values.astype(np.float64))
    if wanted.max(initial=0.0) > sizes[-1]:
        raise SourceError(
            f"{name} is stored as {dtype}, and some of its new values are beyond {sizes[-1]:,.0f}. "
            f"Choose another method, or save the table alone."
        )
    above = np.searchsorted(sizes, wanted).clip(1, len(sizes) - 1)
    middle = (sizes[above - 1] + sizes[above]) / 2
    up = (wanted > middle) | ((wanted == middle) & (above % 2 == 0))
    code = codes[np.where(up, above, above - 1)]
    negative = np.signbit(values) & (code > 0 if "FNUZ" in dtype else True)
    return np.where(negative, code | 0x80, code).astype(np.uint8)


def from_numpy(dtype: np.dtype[np.generic]) -> str:
    """The name of a NumPy type in safetensors spelling, such as ``F32``; its own if it has none."""
    letters = {"f": "F", "i": "I", "u": "U", "c": "C"}
    if dtype.kind == "b":
        return "BOOL"
    if dtype.kind not in letters:
        return dtype.str
    return f"{letters[dtype.kind]}{dtype.itemsize * 8}"
