"""Text to learn from: the standard library's documentation, or a person's own file."""

from __future__ import annotations

from pathlib import Path

from posviz.errors import TrainingError

_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",  # before UTF-16, whose mark it begins with
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


def library_text() -> str:
    """The help topics of this Python, in order of their names: about 465,000 characters.

    Read from the standard library each time and never copied, so another version of Python
    gives a slightly different text.
    """
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def read_text(path: str | Path) -> str:
    """The text of a file; see :func:`decode`.

    Raises
    ------
    TrainingError
        The file cannot be read, or is not text.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as err:
        raise TrainingError(
            f"The text {path} cannot be read ({err.strerror}). Give the path of a text file."
        ) from err
    return decode(content, name=path.name)


def decode(content: bytes, *, name: str = "the text") -> str:
    """Text from bytes: by its byte-order mark if it has one, else UTF-8, whatever the locale.

    Every line end becomes one line feed, and the mark is dropped: it is no symbol of the text.
    Any other encoding is refused rather than guessed, since a wrong guess would train on garbled
    letters without a word.

    Raises
    ------
    TrainingError
        The first byte that is not UTF-8, or is zero, is named, with its offset.
    """
    mark = next((mark for mark in _BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    encoding = _BYTE_ORDER_MARKS.get(mark, "utf-8")
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as err:
        offset = err.start + len(mark)
        raise TrainingError(
            f"{name} is expected in {encoding.upper()}, and byte 0x{content[offset]:02x} at offset "
            f"{offset} is not. Save the text as UTF-8 and give it again."
        ) from err
    if (place := text.find("\0")) >= 0:
        offset = len(mark) + len(text[:place].encode(encoding))
        raise TrainingError(
            f"{name} holds a zero byte at offset {offset}, which no text does: it is another kind "
            f"of file, or UTF-16 without its byte-order mark. Save the text as UTF-8 and give it "
            f"again."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def checked_text(text: str, *, name: str, sequence_length: int) -> str:
    """The text, if it is long and varied enough to be learned from.

    Parameters
    ----------
    text : str
    name : str
        What to call it in a refusal.
    sequence_length : int
        Positions that a training sequence fills.

    Raises
    ------
    TrainingError
        Empty, of one symbol, of white space alone or too short, with the numbers.
    """
    # One window to learn from and one to measure on, each with the symbol after it.
    needed = 2 * (sequence_length + 1)
    symbols = len(set(text))
    remedy = "Give a longer text, or a shorter sequence-length."
    if not text:
        raise TrainingError(f"{name} is empty; at least {needed} characters are needed. {remedy}")
    if symbols < 2:
        raise TrainingError(
            f"{name} holds {symbols} different symbol, {text[0]!r}, in {len(text)} characters; "
            f"at least 2 are needed, since predicting a single one has loss 0 from the start. "
            f"Give another text."
        )
    if not text.strip():
        raise TrainingError(
            f"{name} holds nothing but white space ({symbols} different symbols in {len(text)} "
            f"characters). Give a text with letters."
        )
    if len(text) < needed:
        raise TrainingError(
            f"{name} has {len(text)} characters; sequences of {sequence_length} need at "
            f"least {needed}. {remedy}"
        )
    return text
