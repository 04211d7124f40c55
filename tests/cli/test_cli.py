"""How the command line behaves whatever the command: codes, streams, nothing but JSON on stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posviz.cli import commands, main
from posviz.cli.command import Command
from posviz.cli.output import Answer
from posviz.errors import NoTableError, PosvizError, SettingError, SourceError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PROJECT = Path(__file__).resolve().parents[2]


def _add(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], Answer], name: str = "probe"
) -> None:
    """Add a command of the test's own, as a new command is added: one entry of the registry."""
    monkeypatch.setitem(commands.COMMANDS, name, Command("a probe", lambda options: None, run))


def _raiser(failure: BaseException) -> Callable[[Any], Answer]:
    def run(options: Any) -> Answer:
        raise failure

    return run


def _process(*words: str, **kwargs: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "posviz", *words], cwd=PROJECT, stderr=subprocess.PIPE, **kwargs
    )


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (SettingError("no such method"), 2),
        (SourceError("no such file"), 3),
        (NoTableError("rotary", scheme="rotary"), 3),
        (TableError("row 3 is NaN"), 3),
        (PosvizError("something else"), 3),
    ],
)
def test_a_refusal_is_one_line_on_stderr_and_a_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: PosvizError,
    code: int,
) -> None:
    _add(monkeypatch, _raiser(failure))
    assert main(["probe", "--json"]) == code
    assert capsys.readouterr() == ("", f"posviz: {failure}\n")


def test_an_interruption_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(options: Any) -> Answer:
        signal.raise_signal(signal.SIGINT)
        return Answer({}, "")

    _add(monkeypatch, run)
    assert main(["probe"]) == 130
    assert capsys.readouterr() == ("", "posviz: interrupted.\n")


def test_a_fault_of_our_own_is_a_sentence_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POSVIZ_DEBUG", raising=False)
    _add(monkeypatch, _raiser(ZeroDivisionError("division by zero")))
    assert main(["probe"]) == 3
    assert capsys.readouterr() == (
        "",
        "posviz: a fault in posviz itself stopped this (ZeroDivisionError: division by zero). "
        "Set POSVIZ_DEBUG=1 to see where, and please report it.\n",
    )


def test_a_developer_gets_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVIZ_DEBUG", "1")
    _add(monkeypatch, _raiser(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["probe"])


def test_too_little_memory_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(monkeypatch, _raiser(MemoryError()))
    assert main(["probe"]) == 3
    assert capsys.readouterr().err == (
        "posviz: this does not fit into the memory of this machine. Pick a smaller table.\n"
    )


def test_nan_never_reaches_the_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POSVIZ_DEBUG", raising=False)
    _add(monkeypatch, lambda options: Answer({"x": float("nan")}, ""))
    assert main(["probe", "--json"]) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["guess", "x"],
        ["inspect"],
        ["inspect", "a", "b"],
        ["inspect", "random:4x4", "--jso"],
        ["extend", "random:4x4", "--length", "0"],
        ["extend", "random:4x4", "--length", "many"],
        ["extend", "random:4x4"],
        ["extend", "random:4x4", "--length", "8", "--method", "magic"],
        ["extend", "random:4x4", "--length", "8", "--grid", "hexagonal"],
        ["extend", "random:4x4", "--length", "8", "--grid-size", "2"],
        ["extend", "random:4x4", "--length", "8", "-o", "table.pt"],
    ],
)
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "posviz" in err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in commands.COMMANDS.items():
        assert f"    {name} " in out
        assert command.summary in " ".join(out.split())


def test_a_file_cannot_drive_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _add(monkeypatch, lambda options: Answer({}, "wpe\x1b[2J\r\nweight"))
    assert main(["probe"]) == 0
    assert capsys.readouterr().out == "wpe\\x1b[2J\\r\nweight\n"


@pytest.mark.parametrize("words", [["presets"], ["presets", "--json"], ["--help"]])
def test_a_reader_that_leaves_early_is_no_error(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with _process(*words, stdout=writer) as process:
        os.close(writer)
        assert process.communicate(timeout=60) == (None, b"")
        assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full, _process("presets", stdout=full) as process:
        message = b"posviz: the answer cannot be written: No space left on device.\n"
        assert process.communicate(timeout=60) == (None, message)
        assert process.returncode == 3


def test_a_terminal_without_the_sign_still_gets_the_answer() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    with _process("presets", stdout=subprocess.PIPE, env=environment) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert rb"1024 \xd7 768" in out


_COMMANDS_ALONE = """
import sys
from posviz.cli import main
assert main(["analyze", "random:24x8", "--json"]) == 0
assert main(["extend", "random:24x8", "--length", "30", "--json"]) == 0
heavy = {"streamlit", "torch", "transformers", "sklearn", "plotly", "pandas", "huggingface_hub"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""

_STARTED = """
import sys, posviz.cli
from posviz.cli.commands import parser
parser()
print(sorted({"numpy", "scipy", "safetensors"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("program", [_COMMANDS_ALONE, _STARTED])
def test_nothing_heavy_is_imported(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    for line in done.stdout.splitlines():
        json.loads(line)
