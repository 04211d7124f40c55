"""posviz: a microscope for learned position-embedding tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

# One thread for linear algebra, unless somebody chose otherwise. OpenBLAS threads spin while they
# wait, and a browser, the server or another visitor always shares the cores: with two threads on
# two busy cores, analysing a table took four to ten times as long as with one. Read when numpy is
# first imported, which nothing above does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from posviz.table import PositionTable

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(ref: str, *, parameter: str | None = None) -> PositionTable:
    """The position table that a reference names.

    Parameters
    ----------
    ref : str
        A path, a preset such as ``gpt2``, ``hub:OWNER/NAME``, ``demo:gpt-mini``,
        ``sinusoidal:LxD`` or ``random:LxD:SEED`` (docs/using.md).
    parameter : str or None
        Which table of several, or any tensor with two axes; None for the best.

    Raises
    ------
    SourceError
        The reference cannot be opened, or the parameter is not in it.
    NoTableError
        It opened, but holds no position table.
    TableError
        The stored numbers are not finite.
    """
    from posviz import sources

    return sources.load(ref, parameter=parameter)
