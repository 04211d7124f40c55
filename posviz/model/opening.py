"""From a reference to the weights of its model, its architecture recognised, nothing read yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from posviz import sources
from posviz.errors import ModelError
from posviz.model.layouts import BLOCK, find_layout
from posviz.model.places import folder_of
from posviz.model.weights import Weights
from posviz.sources import configs
from posviz.sources.local import open_folder
from posviz.sources.opening import Origin
from posviz.sources.runs import in_the_layout_of, lender_of

if TYPE_CHECKING:
    from posviz.sources import Access, Checkpoint


def open_weights(
    ref: str, *, parameter: str | None = None, access: Access | None = None
) -> Weights:
    """The weights of the model that a reference names, none of them read yet but its table.

    Parameters
    ----------
    ref, parameter, access
        As of :func:`posviz.load`; ``run:NAME`` opens the model of a run as it is at its end.

    Raises
    ------
    ModelError
        The reference is a table without a model, or its architecture is not known here.
    SourceError
        It cannot be opened.
    """
    checkpoint = _checkpoint(ref, access)
    table = checkpoint.table(parameter)
    if lender_of(ref):  # the run's rows, in the model that they were made for
        table = in_the_layout_of(table, sources.load(ref, access=access))
    named = table.provenance.parameter or ""
    chain = configs.chain(checkpoint.config, named)
    names = {entry.name for entry in checkpoint.entries}
    types = [found for config in chain if (found := configs.model_type(config))]
    layout, prefix = find_layout(named, names, types, checkpoint.name)
    weights = Weights(checkpoint, table, layout, prefix)
    tokens = weights.shape_of(layout.tokens)
    if tokens is None or len(tokens) != 2 or tokens[1] != table.d_model:
        wide = "another width" if tokens is None else f"rows of {tokens[-1]:,} numbers"
        raise ModelError(
            f"{checkpoint.name}: its token table has {wide} and its position table rows of "
            f"{table.d_model:,}; the model changes one of them before it adds them, which is not "
            f"followed here. Open a model whose tables have one width."
        )
    n_heads = configs.count(chain, *layout.heads)
    refusal = _no_attention(weights, n_heads)
    if refusal or n_heads is None:
        return replace(weights, no_attention=refusal)
    return replace(weights, n_heads=n_heads, n_layers=_count_layers(weights))


def _count_layers(weights: Weights) -> int:
    """Layers whose attention sees all that comes before; GPT-Neo's second sees a window only."""
    query, count = weights.layout.query, 0
    kinds = weights.setting("attention_layers")
    local = kinds.index("local") if isinstance(kinds, list) and "local" in kinds else None
    while query and weights.shape_of(query.replace(BLOCK, str(count))) and count != local:
        count += 1
    return count


def _no_attention(weights: Weights, n_heads: int | None) -> str:
    """Why the attention of a model is not read; empty where it is."""
    name, layout = weights.checkpoint.name, weights.layout
    rest = "The sum and the subspaces are shown all the same."
    if layout.query is None:
        return f"{name}: how its attention is stored is not known here. {rest}"
    if n_heads is None or weights.d_model % n_heads:
        return (
            f"{name} does not say how many attention heads it has ({' or '.join(layout.heads)} in "
            f"config.json). Put its config.json beside the weights. {rest}"
        )
    wide, shape = weights.d_model, weights.shape_of(layout.query.replace(BLOCK, "0"))
    outputs = 3 * wide if layout.is_fused else wide
    if shape not in ((outputs, wide), (wide, outputs)):
        return (
            f"{name} changes the width of the sum before its attention reads it ({wide:,} numbers, "
            f"and queries of shape {shape}), which is not followed here. {rest}"
        )
    kind = weights.setting("position_embedding_type")
    if kind not in (None, "absolute"):
        return (
            f"{name} also adds positions inside its attention ({kind}), which is not split here. "
            f"{rest}"
        )
    return ""


def _checkpoint(ref: str, access: Access | None) -> Checkpoint:
    kind, _, name = ref.partition(":")
    if kind == "run":
        return open_folder(folder_of(ref, access), Origin(ref, "run", name))
    if kind in ("sinusoidal", "random", "upload"):
        folder_of(ref, access)  # says why there is no model
    return sources.open(ref, access=access)
