"""Text of a Hub data set, to train a small model on: the beginning of one file, and no more.

First :func:`find_corpus` says which file would be read and how much of it; :func:`read_corpus`
fetches that. Plain text, JSON lines and parquet are read; of a table, its text column.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posviz.errors import SourceError
from posviz.sources.ranges import RemoteFile
from posviz.sources.readers import Traffic
from posviz.sources.repository import Repository, listing, locate, no_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from posviz.sources.access import Access
    from posviz.sources.readers import Reader

MOST_BYTES = 4 << 20  # of text that is fetched: far more than a small model learns from
_MOST_PART = 64 << 20  # of one stored column part of a parquet file, which comes as a whole
ENDINGS = (".txt", ".jsonl", ".parquet")
_COLUMNS = ("text", "content", "sentence", "document")  # tried in this order, then the first


@dataclass(frozen=True, eq=False)
class Corpus:
    """A file of a data set that holds text.

    Parameters
    ----------
    name : str
        The data set's id on the Hub.
    path : str
        The file in it.
    size : int
        Bytes of the whole file.
    fetched : int
        Bytes that reading takes at most.
    reader : Reader
    """

    name: str
    path: str
    size: int
    fetched: int
    reader: Reader


def find_corpus(name: str, access: Access) -> Corpus:
    """The file of a data set that would be read: of the training part, plain text first.

    Parameters
    ----------
    name : str
        ``OWNER/NAME``, or ``OWNER/NAME@REVISION``.
    access : Access

    Raises
    ------
    SourceError
        No such data set, no network, or nothing readable in it.
    """
    from posviz.sources.hub import is_id

    repo, _, revision = name.strip().removeprefix("hub:").partition("@")
    if not is_id(repo):
        raise SourceError(no_id(repo, kind="dataset"))
    repository = Repository(repo, revision or "main", access, kind="dataset")
    traffic = Traffic()
    commit, files, _ = listing(repository, traffic)
    texts = [path for path in files if path.endswith(ENDINGS) and not _is_about(path)]
    if not texts:
        raise SourceError(
            f"{repo} holds no file that ends in {', '.join(ENDINGS)}. Name another data set, or "
            f"upload a text."
        )

    def rank(path: str) -> tuple[bool, int, str]:
        kind = next(i for i, ending in enumerate(ENDINGS) if path.endswith(ending))
        return "train" not in path.lower(), kind, path

    path = min(texts, key=rank)
    listed = files[path]
    reader = RemoteFile(
        path.rpartition("/")[2],
        listed.size,
        lambda: locate(repository, commit, path, listed, traffic),
        traffic,
    )
    fetched = min(listed.size, MOST_BYTES)
    if path.endswith(".parquet"):
        fetched = _open_parquet(reader, f"{path} of {repo}")[1].nbytes
    return Corpus(repo, path, listed.size, fetched, reader)


def read_corpus(corpus: Corpus) -> str:
    """The beginning of the text, at most ``MOST_BYTES`` characters.

    Raises
    ------
    SourceError
        The network fails, or the file holds no text.
    """
    if corpus.path.endswith(".parquet"):
        text = _parquet(corpus)
    else:
        content = corpus.reader.read_at(0, corpus.fetched)
        if corpus.fetched < corpus.size:  # up to the last whole line
            content = content[: content.rfind(b"\n") + 1] or content
        try:
            whole = content.decode("utf-8-sig", errors="strict")
        except UnicodeDecodeError as err:
            raise SourceError(
                f"{corpus.path} of {corpus.name} is expected in UTF-8, and byte "
                f"0x{content[err.start]:02x} at offset {err.start} is not. Name another data set."
            ) from err
        text = _json_lines(whole, corpus) if corpus.path.endswith(".jsonl") else whole
    if not text.strip():
        raise SourceError(f"{corpus.path} of {corpus.name} holds no text. Name another data set.")
    return text[:MOST_BYTES]


def _is_about(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.startswith(("readme", "license", "requirements", "dataset_info", ".", "test_"))


def _json_lines(whole: str, corpus: Corpus) -> str:
    try:
        rows = [json.loads(line) for line in whole.splitlines() if line.strip()]
    except ValueError as err:
        raise SourceError(
            f"{corpus.path} of {corpus.name} is not JSON, one value a line. Name another data set."
        ) from err
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    strings = [key for key, value in first.items() if isinstance(value, str)]
    column = _column(strings, f"{corpus.path} of {corpus.name}")
    return _joined(row.get(column) for row in rows if isinstance(row, dict))


@dataclass(frozen=True)
class _Plan:
    """What of a parquet file is read: a column, its first row groups, and the bytes they take."""

    column: str
    groups: list[int]
    nbytes: int


def _plan(file: Any, where: str) -> _Plan:
    import pyarrow as pa

    fields = list(file.schema_arrow)
    text = (pa.types.is_string, pa.types.is_large_string)
    column = _column([f.name for f in fields if any(kind(f.type) for kind in text)], where)
    place = next(
        i for i in range(file.metadata.num_columns)
        if file.metadata.schema.column(i).path == column
    )  # fmt: skip
    groups, stored, plain = [], 0, 0
    for group in range(file.metadata.num_row_groups):
        part = file.metadata.row_group(group).column(place)
        groups.append(group)
        stored += part.total_compressed_size
        plain += part.total_uncompressed_size
        if plain >= MOST_BYTES:
            break
    if stored > _MOST_PART:
        raise SourceError(
            f"The text of {where} comes in parts of {stored >> 20:,} MiB, more than is fetched "
            f"({_MOST_PART >> 20} MiB). Name another data set, or upload a text."
        )
    return _Plan(column, groups, stored)


def _open_parquet(reader: Reader, where: str) -> tuple[Any, _Plan]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(_Seekable(reader))
        return file, _plan(file, where)
    except (pa.ArrowException, OSError, ValueError) as err:
        raise SourceError(f"{where} cannot be read as parquet. Name another data set.") from err


def _parquet(corpus: Corpus) -> str:
    import pyarrow as pa

    where = f"{corpus.path} of {corpus.name}"
    file, plan = _open_parquet(corpus.reader, where)
    try:
        parts = [file.read_row_group(group, columns=[plan.column]) for group in plan.groups]
    except (pa.ArrowException, OSError, ValueError) as err:
        raise SourceError(f"{where} cannot be read as parquet. Name another data set.") from err
    return _joined(row for part in parts for row in part.column(0).to_pylist())


def _column(strings: list[str], where: str) -> str:
    """Which column of text is read, of those there are."""
    if not strings:
        raise SourceError(f"{where} has no column of text. Name another data set.")
    return next((name for name in _COLUMNS if name in strings), strings[0])


def _joined(rows: Iterable[Any]) -> str:
    return "\n".join(row.rstrip("\n") for row in rows if isinstance(row, str) and row)


class _Seekable(io.RawIOBase):
    """A reader as the file that pyarrow wants; what it asks for is fetched, and nothing more."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._at = reader, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._reader.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(self._reader.size - self._at, 0)
        length = left if size < 0 else min(size, left)
        if length > _MOST_PART:
            raise OSError(f"a part of {length:,} bytes is too large to fetch")
        data = self._reader.read_at(self._at, length) if length else b""
        self._at += len(data)
        return data
