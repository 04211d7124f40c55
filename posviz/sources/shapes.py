"""From stored axes to rows: which axis counts positions, and which patches form a grid."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from posviz.sources import configs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from posviz.sources.configs import Config
    from posviz.sources.layouts import Layout

_MOST_PIXELS = 1 << 20
_MOST_PREFIX_ROWS = 8  # class, distillation and register rows that a square may leave over


@dataclass(frozen=True)
class Axes:
    """How a stored array is read as rows.

    Parameters
    ----------
    order : str
        ``rows`` positions first; ``channels`` dimensions first, as (d, H, W) or (d, L);
        ``first`` a stack of tables of which part 0 is read; ``pair`` the same along axis 1.
    n_rows, d_model : int
    grid : (int, int) or None
        Where the stored axes themselves are height and width.
    parts : int
        Tables in the stack, 1 if it is none.
    """

    order: str
    n_rows: int
    d_model: int
    grid: tuple[int, int] | None = None
    parts: int = 1


def axes(shape: tuple[int, ...], name: str, known: Layout | None = None) -> Axes | None:
    """How to read a stored shape as a position table, or None if it cannot be one."""
    core = tuple(length for length in shape if length != 1)
    stored = known.axes.replace(" ", "") if known else ""
    if len(core) == 2:
        if stored.startswith("(d,L)"):
            return Axes("channels", core[1], core[0])
        return Axes("rows", core[0], core[1])
    if len(core) < 2 and len(shape) == 2:  # one position, or one dimension: small, but a table
        return Axes("rows", shape[0], shape[1])
    if len(core) != 3:
        return None
    a, b, c = core
    if stored.startswith(("(layers", "(2,L,d)")):
        return Axes("first", b, c, parts=a)
    if stored.startswith("(L,2,d)") or (b == 2 and name.endswith("pos_embedding")):
        return Axes("pair", a, c, parts=b)
    if a == 2 and re.search(r"position_embd|position_embedding_table", name):
        return Axes("first", b, c, parts=a)
    if _channels_first(core, stored):
        return Axes("channels", b * c, a, grid=(b, c))
    blocks = a != b and isqrt(a) ** 2 == a and isqrt(b) ** 2 == b  # NesT: windows of patches
    return Axes("rows", a * b, c, grid=None if blocks else (a, b))


def as_rows(
    values: NDArray[np.float32], how: Axes, part: int = 0
) -> NDArray[np.float32]:  # (n_rows, d_model)
    """A stored array as rows of positions."""
    core = values.reshape([length for length in values.shape if length != 1])
    if how.order == "channels":
        return np.ascontiguousarray(core.reshape(how.d_model, how.n_rows).T)
    if how.order == "first":
        return np.ascontiguousarray(core[part])
    if how.order == "pair":
        return np.ascontiguousarray(core[:, part])
    return core.reshape(how.n_rows, how.d_model)


def as_stored(
    tables: Sequence[NDArray[np.float32]],
    shape: tuple[int, ...],
    how: Axes,
    grid: tuple[int, int] | None,
) -> NDArray[np.float32] | None:
    """Rows of positions in the axes of a stored array, the inverse of :func:`as_rows`.

    Parameters
    ----------
    tables : sequence of arrays of shape (n_rows, d_model)
        One, or every table of a stack; as many rows as there are to be, not as there were.
    shape : tuple of int
        As the array was stored; axes of length one are kept.
    how : Axes
    grid : (int, int) or None
        Height and width of the new rows, where they have any.

    Returns
    -------
    array or None
        None for patches stored window by window.
    """
    rows = tables[0]
    core: tuple[int, ...] = rows.shape
    if how.grid is not None:
        core = (*(grid or how.grid), rows.shape[1])
    values = rows.reshape(core)
    if how.order == "channels":
        values = np.moveaxis(values, -1, 0)
    elif how.parts > 1:
        values = np.stack(tables, axis=1 if how.order == "pair" else 0)
    if len(values.shape) != len(shape):
        if len(values.shape) != sum(length != 1 for length in shape):
            return None  # windows of patches, whose axes say nothing of a new length
        lengths = iter(values.shape)
        values = values.reshape([1 if length == 1 else next(lengths) for length in shape])
    return np.ascontiguousarray(values)


def _channels_first(core: tuple[int, int, int], stored: str) -> bool:
    a, b, c = core
    if stored.lower().startswith("(1,d,h,w)"):
        return True
    if stored.endswith("H,W,d)"):
        return False
    if (a == b) != (b == c):  # the two equal axes are height and width
        return b == c
    return a > b and a > c


def grid(
    n_rows: int, known: Layout | None, chain: tuple[Config, ...], *, image: bool
) -> tuple[tuple[int, int] | None, int, int]:
    """Height and width of the patches, and the rows before and after them.

    Parameters
    ----------
    n_rows : int
        Rows in use, offset rows left out.
    known : Layout or None
        What the catalogue says.
    chain : tuple of mapping
        The configs that govern the tensor, closest first.
    image : bool
        Whether the rows are taken for image patches at all.

    Returns
    -------
    (height, width) or None, prefix rows, suffix rows
    """
    prefix = _number(known.prefix, chain) if known else None
    suffix = (_number(known.suffix, chain) if known else 0) or 0
    if (prefix or 0) + suffix > n_rows:  # a config of another model
        prefix, suffix = None, 0
    if not image:
        return None, prefix or 0, suffix
    for height, width in _patches(chain, known):
        left = n_rows - height * width - suffix
        if left == prefix or (prefix is None and 0 <= left <= _MOST_PREFIX_ROWS):
            return _turned((height, width), known), left, suffix
    if known and known.grid == "thw":
        return None, prefix or 0, suffix
    inside = n_rows - suffix - (prefix or 0)
    side = isqrt(max(inside, 0))
    left = inside - side * side
    if side < 2 or left > (_MOST_PREFIX_ROWS if prefix is None else 0):
        return None, prefix or 0, suffix
    return (side, side), (prefix or 0) + left, suffix


def _turned(size: tuple[int, int], known: Layout | None) -> tuple[int, int]:
    return (size[1], size[0]) if known and known.grid == "wh" else size


def _number(text: str, chain: tuple[Config, ...]) -> int | None:
    if text.isdigit():
        return int(text)
    return None if text == "?" else configs.count(chain, text)


def _patches(chain: tuple[Config, ...], known: Layout | None) -> list[tuple[int, int]]:
    """Grids that the config allows, likeliest first."""
    if known and known.grid == "ft":  # audio spectrogram transformer: overlapping patches
        keys = ("num_mel_bins", "max_length", "patch_size", "frequency_stride", "time_stride")
        bins, frames, patch, down, along = (configs.count(chain, key) for key in keys)
        if bins and frames and patch and down and along:
            return [((bins - patch) // down + 1, (frames - patch) // along + 1)]
        return []
    sizes = [_pair(configs.value(chain, key)) for key in ("image_size", "img_size", "max_img_size")]
    patch_size = _pair(configs.value(chain, "patch_size"))
    if patch_size is None:
        return []
    return [
        (size[0] // patch_size[0], size[1] // patch_size[1])
        for size in sizes
        if size is not None and size[0] >= patch_size[0] and size[1] >= patch_size[1]
    ]


def _pair(value: object) -> tuple[int, int] | None:
    if type(value) is int and 0 < value < _MOST_PIXELS:
        return value, value
    if isinstance(value, list) and len(value) == 2:
        height, width = value
        sizes = {type(height), type(width)} == {int}
        if sizes and 0 < height < _MOST_PIXELS and 0 < width < _MOST_PIXELS:
            return height, width
    return None
