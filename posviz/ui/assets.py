"""The one file the browser needs that git does not hold: plotly.min.js, from the plotly wheel."""

from __future__ import annotations

import filecmp
import importlib.util
import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def ensure_plotly_js(project_root: Path) -> None:
    """Put the installed plotly's plotly.min.js into ``static/``, if it is missing or another one.

    A copy, since Streamlit does not serve a symlink; written beside and renamed, so that a
    browser never gets half of it. Done once a process.

    Parameters
    ----------
    project_root : Path
        The folder of app.py.

    Raises
    ------
    OSError
        The folder cannot be written; the text is one sentence for the person who started the app.
    """
    source = plotly_js()
    target = project_root / "static" / source.name
    if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
        return
    try:
        target.parent.mkdir(exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=".plotly-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(source.read_bytes())
            Path(beside).chmod(0o644)  # mkstemp gives 600, which another user's server cannot read
            Path(beside).replace(target)
        except OSError:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as err:
        raise OSError(
            f"Figures need {target}, which could not be written ({err.strerror}); make the folder "
            f"writable, or copy {source} there."
        ) from err


def plotly_js() -> Path:
    """plotly.min.js inside the installed plotly package, found without importing it."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None, "requirements.txt installs plotly"
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"
