"""Write a whole checkpoint with another position table: as a folder, or as a zip piece by piece.

The tensors go from file to file in pieces of a few megabytes, so a model of any size needs little
memory. No object is ever pickled.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.errors import SettingError, SourceError
from posviz.export.plan import Plan, plan
from posviz.export.recipe import Recipe
from posviz.sources.bundle import open_bundle

if TYPE_CHECKING:
    from posviz.interpolation import Extended
    from posviz.sources import Access
    from posviz.sources.bundle import Bundle

_ROOM = 8 << 20  # bytes that a disk must have beside the files themselves


@dataclass(frozen=True, eq=False)
class Written:
    """A checkpoint that was written.

    Parameters
    ----------
    out : Path
        Folder or zip file.
    changed, left_out : tuple of str
        As in :class:`posviz.export.plan.Plan`.
    extended : Extended
        The new table and how it was made.
    """

    out: Path
    changed: tuple[str, ...]
    left_out: tuple[str, ...]
    extended: Extended


def extend_checkpoint(
    ref: str,
    out: str | Path,
    length: int | None = None,
    *,
    parameter: str | None = None,
    access: Access | None = None,
    told: Callable[[str], None] = lambda sentence: None,
    **settings: Any,
) -> Written:
    """Write the checkpoint behind a reference with its position table at another length.

    Parameters
    ----------
    ref : str
        A folder, a file, ``demo:NAME``, ``run:NAME`` or a Hub model, which is downloaded whole.
    out : path
        A folder that does not exist or is empty, or a file that ends in ``.zip``.
    length : int or None
        The new number of positions; None with ``grid_size``.
    parameter : str or None
        Which table of several; None for the one that opens.
    access : Access or None
    told : function (sentence)
        Called before a large download.
    **settings
        ``method``, ``grid``, ``keep``, ``seed``, ``grid_size``, ``antialias``: as
        :func:`posviz.interpolation.extend`.

    Raises
    ------
    SourceError
        No whole checkpoint stands behind the reference, or not one that can be written anew.
    SettingError
        A setting that does not exist, or a place that cannot be written.
    """
    recipe, target = Recipe(length=length, **settings), Path(out)
    check_target(target)
    bundle = open_bundle(ref, access=access, told=told)
    return write(bundle, plan(bundle, recipe, parameter=parameter), target)


def write(bundle: Bundle, planned: Plan, out: Path) -> Written:
    """Write a planned checkpoint to a folder, or to a file that ends in ``.zip``.

    Raises
    ------
    SettingError
        The place is the source itself, is not empty, or cannot be written.
    """
    check_target(out, source=bundle.root)
    _check_room(out, planned.size)
    if out.suffix.lower() == ".zip":
        from posviz.export.files import atomic

        with atomic(out) as file:
            for piece in zip_pieces(planned):
                file.write(piece)
    else:
        _write_folder(planned, out)
    return Written(out, planned.changed, planned.left_out, planned.extended)


def check_target(out: Path, *, source: Path | None = None) -> None:
    """Refuse a place where a checkpoint would lose something.

    Raises
    ------
    SettingError
        The source's own folder, a folder that is not empty, a file, or a folder in one that does
        not exist.
    """
    if source is not None and out.exists() and source.exists() and source.samefile(out):
        raise SettingError(
            f"{out} is the checkpoint that is read; writing there would lose it. Give another -o."
        )
    if not out.parent.is_dir():
        raise SettingError(f"{out} cannot be written: the folder {out.parent} does not exist.")
    if out.suffix.lower() == ".zip":
        return
    if out.is_dir():
        if any(out.iterdir()):
            raise SettingError(
                f"{out} is not empty, and a checkpoint is written to a folder of its own. Give a "
                f"new folder or an empty one."
            )
    elif out.exists() or out.is_symlink():
        raise SettingError(f"{out} is a file; a checkpoint is a folder. Give another -o.")


def zip_pieces(planned: Plan, piece: int = 4 << 20) -> Iterator[bytes]:
    """The checkpoint as a zip with one folder, in pieces of about `piece` bytes.

    Stored, not compressed: weights hardly shrink, and nothing waits for it. Memory holds one
    piece; nothing is written to a disk.
    """
    sink = _Drain()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for member in planned.members:
            info = zipfile.ZipInfo(f"{planned.name}/{member.name}")  # dated 1980: the same bytes
            info.external_attr = 0o644 << 16
            info.file_size = member.size
            with archive.open(info, "w", force_zip64=member.size >= 1 << 31) as file:
                for part in member.pieces():
                    file.write(part)
                    if sink.held >= piece:
                        yield sink.take()
    yield sink.take()


class _Drain(io.RawIOBase):
    """A file that is only written, and emptied on the way."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.held = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        part = bytes(data)
        self._parts.append(part)
        self.held += len(part)
        return len(part)

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        self.held = 0
        return taken


def _check_room(out: Path, size: int) -> None:
    free = shutil.disk_usage(out.parent).free
    if free < size + _ROOM:
        raise SettingError(
            f"{out} needs {size / 1e6:,.0f} MB and its disk has {free / 1e6:,.0f} MB free. Give "
            f"another place."
        )


def _write_folder(planned: Plan, out: Path) -> None:
    """All files into a hidden folder beside the target, which takes its place when it is whole."""
    target = Path(os.path.realpath(out))
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        scratch.mkdir()
        for member in planned.members:
            path = scratch / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                for part in member.pieces():
                    file.write(part)
            if path.stat().st_size != member.size:
                raise SourceError(f"{member.name} changed while it was being read. Try again.")
        if target.is_dir():
            target.rmdir()  # it was empty; a rename onto it is refused on some systems
        scratch.rename(target)
    except OSError as err:
        full = err.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else err.strerror or err
        raise SettingError(f"{out} cannot be written: {why}. Give another place.") from err
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
