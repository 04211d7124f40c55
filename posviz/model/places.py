"""Where the files of a model lie on this machine, for each kind of reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.errors import ModelError
from posviz.runfolder import MODEL, SNAPSHOTS, VOCABULARY, runs_folder, snapshot_name
from posviz.sources import PRESETS, Access, plain
from posviz.sources.access import safe_join
from posviz.sources.demos import DEMOS, names
from posviz.sources.runs import lender_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def folder_of(ref: str, access: Access | None = None) -> Path:
    """The folder of a whole model.

    Raises
    ------
    ModelError
        Only a table is there, or the model is elsewhere; the sentence says what to open instead.
    SourceError
        The path may not be opened.
    """
    access, ref = access or Access(), plain(ref)
    prefix, _, name = ref.partition(":")
    if prefix == "demo" and name in names():
        return DEMOS / name
    if prefix == "run":
        return _run(name, access)
    if prefix in ("sinusoidal", "random"):
        raise ModelError(f"{ref} is a table by itself, without a model to read with. {_INSTEAD}")
    if prefix == "upload":
        raise ModelError(
            f"{ref} was uploaded and is not a model on this machine. Open the model's folder, or "
            f"its name on the Hub."
        )
    if on_the_hub(ref):
        return _cached(ref, access)
    try:
        path = access.local_path(ref)
    except FileNotFoundError as err:
        raise ModelError(f"{ref} is no folder of a model. {_INSTEAD}") from err
    folder = path if path.is_dir() else access.absolute(ref).parent
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"{path.name} has no config.json beside it, so it is a table or bare weights and no "
            f"whole model. {_INSTEAD}"
        )
    safe_join(folder, "config.json")
    return folder


def on_the_hub(ref: str) -> bool:
    """Whether a reference names a Hub model: then the whole of it can be downloaded."""
    return ref.partition(":")[0] == "hub" or ref in PRESETS


def is_ours(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether this project trained the model: then it runs without transformers, and at once."""
    own = config.get("posviz")
    return isinstance(own, dict) and "training" in own and (folder / VOCABULARY).is_file()


def read_json(path: Path) -> dict[str, Any]:
    """A settings file of a model folder.

    Raises
    ------
    ModelError
        It is not there or is no table of names and values.
    """
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as err:
        raise ModelError(
            f"{path.parent.name} has no readable {path.name}, and a model cannot be built without "
            f"one. Open the folder of a whole model."
        ) from err
    if not isinstance(content, dict):
        raise ModelError(
            f"{path.name} of {path.parent.name} is expected to be a table of names and values. "
            f"Open the folder of a whole model."
        )
    return content


def _cached(ref: str, access: Access) -> Path:
    from posviz.sources.hub import on_this_machine

    found = on_this_machine(ref, access)
    if found is None:
        raise ModelError(
            f"Of {ref} only the table has been read; to run the model, all its weights have to be "
            f"on this machine. Download it first, or open the folder it lies in."
        )
    return found


def _run(name: str, access: Access) -> Path:
    if lender := lender_of(f"run:{name}"):
        return folder_of(lender, access)
    name, at, step = name.partition("@")
    home = runs_folder()
    folder = home / name
    plain = bool(name) and not name.startswith(".") and not set(name) & set("/\\\x00")
    if not plain or not (folder / SNAPSHOTS).is_file():
        raise ModelError(f"There is no run called {name or '(nothing)'} here. {_INSTEAD}")
    if not (folder / MODEL).is_file():
        raise ModelError(
            f"run:{name} holds tables and no model: it was recorded from somebody's own script. "
            f"{_INSTEAD}"
        )
    if at and snapshot_name(int(step) if step.isdecimal() else -1) != _steps(folder)[-1]:
        raise ModelError(
            f"run:{name} keeps the whole model of its last step only; step {step} has a table and "
            f"nothing to read with. Open run:{name}."
        )
    return folder


def _steps(folder: Path) -> Sequence[str]:
    from safetensors import safe_open

    with safe_open(folder / SNAPSHOTS, framework="np") as file:
        return sorted(file.keys(), key=lambda step: int(step.rpartition("-")[2]))


_INSTEAD = "Open demo:gpt-mini, a training run, or the folder of a whole model."
