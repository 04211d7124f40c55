"""Files beside a model's weights: further weights, and what belongs to it at any length."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from posviz.runfolder import HISTORY, METRICS, SNAPSHOTS
from posviz.sources.checkpoint import listed
from posviz.sources.formats.tensors import brief
from posviz.sources.shards import these

if TYPE_CHECKING:
    from collections.abc import Iterable

    from posviz.sources.folders import Weights

_OTHER_WEIGHTS = re.compile(
    r".*\.(?:safetensors|bin|pt|pth|ckpt|h5|hdf5|keras|msgpack|ot|onnx|onnx_data|gguf|ggml|tflite"
    r"|mlmodel|npz|data-\d+-of-\d+)|.*\.(?:safetensors|bin|h5|msgpack)\.index\.json|.*\.index",
    re.IGNORECASE,
)
_KEPT = re.compile(r"training_args\.bin|adapter_model\..*|adapter_config\.json", re.IGNORECASE)
_CONVERSIONS = {"onnx", "openvino", "coreml", "tflite", "flax", "tf"}  # folders of the same weights
_OF_TRAINING = re.compile(
    r"optimizer.*|scheduler.*|scaler\.pt|rng_state.*|trainer_state\.json|resume\.safetensors|"
    + "|".join(map(re.escape, (METRICS, SNAPSHOTS, HISTORY))),
    re.IGNORECASE,
)


def beside(names: Iterable[str], weights: Weights) -> list[str]:
    """The files to keep beside `weights`: not those of :func:`left_out`."""
    out = left_out(names, weights)
    return [name for name in names if name not in weights.files and name not in out]


def unread(further: Iterable[str], weights: Weights, *, remote: bool) -> tuple[str, ...]:
    """The note about weight files in the folder of those that are open, if there are any.

    Parameters
    ----------
    further : iterable of str
        Every file of that folder that may hold weights.
    weights : Weights
        What is open, with warnings, which name files that are not named again.
    remote : bool
        Whether they are no paths that a person could open.
    """
    said = " ".join(weights.warnings)
    bases = [posixpath.basename(name) for name in further if name not in weights.files]
    left = [base for base in bases if not is_of_training(base) and brief(base) not in said]
    if not left:
        return ()
    are, also = ("is" if len(files) == 1 else "are" for files in (weights.files, left))
    remedy = "" if remote else " Open one by its own path to see it."
    return (f"{these(weights.files)} {are} open; {listed(left)} {also} there too, unread.{remedy}",)


def is_of_training(base: str) -> bool:
    """Whether a file holds the state or the record of a training, by its base name."""
    return _OF_TRAINING.fullmatch(base) is not None


def left_out(names: Iterable[str], weights: Weights) -> dict[str, str]:
    """Files that a model with another table cannot keep, and why.

    Returns
    -------
    dict of str to str
        From names to a few words: the same weights in another format, an index of files that are
        written anew, the state and the record of the training at the old length.
    """
    folder = posixpath.dirname(weights.files[0])
    out = {}
    for name in names:
        where, base = posixpath.split(name)
        if name in weights.files or _KEPT.fullmatch(base):
            continue
        own_index = weights.weight_map is not None and where == folder
        if own_index and base.endswith(f"{posixpath.splitext(weights.files[0])[1]}.index.json"):
            continue
        within = where.removeprefix(folder).strip("/").split("/")[0].lower()
        if is_of_training(base) and where == folder:
            out[name] = "belongs to the training at the old length"
        elif _OTHER_WEIGHTS.fullmatch(base) and (where == folder or within in _CONVERSIONS):
            out[name] = "holds or lists weights with the old table"
    return out
