"""File formats: one reader each, chosen by what a file starts with.

Adding a format is one module with an ``open`` function, and one entry here. Modules are
imported when a file asks for them, so that opening one format does not pay for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.sources.formats import foreign
from posviz.sources.formats.tensors import (
    MAX_TENSORS,
    Entry,
    TensorFile,
    check_entries,
    damaged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.sources.readers import Reader

__all__ = ["FORMATS", "Entry", "Format", "TensorFile", "open_tensors"]

_HEAD = 64


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    label : str
        For menus and messages.
    endings : tuple of str
        Lower case, with the dot.
    sniff : function
        From the first 64 bytes and the lower-case name to whether the file is of this format.
    open : function
        From a reader to its tensors.
    """

    label: str
    endings: tuple[str, ...]
    sniff: Callable[[bytes, str], bool]
    open: Callable[[Reader], TensorFile]


def open_tensors(reader: Reader) -> TensorFile:
    """The tensors of a file, whatever its format.

    Raises
    ------
    SourceError
        The file is empty, damaged, or of a format that is named but not read.
    """
    head = reader.read_at(0, min(_HEAD, reader.size))
    name = reader.name.lower()
    foreign.refuse_pointers(reader, head)
    for known in FORMATS.values():
        if known.sniff(head, name):
            return _checked(reader, known.open(reader))
    if name.endswith(FORMATS["hdf5"].endings) and (inside := _hdf5_inside(reader)) is not None:
        return _checked(reader, _hdf5(inside))
    raise foreign.refusal(reader, head)


def _checked(reader: Reader, file: TensorFile) -> TensorFile:
    """The file, if what it lists can be told to a person and held in memory."""
    if len(file.entries) > MAX_TENSORS:
        raise damaged(reader.name, f"it lists {len(file.entries):,} tensors")
    check_entries(reader.name, file.entries)
    return file


def _safetensors(reader: Reader) -> TensorFile:
    from posviz.sources.formats.safetensors import open_safetensors

    return open_safetensors(reader)


def _pytorch_zip(reader: Reader) -> TensorFile:
    from posviz.sources.formats.pytorch import open_zip

    return open_zip(reader)


def _pytorch_legacy(reader: Reader) -> TensorFile:
    from posviz.sources.formats.pytorch import open_legacy

    return open_legacy(reader)


def _npy(reader: Reader) -> TensorFile:
    from posviz.sources.formats.arrays import open_npy

    return open_npy(reader)


def _npz(reader: Reader) -> TensorFile:
    from posviz.sources.formats.arrays import open_npz

    return open_npz(reader)


def _gguf(reader: Reader) -> TensorFile:
    from posviz.sources.formats.gguf import open_gguf

    return open_gguf(reader)


def _hdf5(reader: Reader) -> TensorFile:
    from posviz.sources.formats.hdf5 import open_hdf5, open_keras

    return open_keras(reader) if reader.name.lower().endswith(".keras") else open_hdf5(reader)


def _hdf5_inside(reader: Reader) -> Reader | None:
    from posviz.sources.formats.hdf5_headers import after_user_block

    return after_user_block(reader)


def _text(reader: Reader) -> TensorFile:
    from posviz.sources.formats.text import open_text

    return open_text(reader)


_TORCH = (".bin", ".pt", ".pth", ".ckpt")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # an archive with members, and one without

# Those with a signature first: a length that happens to be spelled "{" makes no safetensors file.
FORMATS: dict[str, Format] = {
    "pytorch-zip": Format(
        "PyTorch",
        _TORCH,
        lambda head, name: head.startswith(_ZIP) and not name.endswith((".npz", ".keras")),
        _pytorch_zip,
    ),
    "pytorch-legacy": Format(
        "PyTorch before 1.6",
        _TORCH,
        lambda head, name: head.startswith(bytes.fromhex("80028a0a6cfc9c46f920")),
        _pytorch_legacy,
    ),
    "npy": Format("NumPy array", (".npy",), lambda head, name: head.startswith(b"\x93NUMPY"), _npy),
    "npz": Format(
        "NumPy archive",
        (".npz",),
        lambda head, name: head.startswith(_ZIP) and name.endswith(".npz"),
        _npz,
    ),
    "gguf": Format("GGUF", (".gguf",), lambda head, name: head.startswith(b"GGUF"), _gguf),
    "hdf5": Format(
        "HDF5 weights",
        (".h5", ".hdf5", ".weights.h5", ".keras"),
        lambda head, name: head.startswith(
            _ZIP if name.endswith(".keras") else b"\x89HDF\r\n\x1a\n"
        ),
        _hdf5,
    ),
    "safetensors": Format(
        "safetensors",
        (".safetensors",),
        lambda head, name: head[4:9] == b"\0\0\0\0{" or name.endswith(".safetensors"),
        _safetensors,
    ),
    "text": Format(
        "Table as text",
        (".tsv", ".csv"),
        lambda head, name: name.endswith((".tsv", ".csv")),
        _text,
    ),
}
