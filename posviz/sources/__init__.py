"""Where tables come from: files, folders, uploads, the Hub, shipped demos, formulas.

One reference opens each (docs/using.md); :func:`open` gives the checkpoint with everything
that was found in it, :func:`load` only its table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import local
from posviz.sources.access import Access
from posviz.sources.checkpoint import Candidate, Checkpoint
from posviz.sources.formats import FORMATS, Entry, Format
from posviz.sources.formats.tensors import brief
from posviz.sources.local import open_upload
from posviz.sources.presets import PRESETS, Preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.table import PositionTable

__all__ = [
    "FORMATS",
    "PRESETS",
    "SOURCES",
    "Access",
    "Candidate",
    "Checkpoint",
    "Entry",
    "Format",
    "Preset",
    "Source",
    "load",
    "open",
    "open_upload",
    "plain",
]


@dataclass(frozen=True)
class Source:
    """One kind of reference.

    Parameters
    ----------
    label : str
        For menus.
    example : str
        A reference of this kind.
    open : function
        From the reference and the visitor's access to the checkpoint.
    """

    label: str
    example: str
    open: Callable[[str, Access], Checkpoint]


# Each source is imported when a reference asks for it: opening a file need not wait for them.
def _demo(ref: str, access: Access) -> Checkpoint:
    from posviz.sources.demos import open_demo

    return open_demo(ref, access)


def _hub(ref: str, access: Access) -> Checkpoint:
    from posviz.sources.hub import open_hub

    return open_hub(ref, access)


def _run(ref: str, access: Access) -> Checkpoint:
    from posviz.sources.runs import open_run

    return open_run(ref, access)


def _sinusoidal(ref: str, access: Access) -> Checkpoint:
    from posviz.sources.generated import open_sinusoidal

    return open_sinusoidal(ref, access)


def _random(ref: str, access: Access) -> Checkpoint:
    from posviz.sources.generated import open_random

    return open_random(ref, access)


# A model's page, or that of a branch or file of it.
_PAGE = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com)/([\w.-]+(?:/[\w.-]+)?)"
    r"(?:/(?:tree|blob|resolve|raw)/([\w.-]+)(?:/[^?#]*)?)?/?(?:[?#].*)?",
    re.ASCII,
)

SOURCES: dict[str, Source] = {
    "demo": Source("Shipped demo model", "demo:gpt-mini", _demo),
    "hub": Source("Hugging Face Hub model", "hub:openai-community/gpt2", _hub),
    "run": Source("Training run", "run:sticky-mlm-1", _run),
    "sinusoidal": Source("Sinusoidal table", "sinusoidal:1024x768", _sinusoidal),
    "random": Source("Random table", "random:1024x768:0", _random),
}
"""Kinds of reference by prefix; whatever has none of these prefixes is a preset or a path."""


def open(ref: str, *, access: Access | None = None) -> Checkpoint:  # noqa: A001
    """The checkpoint that a reference names, its position tables found.

    Parameters
    ----------
    ref : str
        A path, a preset such as ``gpt2``, or a prefix of SOURCES with what follows it.
    access : Access or None
        What may be opened; None for the defaults.

    Raises
    ------
    SourceError
        The reference means nothing, or what it names cannot be read.
    """
    access = access or Access()
    ref = plain(ref)
    if not ref or "\x00" in ref:
        raise SourceError("Name a table: a path, a preset such as gpt2, or hub:OWNER/NAME.")
    if ref in PRESETS:
        return SOURCES["hub"].open(ref, access)
    prefix, colon, _ = ref.partition(":")
    if colon and prefix in SOURCES:
        return SOURCES[prefix].open(ref, access)
    try:
        return local.open_path(ref, access)
    except FileNotFoundError as err:
        if access.absolute(ref).is_symlink():
            said = (
                f"{brief(ref)} is a link, and the file it leads to is not there. Fetch that first."
            )
            raise SourceError(said) from err
        raise SourceError(_unknown(ref)) from err


def load(ref: str, *, parameter: str | None = None, access: Access | None = None) -> PositionTable:
    """The position table that a reference names.

    Parameters
    ----------
    ref : str
        As in :func:`open`.
    parameter : str or None
        Which table of several, or any tensor with two axes; None for the best.
    access : Access or None

    Raises
    ------
    SourceError
        The reference cannot be opened, or the parameter is not in it.
    NoTableError
        It opened, but holds no position table.
    TableError
        The stored numbers are not finite.
    """
    with open(ref, access=access) as checkpoint:
        return checkpoint.table(parameter)


def plain(ref: str) -> str:
    """A reference as it is written here: the address of a model's page names the model."""
    ref = ref.strip()
    prefix, colon, rest = ref.partition(":")
    if colon and prefix.lower() in SOURCES:
        prefix, ref = prefix.lower(), f"{prefix.lower()}:{rest.strip()}"
    page = _PAGE.fullmatch(rest if prefix == "hub" else ref)
    if page is None:
        return ref
    return f"hub:{page[1]}@{page[2]}" if page[2] else f"hub:{page[1]}"


def _unknown(ref: str) -> str:
    import difflib  # where it is used: every command would wait for it

    if re.match(r"https?://", ref):
        return (
            f"{brief(ref)} is an address, and only models of the Hub are fetched: name one as "
            f"hub:OWNER/NAME. Download any other file and open it from disk."
        )
    known = {name.lower(): name for name in (*PRESETS, *(s.example for s in SOURCES.values()))}
    close = difflib.get_close_matches(ref.lower(), known, n=1)
    hint = f" Did you mean {known[close[0]]}?" if close else ""
    if ref.count("/") == 1 and re.fullmatch(r"[\w.-]+/[\w.-]+", ref) and ref[0] not in "./~":
        hint = f" A Hub model of that name opens as hub:{brief(ref)}."
    return (
        f"{brief(ref)} is no file or folder here, no preset and no other reference.{hint} "
        f"The menu of models and the command posviz presets list the presets."
    )
