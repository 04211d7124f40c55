"""posviz: a microscope for learned position-embedding tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
