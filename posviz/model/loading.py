"""Whole models, made ready to read from what a reference names.

Models of this project (demos and runs) run through :mod:`posviz.training`, which opens in
half the time; every other folder through transformers (:mod:`posviz.model.pretrained`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from posviz.errors import ModelError, TrainingError
from posviz.model.places import folder_of, is_ours, read_json
from posviz.model.runner import Model
from posviz.runfolder import MODEL, VOCABULARY
from posviz.sources.runs import in_the_layout_of, lender_of
from posviz.training.config import TrainConfig
from posviz.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from posviz.sources import Access


def open_model(
    ref: str, *, access: Access | None = None, folder: Path | None = None, lean: bool = False
) -> Model:
    """The model that a reference names.

    Parameters
    ----------
    ref : str
        ``demo:NAME``, ``run:NAME``, a folder with config.json and weights, or a Hub model whose
        files lie on this machine already.
    access : Access or None
        What may be opened; None for the defaults.
    folder : Path or None
        Where its files lie, for a Hub model that has just been downloaded.
    lean : bool
        Attend in the way that needs the least memory, at the price of the last digit.

    Raises
    ------
    ModelError
        What the reference names cannot be run; the sentence says why.
    SourceError
        It cannot be opened at all.
    """
    if lender := lender_of(ref):
        return _lent(ref, open_model(lender, access=access, lean=lean), access)
    folder = folder or folder_of(ref, access)
    config = read_json(folder / "config.json")
    if is_ours(folder, config):
        return _ours(ref, folder, config, access)
    from posviz.model.pretrained import open_pretrained

    return open_pretrained(ref, folder, config, access, lean=lean)


def _lent(ref: str, model: Model, access: Access | None) -> Model:
    """The model of a run that keeps its table alone, with that table in its place."""
    from posviz.sources import load

    rows = load(ref, access=access)
    table = in_the_layout_of(model.table, rows)
    model.put(nn.Parameter(torch.from_numpy(table.raw.copy()), requires_grad=False))
    return replace(model, ref=ref, name=rows.name, table=table, lent=rows)


def _ours(ref: str, folder: Path, config: Mapping[str, Any], access: Access | None) -> Model:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from posviz.sources import load
    from posviz.training.gpt import GPT
    from posviz.training.huggingface import fill, from_config

    table = load(ref, access=access)
    try:
        tensors = load_file(folder / MODEL)
        network = from_config(config)
        fill(network, tensors)
        training = TrainConfig.from_dict(config["posviz"]["training"])
        numbers = read_json(folder / VOCABULARY)
        vocabulary = Vocabulary(tuple(sorted(numbers, key=numbers.__getitem__)))
    except (OSError, SafetensorError, KeyError, TypeError, RuntimeError, TrainingError) as err:
        raise ModelError(
            f"{ref} is not whole: {MODEL}, {VOCABULARY} and config.json have to fit each other "
            f"({err}). Train it again."
        ) from err
    network.eval().requires_grad_(False)

    def read(tokens: Tensor, segments: Tensor) -> Tensor:
        out: Tensor = network(tokens) if isinstance(network, GPT) else network(tokens, segments)
        return out

    def refit(stored_rows: int) -> None:
        network.config = replace(network.config, n_positions=stored_rows)

    return Model(
        ref=ref,
        name=table.name,
        folder=folder,
        objective="causal" if isinstance(network, GPT) else "masked",
        table=table,
        vocabulary_size=len(vocabulary),
        network=network,
        positions=network.positions,
        read=read,
        refit=refit,
        training=training,
        vocabulary=vocabulary,
    )
