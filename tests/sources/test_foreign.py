"""What is no checkpoint, or one of another framework, is named with what to do."""

from __future__ import annotations

import io
import tarfile

import pytest

from posviz import sources
from posviz.errors import SourceError

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 548118077\n"
)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("model.ckpt.index", "model.ckpt.data-00000-of-00001"), "a TensorFlow checkpoint"),
        (("flax_model.msgpack", "config.json"), "Flax weights"),
        (("saved_model.pb",), "a TensorFlow checkpoint"),
        ((".metadata", "__0_0.distcp"), "dcp_to_torch"),
        (("_METADATA", "manifest.ocdbt"), "an Orbax checkpoint"),
        (("adapter_config.json",), "not its weights. Add adapter_model.safetensors"),
        (("model.onnx",), "an ONNX graph"),
        (("config.json", "onnx/model.onnx"), "an ONNX graph"),
        (("README.md",), "it holds README.md"),
        ((), "it holds nothing"),
    ],
)
def test_l18_folders_of_other_frameworks_are_named(tmp_path, files, words):
    folder = tmp_path / "other"
    folder.mkdir()
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"{}")
    with pytest.raises(SourceError) as caught:
        sources.open(str(folder))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m.onnx", "is an ONNX graph"), ("m.msgpack", "Flax weights"), ("m.tflite", "compiled"),
        ("m.ckpt.index", "TensorFlow"), ("m.tar", "archive"), ("m.gz", "archive"),
        ("__0_0.distcp", "dcp_to_torch"), ("m.unknown", "not a checkpoint that is read here"),
    ],
)  # fmt: skip
def test_l18_files_of_other_frameworks_are_named(refused, name, words):
    assert words in refused(name, b"\x08\x07\x12\x00junk\xff\xfe")


def archive(mode):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as whole:
        whole.addfile(tarfile.TarInfo("model.safetensors"), io.BytesIO())
    return stream.getvalue()


@pytest.mark.parametrize(
    ("mode", "words"),
    [("w", "is an archive"), ("w:gz", "gzip"), ("w:bz2", "bzip2"), ("w:xz", "xz")],
)
def test_packed_files_are_told_whatever_their_name(refused, mode, words):
    assert words in refused("pytorch_model.bin", archive(mode))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_l05_git_lfs_pointer_is_named(refused, name):
    assert refused(name, POINTER) == (
        f"{name} is a Git LFS pointer: the weights of 548,118,077 bytes were not fetched when the "
        f"folder was cloned. Run `git lfs pull` in it."
    )


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><html>", b"\n<HTML lang=en>", b"\xef\xbb\xbf<html>"]
)
def test_l05_web_page_is_named(refused, page):
    assert refused("model.safetensors", page) == (
        "model.safetensors is a web page, not a checkpoint: the download was answered with a page. "
        "Use the file's direct link, or name the model as hub:OWNER/NAME."
    )


def test_a_config_is_no_checkpoint(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    for path in (tmp_path, tmp_path / "config.json"):
        with pytest.raises(SourceError, match=r"config\.json says how a model is set up"):
            sources.open(str(path))


def test_text_files_are_no_checkpoints(refused):
    assert "is a text file" in refused("notes.md", b"# Notes\n")
