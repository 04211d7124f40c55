"""The training page without a browser: controls, a real run from start to film, the shelf."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from posviz.errors import TrainingError
from posviz.training.config import default_config
from posviz.training.metrics import snapshot_metrics
from posviz.training.recording import Recording
from posviz.ui import lab, visitor

if TYPE_CHECKING:
    from posviz.training.job import Job
    from posviz.training.jobs import Jobs

PROJECT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("home", "registry")


def visit(**query: str) -> AppTest:
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=90)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run().switch_page("pages/training.py").run()


def said(app: AppTest) -> str:
    texts = (str(element.value) for element in (*app.markdown, *app.caption))
    return "\n".join(texts).replace("\\", "")


def until(app: AppTest, condition: Callable[[], bool], seconds: float = 240) -> None:
    """Patient, since a training process gives way to everything else on a busy machine."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
        app.run()
        assert not app.exception


def recorded(home: Path, name: str, tables: np.ndarray) -> None:
    """A run as somebody's own script leaves it: snapshots and metrics, no settings."""
    from posviz.training.loop import Snapshot

    (home / name).mkdir(parents=True)
    recording = Recording(home / name)
    for step, table in enumerate(tables):
        now = Snapshot(step, 2.0 / (step + 1), table, np.ones(len(table), dtype=bool))
        recording.add(table, snapshot_metrics(now))


@pytest.mark.parametrize("view", ["Film", "Step by step"])
@pytest.mark.parametrize("demo", ["gpt-mini", "bert-mini"])
def test_the_demos_play_without_training(demo: str, view: str) -> None:
    app = visit(table=f"demo:{demo}", reel=view)
    assert not app.exception
    assert not app.error
    assert "Random rows became an ordered curve." in said(app)
    assert app.selectbox(key="film").value == f"demo:{demo}"
    assert f"demo:{demo}" in said(app)


def test_a_table_without_a_film_is_told_from_the_film_on_show() -> None:
    app = visit(table="sinusoidal:40x12")
    assert app.selectbox(key="film").value == "demo:gpt-mini"
    assert "the open table, sinusoidal:40x12, is another one" in said(app)


def test_a_run_is_trained_watched_and_opened_everywhere(home: Path, registry: Jobs) -> None:
    app = visit(task="Copy from k back", size="Small")
    app.number_input(key="steps-copy").set_value(30).run()
    app.button(key="train").click().run()
    assert not app.exception
    assert app.button(key="train").disabled
    (job,) = registry._jobs.values()
    assert app.query_params["job"] == job.id
    assert job.config.n_positions == 32
    until(app, lambda: not job.alive)
    assert job.state == "done"
    app.run()
    assert app.selectbox(key="film").value == "run:copy-1"
    assert not app.button(key="train").disabled
    app.button(key="open-everywhere").click().run()
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="table").value == "run:copy-1"
    app.switch_page("pages/curve.py").run()
    assert "run:copy-1" in said(app)


def test_stop_keeps_the_run_and_go_on_takes_it_up(registry: Jobs) -> None:
    app = visit(task="Copy from k back", size="Small")
    app.number_input(key="steps-copy").set_value(20_000).run()
    app.button(key="train").click().run()
    (job,) = registry._jobs.values()
    until(app, lambda: job.progress.get("step", 0) > 10)
    app.button(key="stop").click().run()
    assert not job.alive
    app.run()
    assert app.selectbox(key="film").value == "run:copy-1"
    app.button(key="go-on").click().run()
    assert not app.exception
    again = registry.of(job.owner)
    assert again is not job
    assert (again.out, again.resume) == (job.out, True)


def test_a_refresh_finds_the_run_again_and_a_stranger_has_none(registry: Jobs) -> None:
    app = visit(task="Copy from k back", size="Small")
    app.number_input(key="steps-copy").set_value(20_000).run()
    app.button(key="train").click().run()
    (job,) = registry._jobs.values()
    refreshed = visit(job=job.id)
    assert refreshed.button(key="stop")
    assert refreshed.button(key="train").disabled
    stranger = visit(job="0" * 32)
    assert not stranger.exception
    assert not stranger.button(key="train").disabled
    assert "job" not in stranger.query_params


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server for other people: everybody has their own runs."""
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")


def trained(app: AppTest, registry: Jobs, *, steps: int = 20_000) -> Job:
    app.number_input(key="steps-copy").set_value(steps).run()
    app.button(key="train").click().run()
    assert not app.exception
    return list(registry._jobs.values())[-1]


@pytest.mark.usefixtures("shared")
def test_a_link_to_a_run_lets_others_watch_and_no_more(home: Path, registry: Jobs) -> None:
    app = visit(task="Copy from k back", size="Small")
    job = trained(app, registry)
    until(app, lambda: job.progress.get("step", 0) > 10)
    guest = visit(job=job.id, task="Copy from k back", size="Small")
    assert not guest.exception
    assert guest.get("progress"), "it is watched"
    assert "Another visitor's run" in said(guest)
    keys = {button.key for button in guest.button}
    assert "stop" not in keys
    assert "**copy-1**" not in said(guest), "it is not on their shelf"
    assert not guest.button(key="train").disabled, "they may train one of their own"
    own = trained(guest, registry)
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
    registry: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cookie is the visitor: a fresh tab, without the address, finds the run that lives."""
    app = visit(task="Copy from k back", size="Small")
    job = trained(app, registry)
    until(app, lambda: job.progress.get("step", 0) > 10)
    drawn = [one.proto.component_name for one in app.get("bidi_component")]
    assert drawn.count("posviz_visitor") == 1, "the cookie is on its way"
    with_cookie(monkeypatch, job.owner)
    tab = visit(task="Copy from k back", size="Small")
    assert tab.button(key="stop")
    assert tab.button(key="train").disabled, "never a second one"
    tab.button(key="stop").click().run()
    assert job.state == "stopped"
    registry.close()
    lab.jobs.clear()  # and after the server was started anew
    again = visit()
    assert "**copy-1**" in said(again)
    with_cookie(monkeypatch, "0" * 32)
    assert "**copy-1**" not in said(visit())


@pytest.mark.parametrize("cookie", ["", "x" * 32, "0" * 31, "0" * 33, "../" * 10, "é" * 32])
def test_a_cookie_that_is_none_of_ours_is_nobody(
    cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cookie(monkeypatch, cookie)
    app = visit()
    assert not app.exception
    assert app.session_state["_visitor"] != cookie
    assert len(app.session_state["_visitor"]) == 32


def with_cookie(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    from streamlit.runtime.context import ContextProxy

    cookies = property(lambda self: {visitor.COOKIE: number})
    monkeypatch.setattr(ContextProxy, "cookies", cookies)


def test_a_run_that_the_server_stopped_says_why(home: Path, registry: Jobs) -> None:
    app = visit(task="Copy from k back", size="Small")
    job = trained(app, registry)
    until(app, lambda: job.progress.get("step", 0) > 10)
    registry.stop(job, why="The server stopped this run: somebody waited.")
    app.run()
    (info,) = app.info
    assert info.value.replace("\\", "") == "The server stopped this run: somebody waited."
    (later,) = visit(film="run:copy-1").info
    assert later.value == info.value


def test_a_second_visitor_waits_in_a_queue_that_is_told(registry: Jobs) -> None:
    first, second = (
        visit(task="Copy from k back", size="Small"),
        visit(task="Copy from k back", size="Small"),
    )
    for app in (first, second):
        app.number_input(key="steps-copy").set_value(20_000).run()
        app.button(key="train").click().run()
        assert not app.exception
    assert [job.state for job in registry._jobs.values()] == ["running", "queued"]
    assert "**Waiting.**" in said(app)
    (bar,) = app.get("progress")
    assert bar.proto.text == (
        "In the queue: waits for the run before it to end. One trains at a time, and a run whose "
        "visitor is gone for a minute makes room."
    )


def test_a_text_that_cannot_be_used_is_refused_in_one_sentence(home: Path, registry: Jobs) -> None:
    app = visit(task="Next character of a text", size="Small")
    app.file_uploader(key="own_text").upload("tiny.txt", b"abab", "text/plain").run()
    app.button(key="train").click().run()
    (error,) = app.error
    assert "tiny.txt has 4 characters; sequences of 32 need at least 66" in error.value.replace(
        "\\", ""
    )
    assert not registry._jobs, "no process begins in vain"
    assert not home.exists()


@pytest.mark.parametrize(
    "tables",
    [np.zeros((2, 5, 4)), np.ones((1, 1, 4)), np.random.default_rng(0).normal(size=(3, 2, 1))],
    ids=["zero", "one-row", "one-dimension"],
)
@pytest.mark.parametrize("view", ["Film", "Step by step"])
def test_awkward_runs_are_shown(home: Path, view: str, tables: np.ndarray) -> None:
    recorded(home, "mine", tables.astype(np.float32))
    app = visit(table="run:mine", reel=view)
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="film").value == "run:mine"


def test_the_shelf_deletes_and_a_shared_server_shows_nobody_elses(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    recorded(home, "mine", rng.normal(size=(3, 6, 4)).astype(np.float32))
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")
    assert "**mine**" not in said(visit())
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "on")
    app = visit()
    assert "**mine** · recorded from a script · step 2 · loss 0.667" in said(app)
    app.button(key="delete-mine").click().run()
    assert (home / "mine").exists(), "it asks once"
    app.button(key="delete-mine-no").click().run()
    app.button(key="delete-mine").click().run()
    app.button(key="delete-mine-yes").click().run()
    assert not app.exception
    assert not (home / "mine").exists()
    assert "**mine**" not in said(app)


def test_a_run_gets_another_name_and_stays_open_and_on_show(home: Path) -> None:
    rng = np.random.default_rng(0)
    recorded(home, "mine", rng.normal(size=(3, 6, 4)).astype(np.float32))
    recorded(home, "other", rng.normal(size=(3, 6, 4)).astype(np.float32))
    app = visit(table="run:mine@1")
    app.text_input(key="name-mine").set_value("other").run()
    (error,) = app.error
    assert error.value.replace("\\", "") == ("There is a run other already. Choose another name.")
    app.text_input(key="name-mine").set_value("first-try").run()
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="film").value == "run:first-try"
    assert app.selectbox(key="table").value == "run:first-try@1"
    assert {path.name for path in home.iterdir()} == {"first-try", "other"}


def test_nobody_deletes_or_renames_a_run_that_another_visitor_trains(
    home: Path, registry: Jobs
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


def test_many_runs_stay_a_short_list(home: Path) -> None:
    for number in range(11):
        recorded(home, f"mine-{number}", np.ones((1, 2, 2), np.float32))
    app = visit()
    assert said(app).count("recorded from a script") == 8
    app.toggle(key="older_runs").set_value(True).run()
    assert said(app).count("recorded from a script") == 11


def test_a_recorded_run_without_losses_is_shown(home: Path) -> None:
    import posviz
    from posviz import recorder

    recorder._recorders.clear()
    for step in range(3):
        posviz.record({"wpe.weight": np.eye(6, 4) + step}, step, run="mine", every=1)
    app = visit(table="run:mine")
    assert not app.exception
    assert not app.error
    assert "the loss went" not in said(app)


@pytest.mark.parametrize("view", ["Film", "Step by step"])
def test_two_runs_stand_side_by_side(home: Path, view: str) -> None:
    rng = np.random.default_rng(0)
    recorded(home, "three", rng.normal(size=(3, 6, 4)).astype(np.float32))
    recorded(home, "five", rng.normal(size=(5, 9, 3)).astype(np.float32))
    app = visit(table="run:three", beside="run:five", reel=view)
    assert not app.exception
    assert not app.error
    assert "run:five" in said(app)
    assert "five " in said(app), "each number stands beside the other run's"
    if view == "Step by step":
        snapshot = next(s for s in app.select_slider if s.label == "Snapshot")
        assert list(snapshot.options) == [f"step {step}" for step in range(5)]
        snapshot.set_value(4).run()
        assert "run:three, step 2" in said(app), "the last it has"
        assert "run:five, step 4" in said(app)


def test_rows_that_no_sequence_reaches_are_named(home: Path) -> None:
    from posviz.training.engine import train

    config = default_config(
        "copy", steps=10, n_positions=16, d_model=8, batch_size=2, sequence_length=9
    )
    for _ in train(config, home / "short"):
        pass
    for view in ("Film", "Step by step"):
        app = visit(table="run:short", reel=view)
        assert not app.exception
        assert "Rows 9–15 were never trained." in said(app)


def test_an_experiment_fills_in_the_form_and_what_changed_is_told(registry: Jobs) -> None:
    app = visit(size="Large")
    app.number_input(key="table_scale").set_value(3.0).run()
    assert "Changed for the next run: initial scale 3." in said(app)
    app.button(key="experiment-short-sequences").click().run()
    assert not app.exception
    assert "Changed for the next run: sequences of 32." in said(app)
    app.button(key="experiment-sinusoidal").click().run()
    assert "Changed for the next run: sinusoidal table." in said(app)
    app.button(key="experiment-copy").click().run()
    assert "Changed for the next run" not in said(app)
    app.button(key="train").click().run()
    (job,) = registry._jobs.values()
    assert job.config == default_config("copy")


def test_what_the_trained_model_loses_is_measured_when_asked_for(home: Path) -> None:
    from posviz.training.engine import train

    for name in ("learned", "none"):
        config = default_config(
            "copy", steps=10, n_positions=16, d_model=8, batch_size=2, table=name
        )
        for _ in train(config, home / f"tiny-{name}"):
            pass
    app = visit(table="run:tiny-learned", beside="run:tiny-none", expert="true")
    assert not app.exception
    assert not app.error
    told = said(app)
    assert "Its table spoilt · tiny-learned" in told
    assert "It has no row 16 and stops there (`IndexError: index out of range in self`)" in told
    (info,) = [one.value for one in app.info]
    assert "trained without positions" in info


def test_a_recorded_run_says_that_there_is_no_model_to_run(home: Path) -> None:
    recorded(home, "mine", np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32))
    app = visit(table="run:mine", expert="true")
    assert not app.exception
    (info,) = [one.value for one in app.info]
    assert "recorded from somebody's own script" in info


def test_a_server_that_was_killed_is_told_and_the_run_goes_on(
    home: Path, registry: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(task="Copy from k back", size="Small")
    app.number_input(key="steps-copy").set_value(20_000).run()
    app.button(key="train").click().run()
    (job,) = registry._jobs.values()
    until(app, lambda: job.progress.get("step", 0) > 10)
    registry.close()  # and a new server knows nothing of it
    lab.jobs.clear()
    monkeypatch.setenv("POSVIZ_LOCAL_PATHS", "off")  # nor that the run is this visitor's
    stranger = visit(job="0" * 32)
    assert "copy-1" not in said(stranger)
    guest = visit(job=job.id)
    assert "go-on" not in {button.key for button in guest.button}
    with_cookie(monkeypatch, job.owner)
    again = visit(job=job.id)
    assert not again.exception
    (info,) = again.info
    assert "The server was started anew while copy-1 was trained." in info.value.replace("\\", "")
    assert again.selectbox(key="film").value == "run:copy-1"
    again.button(key="go-on").click().run()
    assert not again.exception
    assert lab.jobs().trains(home / "copy-1")


def test_a_data_set_of_the_hub_is_asked_for_first_and_then_trained_on(
    home: Path, registry: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from posviz.sources import corpus
    from posviz.sources.readers import MemoryFile, Traffic

    words = b"the quick brown fox jumps over the lazy dog\n" * 30

    def found(name: str, access: object) -> corpus.Corpus:
        reader = MemoryFile("train.txt", words, Traffic())
        return corpus.Corpus(name, "train.txt", 10**9, len(words), reader)

    monkeypatch.setattr(corpus, "find_corpus", found)
    app = visit(task="Next character of a text", size="Small")
    app.text_input(key="text_dataset").set_value("someone/words").run()
    assert not app.exception
    assert app.button(key="fetch-text").label.startswith("Fetch 1.32 kB of 1 GB from train")
    app.button(key="fetch-text").click().run()
    assert "characters of someone/words are the text of the next run" in said(app)
    app.button(key="train").click().run()
    assert not app.error
    (job,) = registry._jobs.values()
    assert Path(job.config.text).read_bytes() == words[: corpus.MOST_BYTES]


def test_a_data_set_that_cannot_be_reached_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    app = visit(task="Next character of a text", size="Small")
    app.text_input(key="text_dataset").set_value("someone/elsewhere").run()
    assert not app.exception
    (error,) = app.error
    assert "this is offline mode" in error.value
