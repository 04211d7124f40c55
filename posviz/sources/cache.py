"""What was read of public Hub models, kept by commit: small, bounded, safe to delete.

Only the ranges that were asked for are kept (a header, a table), so opening the same model
again costs the one request that asks for its commit, and offline none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LIMIT = 512 << 20


@dataclass(frozen=True)
class RangeCache:
    """Byte ranges of one file of one repository at one commit."""

    folder: Path
    key: str

    def get(self, start: int, length: int) -> bytes | None:
        """A range that was read before, or None."""
        try:
            data = self._path(start, length).read_bytes()
        except OSError:
            return None
        return data if len(data) == length else None

    def put(self, start: int, data: bytes) -> None:
        """Keep a range; a folder that cannot be written is no error."""
        write(self._path(start, len(data)), data)
        prune(self.folder)

    def _path(self, start: int, length: int) -> Path:
        return self.folder / f"{_digest(self.key, str(start), str(length))}.range"


def get_listing(folder: Path, *key: str) -> dict[str, object] | None:
    """What a repository listed when it was last asked, or None."""
    try:
        listing = json.loads((folder / f"{_digest(*key)}.json").read_bytes())
    except (OSError, ValueError):
        return None
    return listing if isinstance(listing, dict) else None


def put_listing(folder: Path, listing: dict[str, object], *key: str) -> None:
    """Keep what a repository lists under a revision."""
    write(folder / f"{_digest(*key)}.json", json.dumps(listing).encode())


def write(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


def prune(folder: Path, limit: int = _LIMIT) -> None:
    """Delete the oldest files until the folder is within its limit."""
    with suppress(OSError):
        found = sorted(
            (status.st_mtime, status.st_size, path)
            for path in folder.iterdir()
            if path.is_file() and (status := path.stat())
        )
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= limit:
                break
            path.unlink(missing_ok=True)
            total -= size


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]
