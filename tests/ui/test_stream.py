"""A download piece by piece: what the browser asks for, and what it gets."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

from posviz.errors import SourceError
from posviz.ui.stream import Sending, answered

ABOUT = {"label": "Download", "name": "x.zip", "size": 6}


def three(piece: int) -> Iterator[bytes]:
    yield from (b"ab", b"cd", b"ef")


def read(sending: Sending | None) -> tuple[dict[str, object], bytes]:
    assert sending is not None
    (length,) = struct.unpack_from("<I", sending.answer)
    return json.loads(sending.answer[4 : 4 + length]), sending.answer[4 + length :]


def test_the_pieces_in_order_are_the_file() -> None:
    held, got = None, b""
    for part in range(4):
        held = answered(["me", part], held, ABOUT, three)
        about, piece = read(held)
        assert (about["token"], about["part"], "done" in about) == ("me", part, part == 3)
        got += piece
    assert got == b"abcdef"


def test_a_piece_that_was_sent_is_sent_once_more_and_none_is_skipped() -> None:
    held = answered(["me", 0], None, ABOUT, three)
    for part in (0, 2, -1, 7, "1", None):
        assert answered(["me", part], held, ABOUT, three) is held
        assert read(held)[1] == b"ab"


def test_another_download_starts_anew() -> None:
    first = answered(["me", 0], None, ABOUT, three)
    second = answered(["again", 0], first, ABOUT, three)
    assert second is not first
    assert read(second)[0]["token"] == "again"
    assert answered(["me", 1], second, ABOUT, three) is second


def test_nonsense_changes_nothing() -> None:
    for want in (None, 3, [], ["me"], [1, 0], ["me", 5], {"token": "me"}):
        assert answered(want, None, ABOUT, three) is None


def test_a_source_that_changes_on_the_way_is_told() -> None:
    def broken(piece: int) -> Iterator[bytes]:
        yield b"ab"
        raise SourceError("It changed.")

    held = answered(["me", 1], answered(["me", 0], None, ABOUT, broken), ABOUT, broken)
    about, piece = read(held)
    assert (about["refused"], piece) == ("It changed.", b"")
