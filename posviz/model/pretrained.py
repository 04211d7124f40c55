"""Models of other people, through transformers: opened without any code of theirs, from disk only.

Foreign names of modules and buffers stop at this file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from posviz.errors import ModelError
from posviz.model.runner import Model, Objective

if TYPE_CHECKING:
    from posviz.sources import Access
    from posviz.table import PositionTable

_TOKENIZERS = (
    *("tokenizer.json", "vocab.json", "vocab.txt"),
    *("tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
)
_NAMED = 3  # missing weights that a refusal lists
_HEADS: dict[str, Objective] = {  # ends of class names that transformers writes into config.json
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
    "DoubleHeadsModel": "causal",
    "ForMaskedLM": "masked",
    "WithLMHeadModel": "masked",
    "ForPreTraining": "masked",
}


def open_pretrained(
    ref: str, folder: Path, config: Mapping[str, Any], access: Access | None, *, lean: bool = False
) -> Model:
    """A model folder in transformers' layout, in float32; with eager attention unless lean.

    Raises
    ------
    ModelError
        The family is not known, the folder asks for code of its own, weights are missing, or its
        position table is not the one that posviz found.
    """
    from posviz.sources import load

    table = load(ref, access=access)
    network, objective = _loaded(folder, config, None if lean else "eager")
    network.float().eval().requires_grad_(False)
    positions = _holder(network, table, folder.name)
    has_segments = objective != "causal" and _segments(network)

    def read(tokens: Tensor, segments: Tensor) -> Tensor:
        inputs: dict[str, Any] = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        if has_segments:
            inputs["token_type_ids"] = segments
        if _caches(network):
            inputs["use_cache"] = False
        out = network(**inputs)
        return cast("Tensor", out.last_hidden_state if objective == "encoder" else out.logits)

    return Model(
        ref=ref,
        name=table.name,
        folder=folder,
        objective=objective,
        table=table,
        vocabulary_size=int(network.get_input_embeddings().weight.shape[0]),
        network=network,
        positions=positions,
        read=read,
        refit=lambda stored_rows: _regrow(network, stored_rows),
    )


def open_tokenizer(folder: Path, name: str) -> Any:
    """The tokenizer of a model folder, from its own files and without code of theirs.

    Raises
    ------
    ModelError
        There is none that can be read.
    """
    if not any((folder / file).is_file() for file in _TOKENIZERS):
        # The library would make an empty one of the family, to which every word is unknown.
        raise ModelError(
            f"{name} has no tokenizer: none of {', '.join(_TOKENIZERS)} lies beside its weights. "
            f"Put the model's own tokenizer.json there."
        )
    with _quiet():
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except Exception as err:  # the library raises errors of a dozen kinds here
            raise ModelError(
                f"{name} has a tokenizer that cannot be read ({_first_line(err)}). Put the model's "
                f"own tokenizer.json into its folder."
            ) from err


def _loaded(
    folder: Path, config: Mapping[str, Any], attention: str | None
) -> tuple[Any, Objective]:
    with _quiet():
        from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM
        from transformers.models.auto.modeling_auto import (
            MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
        )
        from transformers.models.auto.modeling_auto import (
            MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
        )

        makers = {"causal": AutoModelForCausalLM, "masked": AutoModelForMaskedLM}
        family = config.get("model_type")
        written = next(iter(config.get("architectures") or ()), "")
        objective = next((o for end, o in _HEADS.items() if str(written).endswith(end)), None)
        if objective is None:
            # A bare GPT-2 is whole: its output reuses the token table. A bare BERT has no output.
            objective = "causal" if family in CAUSAL and family not in MASKED else "encoder"
        network, missing = _from_pretrained(makers.get(objective, AutoModel), folder, attention)
        if missing and objective != "encoder":
            network, missing = _from_pretrained(AutoModel, folder, attention)
            objective = "encoder"
        # A pooler is not on the way from the tokens to their vectors.
        missing = [name for name in missing if "pooler" not in name]
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise ModelError(
            f"{folder.name} lacks weights that a {family} model needs: "
            f"{', '.join(missing[:_NAMED])}{more}. Open the whole model."
        )
    return network, objective


def _from_pretrained(maker: Any, folder: Path, attention: str | None) -> tuple[Any, list[str]]:
    """A network, and the names of its weights that the folder does not hold."""
    try:
        network, report = maker.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            weights_only=True,
            attn_implementation=attention,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as err:  # the library raises errors of a dozen kinds here
        raise ModelError(
            f"transformers cannot build {folder.name} ({_first_line(err)}). Open the folder of a "
            f"whole GPT-2, BERT, RoBERTa, OPT or similar model."
        ) from err
    if report["mismatched_keys"]:
        raise ModelError(
            f"{folder.name}: the shapes of its weights and of its config.json differ. Open the "
            f"whole model as it was saved."
        )
    return network, sorted(report["missing_keys"])


def _holder(network: nn.Module, table: PositionTable, name: str) -> nn.Embedding:
    """The module that holds the very rows of the table."""
    rows = torch.from_numpy(table.raw.copy())
    for module in network.modules():
        if isinstance(module, nn.Embedding) and torch.equal(module.weight, rows):
            return module
    parameter = table.provenance.parameter or "its position table"
    raise ModelError(
        f"{name} runs, but {parameter} is not a table that its layers look rows up in, so another "
        f"one cannot take its place. Models with one learned table of positions can be measured."
    )


def _segments(network: Any) -> bool:
    return int(getattr(network.config, "type_vocab_size", 0) or 0) > 0


def _caches(network: Any) -> bool:
    return hasattr(network.config, "use_cache")


def _regrow(network: nn.Module, stored_rows: int) -> None:
    """Make the buffers that count positions as long as the table.

    Running numbers and zeros are written anew. A causal mask depends on how far apart two
    positions are, so its last row says all of it, and the farthest offset holds beyond.
    """
    for module in network.modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            if name == "position_ids":
                numbers = torch.arange(stored_rows, dtype=buffer.dtype)
                setattr(module, name, numbers.expand(*buffer.shape[:-1], -1))
            elif name == "token_type_ids":
                setattr(module, name, buffer.new_zeros(*buffer.shape[:-1], stored_rows))
            elif name == "bias" and buffer.dim() == 4 and buffer.shape[-1] == buffer.shape[-2]:
                back = buffer[0, 0, -1].flip(0)  # entry k: may a position see the one k before it?
                offset = torch.arange(stored_rows)[:, None] - torch.arange(stored_rows)
                seen = back[offset.clamp(0, len(back) - 1)] * (offset >= 0).to(buffer.dtype)
                setattr(module, name, seen.to(buffer.dtype)[None, None])


@contextmanager
def _quiet() -> Iterator[None]:
    """The library's bars and remarks stay off the terminal: what matters becomes a sentence."""
    from transformers.utils import logging as library

    kept, bars = library.get_verbosity(), library.is_progress_bar_enabled()
    library.set_verbosity(logging.CRITICAL)
    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library.set_verbosity(kept)
        if bars:
            library.enable_progress_bar()  # type: ignore[no-untyped-call]


def _first_line(err: Exception) -> str:
    return str(err).strip().partition("\n")[0].rstrip(".") or type(err).__name__
