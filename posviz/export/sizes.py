"""config.json: the keys that say how large an image table's input is, and their new values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

from posviz.errors import SourceError
from posviz.export.lengths import FILE, at, path_of, twin
from posviz.export.limits import JSON, Sizes, limits
from posviz.sources import configs, layouts

if TYPE_CHECKING:
    from posviz.export.limits import Limit
    from posviz.sources import Entry
    from posviz.sources.suspects import Suspect

Size = tuple[int, int]
Part = Mapping[str, Any]


@dataclass(frozen=True)
class SizeKey:
    """Where a config says how large a grid's input is.

    Parameters
    ----------
    part : tuple of str
        Path of the part of the config.
    limit : Limit
        The line of limits.tsv.
    step : (int, int)
        Of one patch, in the key's own unit.
    """

    part: tuple[str, ...]
    limit: Limit
    step: Size

    def __str__(self) -> str:
        return ".".join((*self.part, self.limit.key))

    def is_same(self, other: object) -> bool:
        """Whether two tables lie over the same input."""
        return isinstance(other, SizeKey) and str(self) == str(other)


def size_key(
    suspect: Suspect, grid: Size, config: JSON, entries: Iterable[Entry]
) -> SizeKey | None:
    """The key that a grid follows from, or None where config.json has none.

    Parameters
    ----------
    suspect : Suspect
        The table's tensor, examined under this very ``config``.
    grid : (int, int)
        Height and width in patches, as they are now.
    config : dict
    entries : iterable of Entry
        Every tensor; the first layer says how large a patch is where the config does not.
    """
    name = suspect.parts[0].name
    types = configs.types(suspect.chain, name)
    known = (layouts.layout((one,), name) for one in types)  # of the part, and of what it is in
    if any(one is not None and one.length == "fixed" for one in known):
        return None
    turned = grid[::-1] if _is_turned(suspect) else grid
    step = _pair(configs.value(suspect.chain, "patch_stride")) or _pair(
        configs.value(suspect.chain, "patch_size")
    )
    step = step or _patch(entries)
    for part in suspect.chain:
        for limit in limits(FILE):
            rule = _RULES.get(limit.rule)
            if rule is None or (limit.rule == "audio" and not set(types) & set(limit.types)):
                continue
            size = rule.size(part, limit)
            of_key = step or ((1, 1) if rule.in_patches or limit.rule == "audio" else None)
            if size and of_key and rule.patches(size, part, of_key) == turned:
                return SizeKey(path_of(config, part), limit, of_key)
    return None


def set_size(
    config: JSON, key: SizeKey, suspect: Suspect, new: Size, name: str
) -> tuple[list[str], Sizes | None]:
    """Write the size of a grid's new input into a config.

    Parameters
    ----------
    new : (int, int)
        Height and width of the grid, in patches.
    name : str
        Of the model, for messages.

    Returns
    -------
    list of str, Sizes or None
        One line a change; height and width of the input, None where only patches are counted.

    Raises
    ------
    SourceError
        The architecture takes one side for both, and the new grid is no square.
    """
    if _is_turned(suspect):
        new = new[::-1]
    limit, rule = key.limit, _RULES[key.limit.rule]
    types = configs.types(suspect.chain, suspect.parts[0].name)
    takes_both = rule.takes_both or bool(set(types[:1]) & set(limit.types))
    if new[0] != new[1] and not takes_both:
        raise SourceError(
            f"{name}: {types[0] if types else 'this architecture'} takes one {limit.key} for "
            f"height and width, so a grid of {new[0]} × {new[1]} has no place in its "
            f"config.json. Choose a square grid, or save the table alone."
        )
    said = []
    first = at(config, key.part)
    before, values = rule.size(first, limit), rule.write(first, limit, new, key.step)
    for path in (key.part, *twin(config, key.part)):
        for leaf, value in values.items():
            *inner, last = leaf.split(".")
            holder = at(config, path)
            for word in inner:
                holder = holder.setdefault(word, {})
            stood = holder.get(last, "its default")
            said.append(f"{FILE}: {'.'.join((*path, leaf))} from {stood} to {value}")
            holder[last] = value
    after = rule.size(first, limit)
    if rule.in_patches or before is None or after is None:
        return said, None
    return said, Sizes(before, after)


@dataclass(frozen=True)
class _Rule:
    """How one kind of key says a size.

    Parameters
    ----------
    size : function (part of the config, limit)
        What it says now, or None.
    patches : function (size, part, step)
        The grid of patches over that size.
    write : function (part, limit, grid, step)
        The keys and their new values.
    in_patches : bool
        Whether the size is a number of patches already.
    takes_both : bool
        Whether height and width may differ.
    """

    size: Callable[[Part, Limit], Size | None]
    patches: Callable[[Size, Part, Size], Size]
    write: Callable[[Part, Limit, Size, Size], dict[str, Any]]
    in_patches: bool = False
    takes_both: bool = False


def _over(size: Size, _: Part, step: Size) -> Size:
    return size[0] // step[0], size[1] // step[1]


def _as_it_is(size: Size, _part: Part, _step: Size) -> Size:
    return size


def _image_size(part: Part, limit: Limit) -> Size | None:
    return _pair(part.get(limit.key))


def _write_image(part: Part, limit: Limit, grid: Size, step: Size) -> dict[str, Any]:
    size = _times(grid, step)
    one = size[0] == size[1] and type(part.get(limit.key, 0)) is int
    return {limit.key: size[0] if one else list(size)}


def _root(part: Part, limit: Limit) -> Size | None:
    count = part.get(limit.key)
    side = isqrt(count) if type(count) is int and count > 0 else 0
    return (side, side) if side and side * side == count else None


def _write_product(_p: Part, limit: Limit, grid: Size, _s: Size) -> dict[str, Any]:
    return {limit.key: grid[0] * grid[1]}


def _two_keys(part: Part, limit: Limit) -> Size | None:
    return _pair([part.get(key) for key in limit.key.split(",")])


def _write_two(_p: Part, limit: Limit, grid: Size, _s: Size) -> dict[str, Any]:
    return dict(zip(limit.key.split(","), grid, strict=True))


def _bands_and_frames(part: Part, limit: Limit) -> Size | None:
    steps = [part.get(key) for key in ("patch_size", *_STRIDES)]
    return _two_keys(part, limit) if all(type(step) is int for step in steps) else None


def _overlapping(size: Size, part: Part, _: Size) -> Size:
    down, along = (
        (length - part["patch_size"]) // part[stride] + 1
        for length, stride in zip(size, _STRIDES, strict=True)
    )
    return down, along


def _write_audio(part: Part, limit: Limit, grid: Size, _: Size) -> dict[str, Any]:
    lengths = (
        part["patch_size"] + (patches - 1) * part[stride]
        for patches, stride in zip(grid, _STRIDES, strict=True)
    )
    return dict(zip(limit.key.split(","), lengths, strict=True))


def _timm_size(part: Part, limit: Limit) -> Size | None:
    outer, inner = limit.key.split(".")
    held = part.get(outer)
    size = held.get(inner) if isinstance(held, dict) else None
    return _pair(size[1:]) if isinstance(size, list) else None


def _write_timm(part: Part, limit: Limit, grid: Size, step: Size) -> dict[str, Any]:
    outer, inner = limit.key.split(".")
    size = _times(grid, step)
    one = size[0] if size[0] == size[1] else list(size)
    return {limit.key: [part[outer][inner][0], *size], "model_args.img_size": one}


_STRIDES = ("frequency_stride", "time_stride")
_RULES = {
    "image": _Rule(_image_size, _over, _write_image),
    "patches": _Rule(_root, _as_it_is, _write_product, in_patches=True),
    "grid": _Rule(_two_keys, _as_it_is, _write_two, in_patches=True, takes_both=True),
    "audio": _Rule(_bands_and_frames, _overlapping, _write_audio, takes_both=True),
    "timm": _Rule(_timm_size, _over, _write_timm, takes_both=True),
}


def _is_turned(suspect: Suspect) -> bool:
    return suspect.known is not None and suspect.known.grid == "wh"


def _times(grid: Size, step: Size) -> Size:
    return grid[0] * step[0], grid[1] * step[1]


def _pair(value: object) -> Size | None:
    if type(value) is int and value > 0:
        return value, value
    if isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value):
        return (value[0], value[1]) if min(value) > 0 else None
    return None


def _patch(entries: Iterable[Entry]) -> Size | None:
    """The patch of a first layer that is a convolution, as timm names it."""
    for entry in entries:
        shape = entry.shape or ()
        if entry.name.endswith("patch_embed.proj.weight") and len(shape) == 4:
            return shape[2], shape[3]
    return None
