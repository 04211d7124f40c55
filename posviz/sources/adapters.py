"""Adapters (LoRA and the like): the model each belongs to, and what it does to the positions."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from posviz.sources import configs, layouts
from posviz.sources.formats.tensors import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.sources.folders import FileSet, Weights
    from posviz.sources.formats.tensors import Entry

FILES = r"adapter_model\.(?:safetensors|bin)"
"""Pattern for the base names of adapter weights as PEFT writes them."""

_TENSOR = re.compile(r"(?:^|[._])lora(?:_|\.)(?:A|B|down|up|embedding_[AB])(?:[._]|$)")
_OF_A_TABLE = re.compile(r"[./]lora_embedding_[AB](?:[./].*)?$")


def is_adapter(weights: Weights, entries: Sequence[Entry]) -> bool:
    """Whether weights are nothing but an adapter's, by the name of the file or of its tensors."""
    base = posixpath.basename(weights.files[0])
    if re.fullmatch(FILES, base, re.IGNORECASE):
        return True
    return bool(entries) and all(is_part(entry.name) for entry in entries)


def is_part(name: str) -> bool:
    """Whether a tensor is an adapter's, by its name."""
    return "lora" in name and _TENSOR.search(name) is not None


def without_table(files: FileSet, weights: Weights, entries: Sequence[Entry]) -> str:
    """The sentence for an adapter that holds no position table: which model to open instead."""
    only = f"{files.label} holds only an adapter (LoRA or the like)"
    changed = next((name for entry in entries if (name := _table_of(entry.name))), None)
    if changed is not None:
        return (
            f"{only} that adds a product of two small matrices to the position table "
            f"{brief(changed)}. Merge it into {_base(files, weights)} (merge_and_unload in PEFT) "
            f"and open that."
        )
    return f"{only}, which changes no position table. Open {_base(files, weights)} instead."


def with_table(files: FileSet, weights: Weights) -> str:
    """The sentence for an adapter that brings a position table of its own."""
    return (
        f"{files.label} holds an adapter, not a whole model. The table that it brings takes the "
        f"place of that of {_base(files, weights)}."
    )


def _table_of(name: str) -> str | None:
    """The position table that a tensor of an adapter changes, if it does."""
    table = _OF_A_TABLE.sub("", name)
    return table if table != name and layouts.rule(f"{table}.weight") is not None else None


def _base(files: FileSet, weights: Weights) -> str:
    path = posixpath.join(posixpath.dirname(weights.files[0]), "adapter_config.json")
    config, trouble = configs.config_of(files, path) if path in files.names else ({}, ())
    if trouble:
        return "its base model (adapter_config.json, which names it, cannot be read)"
    base = (config or {}).get("base_model_name_or_path")
    if isinstance(base, str) and base:
        return f"the base model {brief(base)}"
    return "its base model"
