"""Writing a run folder so that a kill at any moment leaves a readable one.

Each file is replaced as a whole by a finished copy, so a reader, and whoever comes after a kill,
finds the old file or the new one. Between two files the newer may be one snapshot ahead; readers
take the snapshots that both know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posviz.errors import TrainingError
from posviz.runfolder import CONFIG, METRICS, SNAPSHOTS, snapshot_name

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by new content in one move.

    Raises
    ------
    TrainingError
        The file system refuses, for example a full disk; the old file is as it was.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as err:
        with suppress(OSError):
            unfinished.unlink()
        raise TrainingError(
            f"{path} cannot be written ({err.strerror}). What was saved before is kept; make room "
            f"or choose another folder, and resume."
        ) from err


def json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Strict JSON, one line end at the end; NaN and infinity are refused."""
    return (json.dumps(value, indent=indent, allow_nan=False, ensure_ascii=False) + "\n").encode()


def note_end(folder: Path, sentence: str) -> None:
    """Write into a run's ``config.json`` why it ended, until it is taken up again.

    A folder that was given up or cannot be written stays as it is.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, TrainingError):
        config = json.loads((folder / CONFIG).read_bytes())
        config["posviz"]["ended"] = sentence
        write_whole(folder / CONFIG, json_bytes(config, indent=2))


class Recording:
    """The snapshots of one run and their metrics, in memory and on disk.

    Parameters
    ----------
    folder : Path
        Of the run; it must exist.
    snapshots : mapping from step to array of shape (n_positions, d_model)
        What the run has so far.
    metrics : mapping from step to the line of ``metrics.jsonl``
    header : mapping of str to str
        Written in the snapshot file's own header.
    file : str
        Name of the snapshot file.
    dtype : numpy dtype
        Stored type of the snapshots.
    """

    def __init__(
        self,
        folder: Path,
        *,
        snapshots: Mapping[int, NDArray[np.floating]] | None = None,
        metrics: Mapping[int, Mapping[str, Any]] | None = None,
        header: Mapping[str, str] | None = None,
        file: str = SNAPSHOTS,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.folder = folder
        self._snapshots = dict(snapshots or {})
        self._metrics = dict(metrics or {})
        self._header = dict(header or {})
        self._file = file
        self._dtype = dtype

    def __len__(self) -> int:
        return len(self._snapshots)

    def stamp(self) -> tuple[int, int] | None:
        """What changes when anybody writes the snapshot file; None while there is none."""
        try:
            status = (self.folder / self._file).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def thin(self) -> None:
        """Let go of every second snapshot, not of the first; on disk with the next one added."""
        for step in sorted(self._snapshots)[1::2]:
            del self._snapshots[step], self._metrics[step]

    def add(self, table: NDArray[np.floating], metrics: Mapping[str, Any]) -> None:
        """Keep a snapshot; ``metrics["step"]`` says of which step, and replaces an older one.

        Raises
        ------
        TrainingError
            The folder cannot be written.
        """
        from safetensors.numpy import save

        step = metrics["step"]
        self._snapshots[step] = table.astype(self._dtype)
        self._metrics[step] = metrics
        tensors = {snapshot_name(at): self._snapshots[at] for at in sorted(self._snapshots)}
        write_whole(self.folder / self._file, save(tensors, metadata=self._header or None))
        lines = b"".join(json_bytes(self._metrics[at]) for at in sorted(self._metrics))
        write_whole(self.folder / METRICS, lines)
