"""Tables kept for all visitors: within a limit, shared, and never taken from who has one open."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from posviz import sources
from posviz.errors import SourceError
from posviz.ui import kept
from posviz.ui.facts import Read, read
from posviz.ui.kept import Tables, cost, limit

if TYPE_CHECKING:
    from pathlib import Path

    from streamlit.testing.v1 import AppTest


def table(rows: int) -> Read:
    with sources.open(f"random:{rows}x256") as checkpoint:
        return read(checkpoint, None)


class Counted:
    """Reads that are counted by what was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, rows: int) -> Callable[[], Read]:
        def run() -> Read:
            self.asked.append(rows)
            return table(rows)

        return run


def kilobytes(number: int) -> Callable[[], int]:
    return lambda: number << 10


def test_what_is_kept_stays_within_the_limit_and_the_oldest_goes_first() -> None:
    reads = Counted()
    tables = Tables(kilobytes(350))  # three tables of 100 KiB and a little
    for rows in (100, 101, 102):
        tables.get(rows, reads(rows))
    tables.get(100, reads(100))  # now the newest
    tables.get(103, reads(103))
    assert tables.nbytes <= 350 << 10
    gc.collect()
    for rows in (100, 102, 103, 101):
        tables.get(rows, reads(rows))
    assert reads.asked == [100, 101, 102, 103, 101]


def test_a_table_in_use_is_shared_though_it_is_kept_no_longer() -> None:
    reads = Counted()
    tables = Tables(kilobytes(150))
    mine = tables.get(100, reads(100))
    tables.get(101, reads(101))
    assert tables.nbytes == cost(table(101))
    assert tables.get(100, reads(100)) is mine
    assert reads.asked == [100, 101]
    del mine
    gc.collect()
    tables.get(100, reads(100))
    assert reads.asked == [100, 101, 100]


@pytest.mark.parametrize("most", [0, 50])
def test_a_table_over_the_limit_is_nobodys_but_those_who_use_it(most: int) -> None:
    reads = Counted()
    tables = Tables(kilobytes(most))
    mine = tables.get(100, reads(100))
    assert tables.nbytes == 0
    assert tables.get(100, reads(100)) is mine


def test_after_an_hour_it_is_read_anew() -> None:
    reads, now = Counted(), [0.0]
    tables = Tables(kilobytes(500), clock=lambda: now[0])
    before = tables.get(100, reads(100))
    now[0] = kept.SECONDS - 1
    assert tables.get(100, reads(100)) is before
    now[0] = kept.SECONDS
    assert tables.get(100, reads(100)) is not before
    assert tables.get(100, reads(100)) is not before
    assert reads.asked == [100, 100]


def test_what_cannot_be_read_is_asked_for_again_and_kept_by_nobody() -> None:
    tables = Tables(kilobytes(500))

    def fails() -> Read:
        raise SourceError("Not there.")

    for _ in range(2):
        with pytest.raises(SourceError, match="Not there"):
            tables.get("gone", fails)
    assert tables.nbytes == 0
    assert tables.get("gone", lambda: table(9)).table is not None


def test_many_visitors_at_once_read_a_table_once() -> None:
    reads, tables = Counted(), Tables(kilobytes(500))
    together = threading.Barrier(8)
    got: list[Read] = []

    def visit() -> None:
        together.wait()
        got.append(tables.get(100, reads(100)))

    threads = [threading.Thread(target=visit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads.asked == [100]
    assert len({id(found) for found in got}) == 1


class Brought:
    """What a visitor brought."""


def test_what_is_lent_counts_within_the_limit_and_the_oldest_goes_first() -> None:
    reads, tables = Counted(), Tables(kilobytes(350))
    first, second = (tables.lend(Brought(), 100 << 10) for _ in range(2))
    tables.get(100, reads(100))
    assert tables.nbytes == (200 << 10) + cost(table(100))
    assert tables.use(first) is not None  # now the newest
    tables.get(101, reads(101))
    assert tables.nbytes <= 350 << 10
    assert tables.use(second) is None
    assert tables.use(first) is not None
    gc.collect()
    tables.get(100, reads(100))
    assert reads.asked == [100, 101]


def test_what_is_lent_stays_with_who_uses_it_and_ends_with_the_visit() -> None:
    tables = Tables(kilobytes(50))
    shown = Brought()
    too_large = tables.lend(shown, 60 << 10)
    assert tables.nbytes == 0
    assert tables.use(too_large) is shown
    del shown
    assert tables.use(too_large) is None
    small = tables.lend(Brought(), 40 << 10)
    assert tables.nbytes == 40 << 10
    del small
    assert tables.nbytes == 0


@pytest.mark.parametrize(
    ("said", "megabytes"),
    [
        ("", 512),
        ("64", 64),
        (" 2048 ", 2048),
        ("0", 0),
        ("-1", 512),
        ("much", 512),
        ("9" * 30, 512),
    ],
)
def test_the_operator_sets_the_limit_in_megabytes(
    said: str, megabytes: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(kept.MEMORY, said)
    assert limit() == megabytes << 20
    assert bool(caplog.records) == (megabytes == 512 and said != "")


def test_a_page_keeps_its_table_while_others_fill_the_memory(
    visit: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kept.MEMORY, "0")
    opened: list[str] = []
    real = sources.open

    def noted(ref: str, **rights: object) -> object:
        opened.append(ref)
        return real(ref, **rights)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "open", noted)
    refs = []
    for rows in (31, 32):
        np.save(tmp_path / f"t{rows}.npy", np.random.default_rng(0).normal(size=(rows, 8)))
        refs.append(str(tmp_path / f"t{rows}.npy"))
    visitors = []
    for ref in refs:
        visitors.append(visit(table=ref))
    for app, rows in zip(visitors, (31, 32), strict=True):
        app.run()
        assert not app.exception
        assert any(f"{rows} positions × 8" in str(caption.value) for caption in app.caption)
    assert [opened.count(ref) for ref in refs] == [1, 1]
