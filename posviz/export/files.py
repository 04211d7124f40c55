"""Writing a file so that it is either whole or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from posviz.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open `path` for writing; what was there stays until the new content is complete.

    The bytes go to a hidden file beside the target, which takes the target's place at the
    end. If anything fails on the way, that file is removed and the target is untouched.

    Raises
    ------
    SettingError
        The folder does not exist, the target is a folder, or nothing can be written there.
    """
    target = Path(os.path.realpath(path))  # a symbolic link keeps pointing at the file written
    if target.is_dir():
        raise SettingError(f"{path} is a folder; give the name of the file to write.")
    if not target.parent.is_dir():
        raise SettingError(f"{path} cannot be written: the folder {path.parent} does not exist.")
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with scratch.open("xb") as file:
            yield file
        scratch.replace(target)
    except OSError as err:
        raise SettingError(
            f"{path} cannot be written: {err.strerror or err}. Give another place."
        ) from err
    finally:
        scratch.unlink(missing_ok=True)
