"""What this visitor may open: local paths, a folder of them, the Hub, with whose token."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posviz.errors import SourceError
from posviz.sources.formats.tensors import brief, excerpt


@dataclass(frozen=True)
class Access:
    """The rights of one visitor; the defaults are those of a person at their own machine.

    Parameters
    ----------
    token : str or bool
        A Hub token the visitor gave; False sends none, not even the one saved on this
        machine; True sends that one, for an operator who opts in.
    offline : bool or None
        Never ask the network; None follows ``HF_HUB_OFFLINE``.
    local_paths : bool
        Whether paths of this machine may be opened, its Hub cache included.
    local_root : Path or None
        The folder that opened paths must lie in, once links are followed.
    endpoint : str or None
        A mirror of the Hub; None follows ``HF_ENDPOINT``.
    cache : Path or None
        Folder for the byte ranges of public Hub models; None follows ``POSVIZ_CACHE``, else
        the user's cache folder.
    """

    token: str | bool = False
    offline: bool | None = None
    local_paths: bool = True
    local_root: Path | None = None
    endpoint: str | None = None
    cache: Path | None = None

    def local_path(self, text: str) -> Path:
        """The real path that a reference names, if this visitor may open it.

        Raises
        ------
        SourceError
            Local paths are switched off, the path leaves the allowed folder, or nothing is
            there.
        """
        if not self.local_paths:
            raise SourceError(
                f"{brief(text)}: paths of this server cannot be opened here. Upload the file, or "
                f"name a Hub model as hub:OWNER/NAME."
            )
        root = self.local_root.resolve() if self.local_root is not None else None
        try:
            path, fault = _real(self.absolute(text))
        except (ValueError, RuntimeError) as err:
            raise SourceError(f"{excerpt(text)} is not a path of this machine.") from err
        if root is not None and not path.is_relative_to(root):
            raise SourceError(
                f"{brief(text)} lies outside {root}, the folder that may be opened here."
            )
        if isinstance(fault, PermissionError):
            raise SourceError(f"{brief(text)} could not be opened: {fault.strerror}.") from fault
        if fault is not None and fault.errno == errno.ENAMETOOLONG:
            raise SourceError(f"{excerpt(text)} is not a path of this machine.") from fault
        if fault is not None and fault.errno == errno.ELOOP:
            raise SourceError(
                f"{brief(text)} is a link that leads back to itself, with no file behind it. Put "
                f"the file there, or name it where it is."
            ) from fault
        if fault is not None:
            raise FileNotFoundError(text)
        return path

    def absolute(self, text: str) -> Path:
        """The path as it was named, its links not followed; relative ones start at the root."""
        path = Path(text).expanduser()
        if path.is_absolute():
            return path
        return (Path.cwd() if self.local_root is None else self.local_root.resolve()) / path

    def cache_folder(self) -> Path:
        """Where byte ranges of public Hub models are kept."""
        if self.cache is not None:
            return self.cache
        if named := os.environ.get("POSVIZ_CACHE"):
            return Path(named).expanduser()
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(base) / "posviz"


def _real(path: Path) -> tuple[Path, OSError | None]:
    """A path with its links followed, and why nothing can be opened there, if so."""
    try:
        # Strict: beyond a link to itself, links would be left as they are, wherever they lead.
        return Path(os.path.realpath(path, strict=True)), None  # faster than Path.resolve
    except OSError as err:
        return Path(os.path.realpath(path)), err


def packed_access(access: Access) -> dict[str, Any]:
    """An :class:`Access` as plain values, for the way to another process."""
    paths = {name: value and str(value) for name, value in vars(access).items()}
    return vars(access) | {name: paths[name] for name in ("local_root", "cache")}


def access_of(values: dict[str, Any]) -> Access:
    """The inverse of :func:`packed_access`."""
    paths = {n: Path(values[n]) if values[n] else None for n in ("local_root", "cache")}
    return Access(**{**values, **paths})


def safe_join(folder: Path, name: str) -> Path:
    """The real path of a file inside a folder, its links followed.

    Raises
    ------
    SourceError
        The name, or the link behind it, leaves the folder. A snapshot of the Hub's own cache
        is the exception: its files are links into the ``blobs`` beside it.
    """
    # As text: building path objects costs more than the look at the disk.
    real = os.path.realpath(f"{folder}/{name}")
    path = Path(real)
    if real.startswith(f"{folder}/"):  # then the folder's own path has no link in it
        return path
    folder = folder.resolve()
    if path.is_relative_to(folder):
        return path
    snapshot = next((p for p in (folder, *folder.parents) if p.parent.name == "snapshots"), None)
    if snapshot is not None and path.is_relative_to(snapshot.parents[1] / "blobs"):
        return path
    raise SourceError(
        f"{name} is a link that leaves its folder, so it is not read. Copy the file there instead."
    )
