"""Texts as people have them: other encodings, marks, nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from posviz.errors import TrainingError
from posviz.training.config import default_config
from posviz.training.tasks import TASKS
from posviz.training.text import decode, library_text, read_text


@pytest.mark.parametrize("text", ["naïve 🙂 text", "e\u0301 is two symbols", "日本語"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_whatever_the_locale(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_line_ends_of_every_system_are_one_symbol() -> None:
    assert decode(b"a\r\nb\rc\nd") == "a\nb\nc\nd"


@pytest.mark.parametrize(("mark", "offset"), [(b"", 2), (b"\xef\xbb\xbf", 5)])
def test_another_encoding_is_refused_with_byte_and_offset(mark: bytes, offset: int) -> None:
    with pytest.raises(TrainingError) as refused:
        decode(mark + b"it\x92s", name="note.txt")
    assert str(refused.value) == (
        f"note.txt is expected in UTF-8, and byte 0x92 at offset {offset} is not. "
        f"Save the text as UTF-8 and give it again."
    )


def test_a_cut_utf16_file_is_refused_too() -> None:
    with pytest.raises(TrainingError, match="expected in UTF-16-LE"):
        decode(b"\xff\xfea\x00b")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"absent\.txt cannot be read \(No such file"):
        read_text(tmp_path / "absent.txt")


def test_the_library_text_is_long_and_plain() -> None:
    text = library_text()
    assert len(text) > 300_000
    assert set("abcdefghijklmnopqrstuvwxyz \n") < set(text)


@pytest.mark.parametrize("task", [key for key, task in TASKS.items() if task.reads_text])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "",
            "The text {path} is empty; at least 18 characters are needed. "
            "Give a longer text, or a shorter sequence-length.",
        ),
        (
            "aaaaaaaaaaaaaaaaaaaaaaaaa",
            "The text {path} holds 1 different symbol, 'a', in 25 characters; at least 2 are "
            "needed, since predicting a single one has loss 0 from the start. Give another text.",
        ),
        (
            "\n  \n" * 10,
            "The text {path} holds nothing but white space (2 different symbols in 40 "
            "characters). Give a text with letters.",
        ),
        (
            "too short a text!",
            "The text {path} has 17 characters; sequences of 8 need at least 18. "
            "Give a longer text, or a shorter sequence-length.",
        ),
    ],
)
def test_a_text_that_teaches_nothing_is_refused(
    task: str, content: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_text(content)
    config = default_config(task, text=str(path), n_positions=8)
    with pytest.raises(TrainingError) as refused:
        TASKS[task].prepare(config)
    assert str(refused.value) == sentence.format(path=path)


def test_the_shortest_text_allowed_makes_batches(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "text.txt"
    path.write_text("abcdefghijklmnopqr")  # 18 = 2 * (8 + 1)
    data = TASKS["char-lm"].prepare(default_config("char-lm", text=str(path), n_positions=8))
    for held_out in (False, True):
        batch = data.sample(3, torch.Generator().manual_seed(0), held_out)
        assert batch.targets.shape == (3, 8)


@pytest.mark.parametrize(
    ("content", "offset"),
    [
        ("two words".encode("utf-16-le"), 1),
        ("two words".encode("utf-16-be"), 0),
        (b"\x00\x01" * 9, 0),
        ("é words\0".encode(), 8),
        (b"\xef\xbb\xbfwords\0", 8),
    ],
)
def test_utf_16_without_its_mark_and_binaries_are_refused_not_garbled(
    content: bytes, offset: int
) -> None:
    with pytest.raises(TrainingError) as refused:
        decode(content, name="odd.txt")
    assert str(refused.value) == (
        f"odd.txt holds a zero byte at offset {offset}, which no text does: it is another kind of "
        f"file, or UTF-16 without its byte-order mark. Save the text as UTF-8 and give it again."
    )
