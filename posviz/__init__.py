"""posviz: a microscope for learned position-embedding tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# One thread for linear algebra, unless somebody chose otherwise. OpenBLAS threads spin while they
# wait, and a browser, the server or another visitor always shares the cores: with two threads on
# two busy cores, analysing a table took four to ten times as long as with one. Read when numpy is
# first imported, which nothing above does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# huggingface_hub tells the Hub which programs are installed and which tool started this one, for
# which it first asks the Hub for a list, and waits up to three seconds. Read when it is imported.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from posviz.table import PositionTable

__version__ = "0.1.0"
__all__ = ["__version__", "load", "record"]


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


def record(
    model: Any,
    step: int,
    *,
    loss: Any = None,
    run: str | None = None,
    parameter: str | None = None,
    every: int | None = None,
) -> str | None:
    """Keep the position table of a model in training: one line in any PyTorch loop.

    The run plays as a film on the Training page, while the script still trains, and opens
    everywhere as ``run:NAME``. Calls at steps without a snapshot cost about a microsecond. Only
    the first process of a parallel training records.

    Parameters
    ----------
    model : torch.nn.Module, or mapping of names to tensors
        Compiled and wrapped models too. The table is found as in a checkpoint.
    step : int
        Steps taken so far, over all epochs.
    loss : number or tensor of one number, optional
        Looked at only when a snapshot is kept; one that is not finite is kept as missing.
    run : str, optional
        Name of the run; the script's own name and a number if absent. A run that is there
        already goes on if it was recorded and began at an earlier step; else a number is added
        to the name. Nothing is overwritten but what is trained again.
    parameter : str, optional
        Name of the tensor to keep, where the table is not found or is another one.
    every : int, optional
        Steps between snapshots; every 10 at first and later every 7 % if absent.

    Returns
    -------
    str or None
        ``run:NAME@STEP`` where a snapshot was kept.

    Raises
    ------
    SourceError
        At the first call: no table is found. The sentence lists what could be named.
    SettingError, TrainingError
        At the first call: a name, step or folder that cannot be used. What goes wrong later is
        a warning, and the training goes on.
    """
    from posviz import recorder

    return recorder.record(model, step, loss=loss, run=run, parameter=parameter, every=every)
