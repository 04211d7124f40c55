"""Folders without weights that are read here: what they hold instead, and what to do."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.checkpoint import listed
from posviz.sources.formats.tensors import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

_KNOWN = (
    (r".*\.index$|.*\.data-\d+-of-\d+$|saved_model\.pb", "a TensorFlow checkpoint",
     "convert it with transformers before version 5, from_pretrained(FOLDER, from_tf=True) and "
     "save_pretrained"),
    (r".*\.msgpack", "Flax weights (msgpack)",
     "convert them with transformers before version 5, from_pretrained(FOLDER, from_flax=True) and "
     "save_pretrained"),
    (r".*\.distcp", "a distributed PyTorch checkpoint",
     "put its pieces together with python -m torch.distributed.checkpoint.format_utils "
     "dcp_to_torch FOLDER FILE.pt and open that"),
    (r"_METADATA|_CHECKPOINT_METADATA|manifest\.ocdbt", "an Orbax checkpoint of JAX",
     "restore it with Orbax and save the position table as .npy"),
    (r".*\.onnx", "an ONNX graph", "open the checkpoint it was exported from"),
)  # fmt: skip


def refusal(label: str, names: Sequence[str], inside: Sequence[str]) -> SourceError:
    """The sentence for a set of files, of which those `inside` one folder were looked through.

    Parameters
    ----------
    label : str
        What the set is called.
    names, inside : sequence of str
        All files, and those of the folder that should hold the weights.
    """
    bases = [posixpath.basename(name) for name in inside]
    if any(re.fullmatch(r"adapter_config\.json", base, re.IGNORECASE) for base in bases):
        return SourceError(
            f"{label} holds the settings of an adapter and not its weights. Add "
            f"adapter_model.safetensors."
        )
    everywhere = [posixpath.basename(name) for name in names]
    for pattern, what, remedy in _KNOWN:
        if any(re.fullmatch(pattern, base, re.IGNORECASE) for base in everywhere):
            return SourceError(f"{label} holds {what}, which is not read here: {remedy}.")
    if bases and all(base.lower().endswith(".json") for base in bases):
        which = next((base for base in bases if base.lower() == "config.json"), min(bases))
        return SourceError(
            f"{brief(which)} says how a model is set up and holds no numbers of its own. Add the "
            f"weights: model.safetensors, pytorch_model.bin or another checkpoint file."
        )
    return SourceError(
        f"{label} holds no weights that are read here; it holds {listed(bases) or 'nothing'}. "
        f"Expected is model.safetensors, pytorch_model.bin or another checkpoint file."
    )
