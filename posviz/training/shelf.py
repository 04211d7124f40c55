"""The shelf of runs: names for new ones, renaming, deleting, taking one home as a zip."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from posviz.errors import TrainingError
from posviz.runfolder import (
    CONFIG,
    JOB,
    METRICS,
    MODEL,
    NAME,
    OWNER,
    SNAPSHOTS,
    TEXT,
    VOCABULARY,
    runs_folder,
)
from posviz.training.recording import json_bytes, write_whole

if TYPE_CHECKING:
    from posviz.training.runs import Run

_PREPARED = {JOB, OWNER, TEXT}  # what a folder holds before its run begins
_EXPORTED = (CONFIG, VOCABULARY, METRICS, SNAPSHOTS, MODEL)


def new_run_folder(stem: str, *, first: int = 1) -> Path:
    """Make an empty folder for a run, ``stem-1`` or the first number from ``first`` that is free.

    Raises
    ------
    TrainingError
        The name cannot be used, or the runs folder cannot be written.
    """
    for number in count(first):
        folder = runs_folder() / checked_name(f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as err:
            raise _refused(folder, err) from err
        return folder
    raise AssertionError("count() has no end")


def discard_empty(folder: Path) -> None:
    """Remove the folder of a run that ended before it wrote anything; what holds more stays."""
    with suppress(OSError):
        held = {path.name for path in folder.iterdir()}
        if held <= _PREPARED:
            for name in held:
                (folder / name).unlink()
            folder.rmdir()


def discard_unbegun() -> None:
    """Remove what runs left that waited in the queue of a server which was killed.

    To be called before a server has a queue of its own.
    """
    with suppress(OSError):
        for marked in runs_folder().glob(f"*/{JOB}"):
            discard_empty(marked.parent)


def rename_run(run: Run, name: str) -> None:
    """Give a run of the runs folder another name; a text of its own is found there again.

    Raises
    ------
    TrainingError
        The name cannot be used or is taken, or the run is not in the runs folder.
    """
    folder = runs_folder() / checked_name(name)
    _inside(run)
    if not run.folder.is_dir():
        raise TrainingError(f"The run {run.name} is gone: it was deleted or renamed meanwhile.")
    if folder.exists():
        raise TrainingError(f"There is a run {name} already. Choose another name.")
    try:
        run.folder.rename(folder)
    except OSError as err:
        raise _refused(folder, err) from err
    own = run.settings.get("text")
    if own is not None and Path(own).parent == run.folder:
        config = json.loads((folder / CONFIG).read_bytes())
        config["posviz"]["training"]["text"] = str(folder / Path(own).name)
        write_whole(folder / CONFIG, json_bytes(config, indent=2))


def delete_run(run: Run) -> None:
    """Remove a run of the runs folder and all its files; one that is gone already is no error.

    Raises
    ------
    TrainingError
        The run is not in the runs folder, or the system refuses.
    """
    _inside(run)
    try:
        shutil.rmtree(run.folder)
    except FileNotFoundError:
        pass
    except OSError as err:
        raise _refused(run.folder, err) from err


def zip_run(run: Run) -> bytes:
    """A zip with the run as one folder: model, snapshots, metrics and settings.

    What only a resume needs, and whatever else lies in the folder, stays behind.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _EXPORTED:
            with suppress(FileNotFoundError):  # not every run has each, and a run may be deleted
                content = (run.folder / name).read_bytes()  # whole: a live run replaces its files
                archive.writestr(f"{run.folder.name}/{name}", content)
    return packed.getvalue()


def checked_name(name: str) -> str:
    """The name, if a run can have it.

    Raises
    ------
    TrainingError
        A file system, an address or ``run:NAME@STEP`` would not take it.
    """
    if not NAME.fullmatch(name):
        raise TrainingError(
            f"A run's name has up to 64 letters, digits, dots, hyphens and underscores and begins "
            f"with a letter or digit; {name!r} does not fit. Choose another name."
        )
    return name


def _inside(run: Run) -> None:
    # Only what lies in the runs folder is ours to move or remove.
    if run.folder.resolve().parent != runs_folder().resolve():
        raise TrainingError(
            f"{run.folder} does not lie in the runs folder {runs_folder()}, so it is left alone. "
            f"Move or delete it by hand."
        )


def _refused(folder: Path, err: OSError) -> TrainingError:
    return TrainingError(
        f"{folder} cannot be changed ({err.strerror}). Check the rights of the runs folder, or "
        f"set POSVIZ_RUNS to another one."
    )
