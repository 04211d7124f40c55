"""Work in processes of its own: what goes in, what comes out, and how each of them ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from posviz import processes

PROJECT = Path(__file__).resolve().parents[1]
WORKER = """
import atexit, json, os, sys, threading
sys.path.insert(0, {project!r})
from posviz.processes import leave, say, take_order
stopped = threading.Event()
order = take_order(stopped.set)
"""


def run(
    program: str, order: dict[str, Any] | None = None
) -> tuple[subprocess.Popen[str], list[dict[str, Any]], tuple[int, str]]:
    text = WORKER.format(project=str(PROJECT)) + program
    process = processes.start((sys.executable, "-c", text), order or {})
    heard: list[dict[str, Any]] = []
    return process, heard, processes.follow(process, heard.append)


def test_an_order_goes_in_and_events_come_out_in_order() -> None:
    order = {"text": "Größe 位置 😀\n", "numbers": [1, 2.5, None]}
    process, heard, ending = run('say("one", got=order); say("two"); leave()', order)
    assert heard == [{"event": "one", "got": order}, {"event": "two"}]
    assert ending == (0, "exit code 0")
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        assert stream.closed


def test_a_line_cut_off_by_a_kill_is_no_event() -> None:
    program = """
say("whole")
print('{"event": "ha', end="", flush=True)
os.kill(os.getpid(), 9)
"""
    _, heard, ending = run(program)
    assert heard == [{"event": "whole"}]
    assert ending == (-signal.SIGKILL, f"exit code {-signal.SIGKILL}")


def test_the_cause_is_the_last_line_of_the_error_output() -> None:
    _, heard, (code, cause) = run('raise MemoryError("no room")')
    assert (heard, code, cause) == ([], 1, "MemoryError: no room")


def test_a_worker_hears_that_its_parent_wants_no_more() -> None:
    text = WORKER.format(project=str(PROJECT)) + 'say("here"); stopped.wait(); say("last"); leave()'
    process = processes.start((sys.executable, "-c", text), {})
    heard: list[str] = []

    def hear(event: dict[str, Any]) -> None:
        heard.append(event["event"])
        if event["event"] == "here":
            assert process.stdin is not None
            process.stdin.close()

    assert processes.follow(process, hear)[0] == 0
    assert heard == ["here", "last"]


def test_leaving_says_everything_first_and_takes_nothing_down(tmp_path: Path) -> None:
    """What a library does at the interpreter's end, torch for a second, is not waited for."""
    mark = tmp_path / "mark"
    program = f"""
atexit.register(open, {str(mark)!r}, "w")
sys.stdout.write(json.dumps({{"event": "unflushed"}}) + "\\n")
leave()
"""
    _, heard, ending = run(program)
    assert heard == [{"event": "unflushed"}]
    assert ending[0] == 0
    assert not mark.exists()


def test_a_worker_whose_parent_is_gone_leaves_without_a_word() -> None:
    text = WORKER.format(project=str(PROJECT)) + (
        "stopped.wait()\n"
        "try:\n    say('nobody hears')\n    say('this')\nexcept BrokenPipeError:\n    pass\nleave()"
    )
    process = processes.start((sys.executable, "-c", text), {})
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    assert process.wait() == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        processes.start((str(tmp_path / "absent"),), {})


@pytest.mark.parametrize(("set_to", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_of_a_worker_sleep_while_they_wait_unless_the_operator_chose(
    monkeypatch: pytest.MonkeyPatch, set_to: str | None, found: str
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", set_to or "")  # put back after the test
    if set_to is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    _, heard, _ = run('say("wait", policy=os.environ["OMP_WAIT_POLICY"]); leave()')
    assert heard == [{"event": "wait", "policy": found}]
