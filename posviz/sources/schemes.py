"""How a model without a position table knows positions, and the sentence that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posviz.sources import adapters, configs, layouts, looks
from posviz.sources.formats.tensors import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from posviz.sources.configs import Config
    from posviz.sources.formats.tensors import Entry
    from posviz.sources.looks import Look, Switch

_INSTEAD = {
    "rotary": "Queries and keys are turned by their position instead (rotary embeddings, RoPE).",
    "alibi": "Attention scores carry a fixed penalty by distance instead (ALiBi).",
    "relative": "Attention scores carry a bias by distance instead (relative positions).",
    "sinusoidal": "Fixed sines and cosines are computed instead of being stored.",
    "convolutional": "A convolution over the sequence carries the positions instead.",
    "none": "Nothing in it stands for a position on its own.",
}


def explain(entries: Sequence[Entry], config: Config | None) -> tuple[str, str]:
    """Why nothing here is a position table: the scheme, and a sentence or two.

    A switch in the config decides; then the catalogue, where it knows the model type or that
    of the language model inside; then other keys of the config; then a tensor that gives the
    scheme away; then a switch that only says that there is no table; then the names of all
    tensors, which families share, and the sentence says that it rests on them alone. Otherwise
    the scheme is ``unknown``.
    """
    parts = configs.chain(config, "language_model.embed")
    switch = looks.switch(parts)
    stated = _from_config(parts, switch)
    if stated is not None and stated[0] != "unknown":
        return stated
    look = looks.look(entries)
    found = looks.tensor_sign(entries)
    if found is not None:
        scheme, entry = found
        shape = f" ({shape_text(entry.shape)})" if entry.shape else ""
        said = _sentence(scheme, f"{entry.name}{shape} shows that this model has none")
        alike = f" Its tensors are named as in {look.layout}." if look else ""
        return scheme, said + (alike if look and look.scheme == scheme else "")
    if any(adapters.is_part(entry.name) for entry in entries):
        return "unknown", (
            "The file holds an adapter (LoRA or the like), which changes no position table. Open "
            "the model that it was trained for."
        )
    if any("flat_param" in entry.name for entry in entries):
        return "unknown", (
            "The file holds FSDP flat parameters, in which no tensor keeps its shape. Export a "
            "full state dict and open that."
        )
    if stated is not None:
        return stated
    if switch is not None:
        return "unknown", (
            f"No position table: this model has none, its config says {switch.setting}. What it "
            f"uses instead, if anything, neither the config nor a tensor tells."
        )
    if look is not None:
        return look.scheme, _by_names(look, config)
    return "unknown", "No position table was found: no tensor has a name that such tables carry."


def beside(config: Config | None) -> str | None:
    """The scheme of the language model whose vision tower holds the only tables, if known."""
    inner, *_ = (*configs.chain(config, "language_model.embed"), None)
    if inner is None or inner is config:
        return None
    model_type = configs.model_type(inner)
    known = layouts.scheme(model_type) if model_type else None
    if known is not None:
        return known.scheme if known.scheme in ("rotary", "alibi", "relative") else None
    return looks.setting_sign((inner,))


def instead(scheme: str) -> str:
    """What a scheme does in place of a table, as a sentence."""
    return _INSTEAD[scheme]


def _from_config(parts: Sequence[Config], switch: Switch | None) -> tuple[str, str] | None:
    """What the config and the catalogue say; ``unknown`` where the catalogue says it depends."""
    if switch is not None and switch.scheme != "unknown":
        said = f"this model has none, its config says {switch.setting}"
        return switch.scheme, _sentence(switch.scheme, said)
    depends = None
    for part in reversed(parts):
        model_type = configs.model_type(part)
        known = layouts.scheme(model_type) if model_type else None
        if known is None:
            continue
        if known.scheme != "unknown":
            more = "" if known.detail == known.scheme else f" In the catalogue: {known.detail}."
            return known.scheme, _sentence(known.scheme, f"{model_type} models have none") + more
        depends = (
            f"No position table is stored. Of {model_type} models it is known: {known.detail}."
        )
    if depends is not None:  # settings of such models say one thing and the code another
        return "unknown", depends
    scheme = looks.setting_sign(parts)
    if scheme is None:
        return None
    return scheme, _sentence(scheme, "this model has none, its config says")


def _sentence(scheme: str, why: str) -> str:
    return f"No position table: {why}. {_INSTEAD[scheme]}"


def _by_names(look: Look, config: Config | None) -> str:
    """What is known from names alone, and that it is known from them alone."""
    does = "" if look.scheme == "unknown" else _INSTEAD[look.scheme]
    sentences = filter(None, (look.note and f"{look.note}.", does))
    if config:
        rests = "Only the names say so: its config does not tell."
    else:
        rests = "Only the names say so, as no config.json was read: add the model's to be sure."
    return (
        f"No position table is stored: the tensors are named as in {look.layout}. "
        f"{' '.join(sentences)} {rests}"
    )
