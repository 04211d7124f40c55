"""Which files of a folder, an upload or a Hub repository hold the weights.

All three are a set of names and a way to open one of them, so they are understood by the
same rules.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import configs
from posviz.sources.checkpoint import listed
from posviz.sources.formats.tensors import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from posviz.sources.readers import Reader

_INDEX_LIMIT = 64 << 20

_PREFERRED = (  # patterns for the base name of a weight file, best first
    r"model\.safetensors",
    r"(?!adapter_model|history|snapshots|optimizer).*\.safetensors",
    r"pytorch_model\.bin",
    r"(?!training_args|optimizer|scheduler|adapter_model|rng_state|scaler).*\.(?:bin|pt|pth|ckpt)",
    r".*\.gguf",
    r"tf_model\.h5|.*\.weights\.h5|.*\.(?:h5|hdf5|keras)",
    r".*\.npz",
    r".*\.npy",
    r".*\.(?:tsv|csv)",
    r"(?:history|snapshots)\.safetensors",
)
_SHARD = re.compile(r"(.*)-\d{5}-of-\d{5}(\.[a-z]+)$", re.IGNORECASE)
_FOREIGN = (
    (r".*\.index$|.*\.data-\d+-of-\d+$", "a TensorFlow checkpoint",
     "convert it with transformers' from_pretrained(FOLDER, from_tf=True) and save_pretrained"),
    (r".*\.msgpack", "Flax weights (msgpack)", "save them as safetensors"),
    (r".*\.onnx", "an ONNX graph", "open the checkpoint it was exported from"),
)  # fmt: skip


@dataclass(frozen=True)
class FileSet:
    """Files by name, such as a folder's.

    Parameters
    ----------
    names : tuple of str
        Paths relative to the set's root, with forward slashes.
    open : function
        From one of the names to its reader.
    label : str
        For messages.
    size : function
        From one of the names to its size in bytes.
    remote : bool
        Whether every read is a request.
    """

    names: tuple[str, ...]
    open: Callable[[str], Reader]
    label: str
    size: Callable[[str], int]
    remote: bool = False


@dataclass(frozen=True)
class Weights:
    """The files that hold a model's weights.

    Parameters
    ----------
    files : tuple of str
        Names in the set.
    config : str or None
        Name of the config.json that belongs to them.
    weight_map : mapping or None
        From tensor names to files, where an index says so.
    warnings : tuple of str
    """

    files: tuple[str, ...]
    config: str | None
    weight_map: dict[str, str] | None = None
    warnings: tuple[str, ...] = ()


def choose(files: FileSet) -> Weights:
    """The weight files of a set.

    Raises
    ------
    SourceError
        There are none; the sentence says what is there instead (an adapter, another
        framework's files) and what to do.
    """
    folder = _folder(files)
    inside = [name for name in files.names if posixpath.dirname(name) == folder]
    config = _find(inside, r"config\.json")
    index = _find(inside, r"model\.safetensors\.index\.json") or _find(
        inside, r".*\.(?:safetensors|bin)\.index\.json"
    )
    if index is not None:
        return _indexed(files, inside, index, config)
    for pattern in _PREFERRED:
        found = _all(inside, pattern)
        if found:
            shards = _shards(found)
            if shards:
                return Weights(shards, config, None, _no_index(shards))
            left = [posixpath.basename(name) for name in found[1:]]
            many = (f"{files.label} holds several weight files; {posixpath.basename(found[0])} "
                    f"is open. The others: {listed(left)}.")  # fmt: skip
            return Weights((found[0],), config, None, (many,) if left else ())
    raise _nothing(files, inside)


def _folder(files: FileSet) -> str:
    """The sub-folder with the weights: the root, else what modules.json says, else the first."""
    folders = sorted({posixpath.dirname(name) for name in files.names}, key=_depth)
    holding = [folder for folder in folders if _holds_weights(files.names, folder)]
    if not holding or "" in holding:
        return ""
    if "modules.json" in files.names:
        named = _transformer_module(files.open("modules.json"))
        if named in holding:
            return named
    return holding[0]


def _depth(folder: str) -> tuple[int, str]:
    return folder.count("/") + bool(folder), folder


def _holds_weights(names: Sequence[str], folder: str) -> bool:
    inside = [name for name in names if posixpath.dirname(name) == folder]
    return any(_all(inside, pattern) for pattern in (*_PREFERRED, r".*\.index\.json"))


def _transformer_module(reader: Reader) -> str:
    """The path of sentence-transformers' first module."""
    try:
        modules = json.loads(reader.read_at(0, min(reader.size, _INDEX_LIMIT)))
        return next(
            str(module["path"]) for module in modules if "Transformer" in str(module["type"])
        )
    except (ValueError, RecursionError, TypeError, KeyError, StopIteration):
        return ""


def _indexed(files: FileSet, inside: list[str], index: str, config: str | None) -> Weights:
    folder = posixpath.dirname(index)
    weight_map = read_index(files.open(index))
    wanted = sorted(set(weight_map.values()))
    present = {posixpath.basename(name) for name in inside}
    there = [name for name in wanted if name in present]
    warnings = []
    if there:
        missing = [name for name in wanted if name not in present]
        if missing:
            warnings.append(
                f"{posixpath.basename(index)} names {len(wanted)} files, of which {len(missing)} "
                f"are missing ({listed(missing)}). The others were read."
            )
        ending = posixpath.splitext(wanted[0])[1]
        stray = [
            posixpath.basename(name)
            for name in _all(inside, rf"(?!adapter_model|history|snapshots).*{re.escape(ending)}")
            if posixpath.basename(name) not in wanted and "training_args" not in name
        ]
        if stray:
            warnings.append(
                f"{listed(stray)} lies beside the files that {posixpath.basename(index)} names "
                f"and was not read. Open it by its own path to see it."
            )
        full = {tensor: posixpath.join(folder, file) for tensor, file in weight_map.items()}
        return Weights(
            tuple(posixpath.join(folder, name) for name in there), config, full, tuple(warnings)
        )
    ending = ".safetensors" if ".safetensors." in index else ".bin"
    found = _all(inside, rf"(?!adapter_model|training_args|history|snapshots).*{re.escape(ending)}")
    if not found:
        raise SourceError(
            f"{files.label} holds an index ({posixpath.basename(index)}) but none of the "
            f"{len(wanted)} files it names. Download them too."
        )
    stale = (
        f"{posixpath.basename(index)} is stale: it names {listed(wanted)}, and none of them is "
        f"there. The files that are there were read instead."
    )
    return Weights(tuple(found), config, None, (stale,))


def read_index(reader: Reader) -> dict[str, str]:
    """The weight map of an index file, from tensor names to base names of files.

    Raises
    ------
    SourceError
        Not an index, or one that points outside its folder.
    """
    if reader.size > _INDEX_LIMIT:
        raise SourceError(f"{reader.name} has {reader.size:,} bytes; an index is far smaller.")
    try:
        index = json.loads(reader.read_at(0, reader.size))
    except (ValueError, RecursionError) as err:
        raise damaged(reader.name, "it is not valid JSON") from err
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        raise damaged(reader.name, "it holds no weight_map")
    for file in weight_map.values():
        plain = isinstance(file, str) and re.fullmatch(r"[\w][\w.+-]*", file)
        if not plain:
            raise SourceError(
                f"{reader.name} names the file {file!r}; an index may only name files beside it. "
                f"It was not followed."
            )
    return weight_map


def _find(names: Sequence[str], pattern: str) -> str | None:
    return next(iter(_all(names, pattern)), None)


def _all(names: Sequence[str], pattern: str) -> list[str]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return sorted(name for name in names if compiled.fullmatch(posixpath.basename(name)))


def _shards(found: list[str]) -> tuple[str, ...]:
    shards = [name for name in found if _SHARD.match(name)]
    return tuple(shards) if len(shards) > 1 else ()


def _no_index(shards: tuple[str, ...]) -> tuple[str, ...]:
    count = re.search(r"-of-(\d{5})", shards[0])
    expected = int(count[1]) if count else len(shards)
    if expected == len(shards):
        return ()
    return (f"{len(shards)} of {expected} shards are there; the others may hold more tensors.",)


def _nothing(files: FileSet, inside: list[str]) -> SourceError:
    adapter = _find(inside, r"adapter_config\.json")
    if adapter is not None or _find(inside, r"adapter_model\..*"):
        config = configs.read_config(files.open(adapter)) if adapter else {}
        base = config.get("base_model_name_or_path")
        which = f"the base model {base}" if isinstance(base, str) and base else "its base model"
        return SourceError(
            f"{files.label} holds only an adapter (LoRA or the like), which changes no position "
            f"table. Open {which} instead."
        )
    for pattern, what, remedy in _FOREIGN:
        if _find(inside, pattern):
            return SourceError(f"{files.label} holds {what}, which is not read here: {remedy}.")
    there = listed([posixpath.basename(name) for name in inside]) or "nothing"
    return SourceError(
        f"{files.label} holds no weights that are read here; it holds {there}. Expected is "
        f"model.safetensors, pytorch_model.bin or another checkpoint file."
    )
