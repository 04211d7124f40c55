"""Whose a run is: refreshes, links, cookies, the queue, and a server that was started anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

from posviz.errors import TrainingError
from posviz.ui import lab

if TYPE_CHECKING:
    from posviz.training.job import Job
    from posviz.training.jobs import Jobs

Visit = Callable[..., AppTest]
Begun = Callable[..., tuple[AppTest, "Job"]]
Begin = Callable[[AppTest], "Job"]
Until = Callable[[AppTest, Callable[[], bool]], None]
Said = Callable[[AppTest], str]


def test_a_refresh_finds_the_run_again_and_a_stranger_has_none(visit: Visit, begun: Begun) -> None:
    _, job = begun()
    refreshed = visit(job=job.id)
    assert refreshed.button(key="stop")
    assert refreshed.button(key="train").disabled
    stranger = visit(job="0" * 32)
    assert not stranger.exception
    assert not stranger.button(key="train").disabled
    assert "job" not in stranger.query_params


@pytest.mark.usefixtures("shared")
def test_a_link_to_a_run_lets_others_watch_and_no_more(
    visit: Visit, begun: Begun, begin: Begin, said: Said
) -> None:
    app, job = begun(past=10)
    guest = visit(job=job.id, task="Copy from k back", size="Small")
    assert not guest.exception
    assert guest.get("progress"), "it is watched"
    assert "Another visitor's run" in said(guest)
    keys = {button.key for button in guest.button}
    assert "stop" not in keys
    assert "**copy-1**" not in said(guest), "it is not on their shelf"
    assert not guest.button(key="train").disabled, "they may train one of their own"
    own = begin(guest)
    assert (own.state, own.owner == job.owner) == ("queued", False)
    assert guest.query_params["job"] == own.id
    guest.button(key="stop").click().run()
    assert (own.state, job.state) == ("stopped", "running")
    # The link goes on to show the film when the run has ended, without a button to go on with it.
    app.button(key="stop").click().run()
    later = visit(job=job.id)
    assert not later.exception
    assert "run:copy-1" in later.selectbox(key="film").options
    later.selectbox(key="film").set_value("run:copy-1").run()
    assert "go-on" not in {button.key for button in later.button}
    assert "**copy-1**" not in said(later)


@pytest.mark.usefixtures("shared")
def test_a_browser_that_comes_back_has_its_runs(
    visit: Visit, begun: Begun, said: Said, with_cookie: Callable[[str], None], registry: Jobs
) -> None:
    """Its cookie is the visitor: a fresh tab, without the address, finds the run that lives."""
    app, job = begun(past=10)
    drawn = [one.proto.component_name for one in app.get("bidi_component")]
    assert drawn.count("posviz_visitor") == 1, "the cookie is on its way"
    with_cookie(job.owner)
    tab = visit(task="Copy from k back", size="Small")
    assert tab.button(key="stop")
    assert tab.button(key="train").disabled, "never a second one"
    tab.button(key="stop").click().run()
    assert job.state == "stopped"
    registry.close()
    lab.jobs.clear()  # and after the server was started anew
    again = visit()
    assert "**copy-1**" in said(again)
    with_cookie("0" * 32)
    assert "**copy-1**" not in said(visit())


@pytest.mark.parametrize("cookie", ["", "x" * 32, "0" * 31, "0" * 33, "../" * 10, "é" * 32])
def test_a_cookie_that_is_none_of_ours_is_nobody(
    visit: Visit, with_cookie: Callable[[str], None], cookie: str
) -> None:
    with_cookie(cookie)
    app = visit()
    assert not app.exception
    assert app.session_state["_visitor"] != cookie
    assert len(app.session_state["_visitor"]) == 32


def test_a_run_that_the_server_stopped_says_why(visit: Visit, begun: Begun, registry: Jobs) -> None:
    app, job = begun(past=10)
    registry.stop(job, why="The server stopped this run: somebody waited.")
    app.run()
    (info,) = app.info
    assert info.value.replace("\\", "") == "The server stopped this run: somebody waited."
    (later,) = visit(film="run:copy-1").info
    assert later.value == info.value


def test_a_second_visitor_waits_in_a_queue_that_is_told(begun: Begun, said: Said) -> None:
    (_, first), (app, second) = begun(), begun()
    assert (first.state, second.state) == ("running", "queued")
    assert "**Waiting.**" in said(app)
    (bar,) = app.get("progress")
    assert bar.proto.text == (
        "In the queue: waits for the run before it to end. One trains at a time, and a run whose "
        "visitor is gone for a minute makes room."
    )


def test_nobody_deletes_or_renames_a_run_that_another_visitor_trains(
    visit: Visit, until: Until, said: Said, registry: Jobs
) -> None:
    first = visit(task="Copy from k back", size="Small")
    first.number_input(key="steps-copy").set_value(20_000).run()
    second = visit()
    first.button(key="train").click().run()
    (job,) = registry._jobs.values()
    until(first, lambda: job.progress.get("step", 0) > 10)
    second.run()
    assert "**copy-1**" in said(second)
    assert "It is being trained: stop it first" in said(second)
    keys = {button.key for button in second.button} | {box.key for box in second.text_input}
    assert not {"delete-copy-1", "name-copy-1"} & keys
    # A page drawn before the run began still has the button: the registry refuses.
    said_no = pytest.raises(TrainingError, match="is being trained, so it stays as it is")
    with said_no, registry.apart(job.out):
        pass


def test_a_server_that_was_killed_is_told_and_the_run_goes_on(
    visit: Visit,
    begun: Begun,
    said: Said,
    with_cookie: Callable[[str], None],
    home: Path,
    registry: Jobs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, job = begun(past=10)
    registry.close()  # and a new server knows nothing of it
    lab.jobs.clear()
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")  # nor that the run is this visitor's
    stranger = visit(job="0" * 32)
    assert "copy-1" not in said(stranger)
    guest = visit(job=job.id)
    assert "go-on" not in {button.key for button in guest.button}
    with_cookie(job.owner)
    again = visit(job=job.id)
    assert not again.exception
    (info,) = again.info
    assert "The server was started anew while copy-1 was trained." in info.value.replace("\\", "")
    assert again.selectbox(key="film").value == "run:copy-1"
    again.button(key="go-on").click().run()
    assert not again.exception
    assert lab.jobs().trains(home / "copy-1")
