"""Which files of a folder, an upload or a Hub repository hold the weights.

All three are a set of names and a way to open one of them, so they are understood by the
same rules.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from posviz.errors import DamagedError, SourceError
from posviz.sources import adapters, companions, unread
from posviz.sources.checkpoint import listed
from posviz.sources.formats import jsons
from posviz.sources.formats.tensors import brief
from posviz.sources.indexes import INDEX_LIMIT, read_index
from posviz.sources.names import by_number
from posviz.sources.shards import Numbered, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from posviz.sources.readers import Reader


_MODELS = (  # patterns for the base name of a file of a model's weights, best first
    r"model\.safetensors",
    r"(?!adapter_model|history|snapshots|optimizer).*\.safetensors",
    r"pytorch_model\.bin",
    r"(?!training_args|optimizer|scheduler|adapter_model|rng_state|scaler).*\.(?:bin|pt|pth|ckpt)",
    r".*\.gguf",
    r"tf_model\.h5|.*\.weights\.h5|.*\.(?:h5|hdf5|keras)",
)
_PREFERRED = (
    *_MODELS,
    r".*\.npz",
    r".*\.npy",
    r".*\.(?:tsv|csv)",
    r"(?:history|snapshots)\.safetensors",
    adapters.FILES,
)

_ANY_MODEL = "|".join(_MODELS)


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
    index : str or None
        Name of the index that was read.
    notes : tuple of str
        What is worth a word and no cause for doubt.
    """

    files: tuple[str, ...]
    config: str | None
    weight_map: dict[str, str] | None = None
    warnings: tuple[str, ...] = ()
    index: str | None = None
    notes: tuple[str, ...] = ()


def choose(files: FileSet) -> Weights:
    """The weight files of a set.

    Raises
    ------
    SourceError
        There are none; the sentence says what is there instead (an adapter, another
        framework's files) and what to do.
    """
    by_folder: dict[str, list[str]] = {}
    for name in files.names:
        by_folder.setdefault(posixpath.dirname(name), []).append(name)
    folder, others = _folder(files, by_folder)
    inside = by_folder.get(folder, [])
    found = _choose(files, inside)
    further = _all(inside, rf"{_ANY_MODEL}|{adapters.FILES}")
    if notes := companions.unread(further, found, remote=files.remote):
        found = replace(found, notes=notes)
    if not others:
        return found
    said = (f"{files.label} holds weights in several folders; {brief(folder)} is open. The others: "
            f"{listed(others)}.")  # fmt: skip
    return replace(found, warnings=(said, *found.warnings))


def _choose(files: FileSet, inside: list[str]) -> Weights:
    """The weight files among those of one folder."""
    config = config_file(inside)
    index = _index(inside)
    if index is not None:
        return _indexed(files, inside, index, config)
    return _unindexed(files, inside, config)


def _index(inside: list[str]) -> str | None:
    """The index to follow: one of safetensors, else one of PyTorch's or Keras' where it is all."""
    for pattern in (r"model\.safetensors\.index\.json", r".*\.safetensors\.index\.json"):
        found = _find(inside, pattern)
        if found is not None:
            return found
    for of, pattern in ((2, r".*\.bin\.index\.json"), (5, r".*\.weights\.json")):  # Keras' last
        if any(_all(inside, better) for better in _MODELS[:of]):
            return None
        found = _find(inside, pattern)
        if found is not None:
            return found
    return None


def _unindexed(files: FileSet, inside: list[str], config: str | None) -> Weights:
    """The weight files that names alone tell, the best kind first."""
    for pattern in _PREFERRED:
        found = _all(inside, pattern)
        if found:
            shards = _shards(found)
            if shards:
                return Weights(shards, config, None, _no_index(shards))
            chosen = _latest(found)
            left = [posixpath.basename(name) for name in found if name != chosen]
            first = brief(posixpath.basename(chosen))
            many = (f"{files.label} holds several weight files; {first} is open. The others: "
                    f"{listed(left)}.")  # fmt: skip
            return Weights((chosen,), config, None, (many,) if left else ())
    raise unread.refusal(files.label, files.names, inside)


def _folder(files: FileSet, by_folder: dict[str, list[str]]) -> tuple[str, list[str]]:
    """The folder with the weights, and others that hold some too.

    The root, else what modules.json says, else of the topmost ones a pipeline's text encoder or
    the last, by number, of a training's checkpoints.
    """
    holding = [folder for folder, inside in by_folder.items() if _holds_weights(inside)]
    if not holding or "" in holding:
        return "", []
    if "modules.json" in files.names:
        named = _transformer_module(files.open("modules.json"))
        if named in holding:
            return named, []
    top = min(folder.count("/") for folder in holding)
    holding = sorted((folder for folder in holding if folder.count("/") == top), key=by_number)
    first = _latest(holding)
    if "text_encoder" in holding:
        first = "text_encoder"
    return first, [folder for folder in holding if folder != first]


def _latest(names: list[str]) -> str:
    """Of names that differ in their numbers only, the last of a training; else the first."""
    if len({re.sub(r"\d+", "", name) for name in names}) == 1:
        return max(names, key=by_number)
    return names[0]


def is_weights(name: str) -> bool:
    """Whether a file's name is one that weights have."""
    return _holds_weights([name])


def _holds_weights(inside: Sequence[str]) -> bool:
    return any(_all(inside, pattern) for pattern in (*_PREFERRED, r".*\.index\.json"))


def _transformer_module(reader: Reader) -> str:
    """The path of sentence-transformers' first module."""
    try:
        modules = jsons.parse(reader.read_at(0, min(reader.size, INDEX_LIMIT)), reader.name)
        return next(
            str(module["path"]) for module in modules if "Transformer" in str(module["type"])
        )
    except (SourceError, TypeError, KeyError, StopIteration):
        return ""


def _indexed(files: FileSet, inside: list[str], index: str, config: str | None) -> Weights:
    folder = posixpath.dirname(index)
    try:
        weight_map = read_index(files.open(index))
    except DamagedError as err:
        if not _all(inside, _ANY_MODEL):
            raise
        without = _unindexed(files, inside, config)
        said = f"{err} The weights that are there were read without it."
        return replace(without, warnings=(said, *without.warnings), index=index)
    wanted = sorted(set(weight_map.values()))
    siblings = [posixpath.basename(name) for name in inside if _is_sibling(name, wanted)]
    present = {posixpath.basename(name) for name in inside}
    there = [name for name in wanted if name in present]
    warnings = []
    if there:
        missing = [name for name in wanted if name not in present]
        if missing:
            warnings.append(
                f"{posixpath.basename(index)} names {len(wanted):,} files, of which "
                f"{len(missing):,} {'is' if len(missing) == 1 else 'are'} missing "
                f"({listed(missing)}). The others were read."
            )
        whole = index.removesuffix(".index.json").replace(".weights.json", ".weights.h5")
        if siblings:
            warnings.append(
                f"{posixpath.basename(index)} does not name {listed(siblings)}, which by "
                f"{'its name belongs' if len(siblings) == 1 else 'their names belong'} to the same "
                f"model and {'was' if len(siblings) == 1 else 'were'} read too."
            )
        if whole in inside and posixpath.basename(whole) not in wanted:
            warnings.append(
                f"{posixpath.basename(whole)} lies beside the files that "
                f"{posixpath.basename(index)} names, unread. A loader that does not ask for the "
                f"index takes it: open it by its own path to see it."
            )
        full = {tensor: posixpath.join(folder, file) for tensor, file in weight_map.items()}
        return Weights(
            tuple(posixpath.join(folder, name) for name in sorted({*there, *siblings})),
            config,
            full,
            tuple(warnings),
            index,
        )
    ending = ".safetensors" if ".safetensors." in index else ".bin"
    found = _all(inside, rf"(?!adapter_model|training_args|history|snapshots).*{re.escape(ending)}")
    if not found and not _all(inside, _ANY_MODEL):
        names = listed(wanted)
        raise SourceError(
            f"{posixpath.basename(index)} says which files hold the tensors ({names}), and none of "
            f"them is there. Add {'it' if len(wanted) == 1 else 'them'}."
        )
    stale = (
        f"{posixpath.basename(index)} is stale: it names {listed(wanted)}, and none of them is "
        f"there. The files that are there were read instead."
    )
    if not found:
        other = _unindexed(files, inside, config)
        return replace(other, warnings=(stale, *other.warnings), index=index)
    return Weights(tuple(found), config, None, (stale,), index)


def _is_sibling(name: str, named: list[str]) -> bool:
    """Whether a file is a shard of the numbered set that an index names the others of."""
    own = numbered(name)
    if own is None or posixpath.basename(name) in named:
        return False
    return all(numbered(other) == own for other in named)


def config_file(names: Sequence[str]) -> str | None:
    """The config.json among some names, however it is spelled."""
    return _find(names, r"config\.json")


def _find(names: Sequence[str], pattern: str) -> str | None:
    return next(iter(_all(names, pattern)), None)


def _all(names: Sequence[str], pattern: str) -> list[str]:
    compiled = re.compile(pattern, re.IGNORECASE)
    bases = ((name, posixpath.basename(name)) for name in names)
    # Hidden files are no weights: a Mac leaves ._model.safetensors beside what it copies.
    found = [n for n, base in bases if base[0] != "." and compiled.fullmatch(base)]
    return sorted(found, key=by_number)


def _shards(found: list[str]) -> tuple[str, ...]:
    """The numbered files of one model; of several models that of which most are there."""
    models: dict[Numbered, list[str]] = {}
    for name in found:
        place = numbered(name)
        if place is not None:
            models.setdefault(place, []).append(name)
    most = max(models.values(), key=len, default=[])
    return tuple(most) if len(most) > 1 else ()


def _no_index(shards: tuple[str, ...]) -> tuple[str, ...]:
    first = numbered(shards[0])
    expected = first.count if first else len(shards)
    if expected == len(shards):
        return ()
    return (f"{len(shards)} of {expected} shards are there; the others may hold more tensors.",)
