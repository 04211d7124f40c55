"""Dotted tensor names without what training code wraps around them."""

from __future__ import annotations

import re

_WRAPPERS = re.compile(
    r"^(?:(?:module|model|_orig_mod|_fsdp_wrapped_module|state_dict|model_state_dict|params|"
    r"0_Transformer|0\.auto_model)[./])+"
)
_LEAF = re.compile(
    r"(?:\.weight|/embeddings:0|/embedding|/vars/0|:0|/\.ATTRIBUTES/VARIABLE_VALUE)$"
)
_COPY = re.compile(
    r"(?:^|[._/])(?:ema|ema_model|model_ema|state_dict_ema|teacher|target_encoder)[._/]"
)


def label(name: str) -> str:
    """The name for titles and menus: ``module.transformer.wpe.weight`` is ``transformer.wpe``."""
    bare = _WRAPPERS.sub("", name)
    return _LEAF.sub("", bare) or name


def is_copy(name: str) -> bool:
    """Whether the tensor belongs to an averaged or teacher copy stored beside the model."""
    return _COPY.search(name) is not None


def is_decoder(name: str) -> bool:
    """Whether the tensor belongs to a decoder that has an encoder beside it."""
    return re.search(r"(?:^|[._/])decoder", name) is not None
