"""Dotted tensor names without what training code wraps around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WRAPPERS = re.compile(
    r"^(?:(?:module|model|base_model|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|"
    r"state_dict|model_state_dict|params|0_Transformer|0\.auto_model)[./])+"
)
_LEAF = re.compile(
    r"(?:\.weight|/embeddings:0|/embedding|/vars/0|:0|/\.ATTRIBUTES/VARIABLE_VALUE)$"
)
# PEFT's, around a layer that it trains or adds to.
_WITHIN = re.compile(r"[./](?:modules_to_save[./]\w+|base_layer|original_module)(?=[./])")
_PEFT = ("modules_to_save", "base_layer", "original_module")
_COPY = re.compile(
    r"(?:^|[._/])(?:ema|ema_model|model_ema|state_dict_ema|teacher|target_encoder)[._/]"
)


def label(name: str) -> str:
    """The name for titles and menus: ``module.transformer.wpe.weight`` is ``transformer.wpe``."""
    bare = _WRAPPERS.sub("", unwrapped(name))
    return _LEAF.sub("", bare) or name


def unwrapped(name: str) -> str:
    """The name without what PEFT puts between a layer and its weight."""
    # A substring is looked for a hundred times faster than a pattern.
    return _WITHIN.sub("", name) if any(word in name for word in _PEFT) else name


def is_original(name: str) -> bool:
    """Whether PEFT keeps the tensor as it was before training, beside the one that was trained."""
    return re.search(r"[./]original_module[./]", name) is not None


def is_copy(name: str) -> bool:
    """Whether the tensor belongs to an averaged or teacher copy stored beside the model."""
    return _COPY.search(name) is not None


def is_decoder(name: str) -> bool:
    """Whether the tensor belongs to a decoder that has an encoder beside it."""
    return re.search(r"(?:^|[._/])decoder", name) is not None


def by_number(name: str) -> list[tuple[int, str]]:
    """For sorting: checkpoint-500 comes before checkpoint-1000."""
    return [
        (int(word) if word.isdecimal() and len(word) < 20 else 0, word)
        for word in re.split(r"(\d+)", name)
    ]


def places(names: Sequence[str]) -> dict[str, tuple[int, list[tuple[int, str]]]]:
    """For sorting: names that differ in their numbers only are counted, where the first stood."""
    first: dict[str, int] = {}
    kinds = [re.sub(r"\d+", "0", name) for name in names]
    for place, kind in enumerate(kinds):
        first.setdefault(kind, place)
    return {name: (first[kind], by_number(name)) for name, kind in zip(names, kinds, strict=True)}
