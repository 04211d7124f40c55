"""A whole Hub model's download, watched: how much has come, and nothing half left behind."""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from posviz.sources.snapshot import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from posviz.sources.access import Access

_EVERY = 0.25  # seconds between two looks
_HALF = ".incomplete"  # how the Hub's library ends the name of a file that is still coming
# One that no other download goes on with: the library gives each its own. Older ones shared a name.
_LEFT = re.compile(r"[0-9a-f]+\.[0-9a-f]{8}\.incomplete")
_DEAD = 86_400.0  # seconds in which a download that lives has written something
_OPEN_FILES = Path("/proc/self/fd")


class Download:
    """One download, into the cache that the Hub's own tools use.

    Parameters
    ----------
    ref : str
        As for :func:`posviz.sources.snapshot.whole`.
    access : Access
    """

    def __init__(self, ref: str, access: Access) -> None:
        self._ref, self._access = ref, access
        self._blobs: Path | None = None
        self._before: dict[Path, int] = {}

    def run(self, told: Callable[..., None]) -> Path:
        """The model's folder, once all of it is there.

        What downloads of this model left by halves that were killed long ago is removed first.

        Parameters
        ----------
        told : function (bytes, of, halves)
            Called by these names a few times a second, from a thread of its own: the bytes that
            have come and those of all that was missing, and the paths of the files that are only
            half there, which another process has to :func:`clear` should this one be killed.

        Raises
        ------
        SourceError
            As :func:`posviz.sources.snapshot.download`.
        """
        from huggingface_hub import constants

        model = whole(self._ref, self._access)
        size = model.missing
        folder = Path(constants.HF_HUB_CACHE) / f"models--{model.id.replace('/', '--')}"
        self._blobs = folder / "blobs"
        _sweep(self._blobs)
        self._before = _sizes(self._blobs)
        ended = threading.Event()

        def look() -> None:
            while True:
                now = _sizes(self._blobs)
                have = sum(now.values()) - sum(self._before.values())
                with suppress(BrokenPipeError):  # nobody listens any more
                    told(bytes=min(max(have, 0), size), of=size, halves=self._halves())
                if ended.wait(_EVERY):
                    return

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            return model.fetch()
        finally:
            ended.set()
            looking.join()

    def abandon(self) -> None:
        """Remove what has come by halves; the process must end right after."""
        clear(self._halves())

    def _halves(self) -> list[str]:
        new = _sizes(self._blobs).keys() - self._before.keys()
        return [str(path) for path in new if path.name.endswith(_HALF) and _is_ours(path)]


def clear(halves: Iterable[str]) -> None:
    """Remove files that a download left half there; its process has ended, or is about to."""
    for name in halves:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)


def _sweep(blobs: Path) -> None:
    for path in _sizes(blobs):
        with suppress(OSError):
            if _LEFT.fullmatch(path.name) and time.time() - path.stat().st_mtime > _DEAD:
                path.unlink()


def _sizes(blobs: Path | None) -> dict[Path, int]:
    found: dict[Path, int] = {}
    with suppress(OSError):  # not there yet, or moved to its final name a moment ago
        for path in sorted(blobs.iterdir()) if blobs else []:
            found[path] = path.stat().st_size
    return found


def _is_ours(path: Path) -> bool:
    """Whether this process writes that file; another one may fetch the same model beside it."""
    if not _OPEN_FILES.is_dir():
        return True
    with suppress(OSError):
        for link in _OPEN_FILES.iterdir():
            with suppress(OSError):
                if link.readlink() == path.resolve():
                    return True
    return False
