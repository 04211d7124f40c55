"""A whole checkpoint: all files of a model, to be written anew with another table.

Opening a table touches as few bytes as it can; taking a model home needs every file of it. So
this is asked for by those who write checkpoints only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from posviz.errors import SourceError
from posviz.runfolder import MODEL, runs_folder
from posviz.sources import adapters, configs, demos, folders, local
from posviz.sources.access import Access
from posviz.sources.folders import FileSet, Weights
from posviz.sources.formats import open_tensors
from posviz.sources.opening import Origin, open_files
from posviz.sources.readers import Traffic

if TYPE_CHECKING:
    from posviz.sources.checkpoint import Checkpoint
    from posviz.sources.formats.tensors import TensorFile
    from posviz.table import PositionTable

WRITTEN = ("safetensors", "pytorch-zip", "pytorch-legacy")
"""Formats whose tensors can be written as safetensors, byte for byte."""

# What goes along with a single file: what a loader of its folder would read beside it.
_COMPANIONS = (
    "config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json",
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "spiece.model",
    "sentencepiece.bpe.model", "sentence_bert_config.json", "README.md", "LICENSE",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Bundle:
    """A checkpoint with all its files.

    Parameters
    ----------
    checkpoint : Checkpoint
        What was found in it; ``ref``, ``source``, ``name`` and ``revision`` are in it.
    files : FileSet
        Every file, weights and companions.
    weights : Weights
        Which of them hold the weights.
    opened : mapping of str to TensorFile
        The weight files by name.
    root : Path or None
        The folder on this machine that the files lie in.
    tuned : PositionTable or None
        Rows that a run made of the table, which take its place.
    """

    checkpoint: Checkpoint
    files: FileSet
    weights: Weights
    opened: Mapping[str, TensorFile]
    root: Path | None = None
    tuned: PositionTable | None = None

    def table(self, parameter: str) -> PositionTable:
        """A table of the checkpoint, or what a run made of it."""
        from posviz.sources.runs import in_the_layout_of

        stored = self.checkpoint.table(parameter)
        first = self.checkpoint.tables[0].parameter if self.checkpoint.tables else None
        if self.tuned is None or parameter != first:
            return stored
        return in_the_layout_of(stored, self.tuned)

    @property
    def size(self) -> int:
        """Bytes of the weight files."""
        return sum(self.files.size(name) for name in self.weights.files)


def open_bundle(
    ref: str,
    *,
    access: Access | None = None,
    told: Callable[[str], None] = lambda sentence: None,
) -> Bundle:
    """The whole checkpoint that a reference names; a Hub model is downloaded, into the Hub's cache.

    Parameters
    ----------
    ref : str
        As for :func:`posviz.sources.open`; not one of a single table.
    access : Access or None
    told : function (sentence)
        Called before something large is downloaded, with what and how much.

    Raises
    ------
    SourceError
        No whole checkpoint stands behind the reference, or one that cannot be written anew.
    """
    from posviz.sources import plain

    access = access or Access()
    ref = plain(ref)
    prefix, colon, rest = ref.partition(":")
    if prefix in ("sinusoidal", "random") and colon:
        raise SourceError(
            f"{ref} is a table without a model, so there is no checkpoint to write. Give an OUT "
            f"that ends in .safetensors or .npy."
        )
    if prefix == "demo" and colon:
        demos.open_demo(ref, access)  # refuses unknown names
        return _folder(demos.DEMOS / rest, Origin(ref, "demo", rest))
    if prefix == "run" and colon:
        return _run(ref, access, told)
    if (prefix == "hub" and colon) or ref in _presets():
        from posviz.sources.snapshot import download

        folder, name = download(ref, access, told)
        return _folder(folder, Origin(ref, "hub", name, revision=folder.name))
    try:
        path = access.local_path(ref)
    except FileNotFoundError as err:
        raise SourceError(
            f"{ref} is no file or folder here, so there is no checkpoint to write. Check the path."
        ) from err
    if path.name.endswith(".index.json"):
        path = path.parent
    if path.is_dir():
        return _folder(path, Origin(ref, "file", path.name))
    return _file(access.absolute(ref), ref, access)


def open_uploaded_bundle(files: Mapping[str, bytes | IO[bytes]]) -> Bundle:
    """The whole checkpoint in uploaded files.

    Raises
    ------
    SourceError
        As :func:`open_bundle`.
    """
    return _bundle(*local.uploaded(files))


def _presets() -> Mapping[str, object]:
    from posviz.sources.presets import PRESETS

    return PRESETS


def _run(ref: str, access: Access, told: Callable[[str], None]) -> Bundle:
    from posviz.sources.runs import lender_of, open_run

    if lender := lender_of(ref):
        tuned = open_run(ref, access).table()
        bundle = open_bundle(lender, access=access, told=told)
        named = {"ref": ref, "source": "run", "name": ref.removeprefix("run:"), "revision": None}
        return replace(bundle, checkpoint=replace(bundle.checkpoint, **named), tuned=tuned)  # type: ignore[arg-type]
    name, _, step = ref.removeprefix("run:").partition("@")
    last = open_run(f"run:{name}", access).revision  # refuses unknown names
    if step and step != last:
        raise SourceError(
            f"{ref} is the table of an earlier step; the model is kept as it was at the last one. "
            f"Open run:{name}."
        )
    folder = runs_folder() / name
    if not (folder / MODEL).is_file():
        raise SourceError(
            f"run:{name} keeps its tables but no {MODEL}, so there is no checkpoint to write. Give "
            f"an OUT that ends in .safetensors or .npy."
        )
    return _folder(folder, Origin(ref, "run", name, revision=last), only=MODEL)


def _folder(folder: Path, origin: Origin, *, only: str | None = None) -> Bundle:
    files = local.folder_files(folder, origin.traffic)
    weights = None
    if only is not None:
        weights = Weights((only,), "config.json" if "config.json" in files.names else None)
    return _bundle(files, origin, weights, root=folder)


def _file(named: Path, ref: str, access: Access) -> Bundle:
    """One file, with what a loader would read beside it where it has a config."""
    beside = []
    for name in _COMPANIONS:
        with suppress(SourceError, FileNotFoundError):
            if access.local_path(str(named.parent / name)).is_file():
                beside.append(name)
    has_config = "config.json" in beside and named.name != "config.json"
    whole = local.folder_files(named.parent, Traffic(), only=(named.name, *beside))
    names = (named.name, *beside) if has_config else (named.name,)
    files = FileSet(names, whole.open, named.name, whole.size)
    weights = Weights((named.name,), "config.json" if has_config else None)
    origin = Origin(ref, "file", named.parent.name if has_config else named.stem)
    return _bundle(files, origin, weights, root=named.parent)


def _bundle(
    files: FileSet, origin: Origin, weights: Weights | None, *, root: Path | None = None
) -> Bundle:
    weights = weights or folders.choose(files)
    if weights.config:
        try:
            configs.read_config(files.open(weights.config))
        except SourceError as err:  # one of a few bytes would take its place
            raise SourceError(
                f"{err} It says how many positions the model has, so no checkpoint can be written "
                f"without it."
            ) from err
    checkpoint = open_files(files, origin, weights)
    if adapters.is_adapter(weights, checkpoint.entries):
        raise SourceError(
            f"{files.label} holds an adapter, not a whole model, so no checkpoint can be made of "
            f"it. Merge it into its base model (merge_and_unload in PEFT) and extend that, or save "
            f"the table alone: an OUT that ends in .safetensors or .npy."
        )
    if weights.weight_map is not None:
        missing = sorted(set(weights.weight_map.values()) - set(weights.files))
        if missing:
            raise SourceError(
                f"{files.label} lacks {', '.join(missing[:3])}, which its index names, so no whole "
                f"checkpoint can be written. Complete it first."
            )
    opened = {name: open_tensors(files.open(name)) for name in weights.files}
    for name, file in opened.items():
        _check(name, file)
    return Bundle(checkpoint, files, weights, opened, root)


def _check(name: str, file: TensorFile) -> None:
    """Refuse what cannot be written anew as it is."""
    if file.format not in WRITTEN or file.stored is None:
        raise SourceError(
            f"{name} is a file that posviz reads but does not write ({file.format}), so no "
            f"checkpoint can be made of it. Save the table alone: an OUT that ends in .safetensors "
            f"or .npy."
        )
    if not file.whole and (file.outline is None or file.outline() is None):
        raise SourceError(
            f"{name} is a whole object, not a dictionary of weights and settings, and only the "
            f"program that made it can write such a pickle. Save the table alone, and put it in "
            f"where that program loads {name}."
        )
