"""Files that are not read, each with the sentence that says what it is and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posviz.errors import SourceError

if TYPE_CHECKING:
    from posviz.sources.readers import Reader

_LFS = b"version https://git-lfs"
# A protocol mark and what can follow it, or the classes that text pickles begin with.
_PICKLE = re.compile(rb"\x80[\x00-\x05][\x80-\x95().}\]cNKXqI]|c[\w.]+\n[\w.]+\n|\(?[dl]p\d+\n")

_KNOWN = (  # what the file starts with, endings, the sentence
    (b"\x00\x00\x00\x00\x00\x00\x00\x00", (".index",),
     "is the index of a TensorFlow checkpoint, which only TensorFlow reads. Convert the model "
     "with transformers before version 5: from_pretrained(FOLDER, from_tf=True), then "
     "save_pretrained."),
    (None, (".index", ".meta", ".data-00000-of-00001", ".pb"),
     "belongs to a TensorFlow checkpoint, which only TensorFlow reads. Save its weights as "
     "safetensors or .npz."),
    (None, (".msgpack",),
     "holds Flax weights as msgpack, which are not read. Save the model as safetensors, or the "
     "position table alone as .npy."),
    (None, (".onnx",),
     "is an ONNX graph, which is not read: it may keep its weights in other files. Open the "
     "checkpoint it was exported from."),
    (None, (".distcp",),
     "is a piece of a distributed PyTorch checkpoint. Put the pieces together with python -m "
     "torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE.pt and open that."),
    (None, (".tflite", ".mlmodel", ".mlpackage", ".engine", ".plan"),
     "is a compiled model, which is not read. Open the checkpoint it was made from."),
    (None, (".tar", ".gz", ".tgz", ".zip", ".7z", ".xz", ".zst", ".bz2"),
     "is an archive. Unpack it and open the checkpoint inside."),
    (b"\x1f\x8b", (), "is compressed with gzip. Unpack it first."),
    (b"BZh", (), "is compressed with bzip2. Unpack it first."),
    (b"\xfd7zXZ\x00", (), "is compressed with xz. Unpack it first."),
    (b"\x28\xb5\x2f\xfd", (), "is compressed with Zstandard. Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", (), "is an archive. Unpack it and open the checkpoint inside."),
    (b"Rar!", (), "is an archive. Unpack it and open the checkpoint inside."),
    (b"lmgg", (), "is an old ggml file, from before GGUF. Open the model it was made from."),
    (b"%PDF", (), "is a PDF document, not a checkpoint."),
    (b"\x89PNG", (), "is a picture, not a checkpoint."),
)  # fmt: skip


def refuse_pointers(reader: Reader, head: bytes) -> None:
    """Refuse what stands in a checkpoint's place: nothing, a Git LFS pointer, a web page.

    Raises
    ------
    SourceError
        The file is one of these.
    """
    if reader.size == 0:
        raise SourceError(f"{reader.name} is empty (0 bytes). Download or save it again.")
    if head.startswith(_LFS):
        text = reader.read_at(0, min(reader.size, 512)).decode("latin-1")
        found = re.search(r"^size (\d{1,18})$", text, re.MULTILINE)
        real = f" of {int(found[1]):,} bytes" if found else ""
        raise SourceError(
            f"{reader.name} is a Git LFS pointer: the weights{real} were not fetched when the "
            f"folder was cloned. Run `git lfs pull` in it."
        )
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        raise SourceError(
            f"{reader.name} is a web page, not a checkpoint: the download was answered with a "
            f"page. Use the file's direct link, or name the model as hub:OWNER/NAME."
        )


def refusal(reader: Reader, head: bytes) -> SourceError:
    """The sentence for a file that no format reader takes."""
    name = reader.name.lower()
    for magic, endings, sentence in _KNOWN:
        by_name = bool(endings) and name.endswith(endings)
        by_head = magic is not None and head.startswith(magic)
        if (by_name or not endings) and (by_head or magic is None):
            return SourceError(f"{reader.name} {sentence}")
    if reader.size >= 512 and reader.read_at(257, 5) == b"ustar":
        return SourceError(
            f"{reader.name} is an archive. Unpack it and open the checkpoint inside."
        )
    if _PICKLE.match(head) or (b"\n" in head and name.endswith((".pkl", ".pickle"))):
        return SourceError(
            f"{reader.name} is a bare Python pickle, a program that builds objects when it is "
            f"loaded, and such files are never run here. Save the weights with torch.save, or as "
            f"safetensors or .npy."
        )
    if name.endswith(".json"):
        return SourceError(
            f"{reader.name} says how a model is set up and holds no numbers of its own. Open the "
            f"folder it lies in, or the weights beside it."
        )
    if re.search(r"\.(?:bytes|raw|dat|f32)$", name) and reader.size % 4 == 0:
        return SourceError(
            f"{reader.name} looks like bare numbers ({reader.size // 4:,} if they are float32), "
            f"and nothing says how long a row is. Save the array as .npy, which keeps its shape."
        )
    if re.fullmatch(rb"[\s\x20-\x7e]+", head):
        return SourceError(
            f"{reader.name} is a text file, not a checkpoint. Tables of numbers open as .tsv or "
            f".csv."
        )
    return SourceError(
        f"{reader.name} is not a checkpoint that is read here. Read are safetensors, PyTorch "
        f"(.bin, .pt, .pth, .ckpt), .npy, .npz, GGUF, HDF5 weights, and tables as .tsv or .csv."
    )
