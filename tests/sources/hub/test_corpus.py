"""Text of Hub data sets: which file, how much of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posviz.errors import SourceError
from posviz.sources import corpus
from posviz.sources.corpus import find_corpus, read_corpus

LINES = [f"line {number}: the quick brown fox" for number in range(400)]


@pytest.fixture
def dataset(fake_hub, tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    folder.mkdir()
    fake_hub.repos["someone/words"] = folder
    return folder


def write_parquet(path: Path, **columns: list[object]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path, row_group_size=50)


def read(fake_hub, tmp_path: Path, name: str = "someone/words") -> str:
    return read_corpus(find_corpus(name, fake_hub.access(tmp_path / "cache")))


def test_plain_text_is_read_as_it_stands(fake_hub, dataset: Path, tmp_path: Path) -> None:
    (dataset / "README.md").write_text("about")
    (dataset / "test_part.txt").write_text("not for training")
    (dataset / "train.txt").write_text("\ufeffnaïve\nwords\n", encoding="utf-8")
    assert read(fake_hub, tmp_path) == "naïve\nwords\n"


def test_json_lines_give_their_text_column(fake_hub, dataset: Path, tmp_path: Path) -> None:
    rows = [{"label": "x", "n": 1, "text": line} for line in LINES[:3]]
    (dataset / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read(fake_hub, tmp_path) == "\n".join(LINES[:3])


def test_parquet_gives_its_text_column_and_only_that_is_fetched(
    fake_hub, dataset: Path, tmp_path: Path
) -> None:
    ballast = [bytes([n % 251]) * 4000 for n in range(400)]
    write_parquet(dataset / "data/train-0.parquet", image=ballast, text=LINES)
    found = find_corpus("someone/words", fake_hub.access(tmp_path / "cache"))
    assert found.path == "data/train-0.parquet"
    assert 0 < found.fetched < found.size
    assert read_corpus(found) == "\n".join(LINES)


def test_only_the_beginning_of_a_long_text_is_fetched(
    fake_hub, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "MOST_BYTES", 1000)
    (dataset / "train.txt").write_text("\n".join(LINES))
    found = find_corpus("someone/words", fake_hub.access(tmp_path / "cache"))
    assert (found.fetched, found.size) == (1000, len("\n".join(LINES)))
    text = read_corpus(found)
    assert "\n".join(LINES).startswith(text)
    assert text.endswith("fox\n"), "up to a whole line"
    write_parquet(dataset / "train.parquet", text=LINES)
    (dataset / "train.txt").unlink()
    found = find_corpus("someone/words", fake_hub.access(tmp_path / "other"))
    assert len(read_corpus(found)) <= 1000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"1,2", "holds no file that ends in .txt, .jsonl, .parquet"),
        ("a.txt", b"it\x92s", "byte 0x92 at offset 2 is not"),
        ("a.txt", b" \n", "holds no text"),
        ("a.jsonl", b"{", "is not JSON, one value a line"),
        ("a.jsonl", b"[1]", "has no column of text"),
        ("a.parquet", b"PAR1 but not really, and long enough PAR1", "cannot be read as parquet"),
    ],
)
def test_what_holds_no_text_is_refused_in_one_sentence(
    fake_hub, dataset: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (dataset / name).write_bytes(content)
    with pytest.raises(SourceError, match=said):
        read(fake_hub, tmp_path)


def test_names_that_mean_nothing_and_an_offline_machine_are_told(
    fake_hub, dataset: Path, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="There is no data set someone/else on the Hub"):
        find_corpus("someone/else", fake_hub.access(tmp_path))
    with pytest.raises(SourceError, match=r"\.\./x cannot be the id of a Hub data set"):
        find_corpus("../x", fake_hub.access(tmp_path))
    with pytest.raises(SourceError, match="offline mode"):
        find_corpus("someone/words", fake_hub.access(tmp_path, offline=True))
