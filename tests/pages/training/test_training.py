"""The training page's form and its button, without a browser: a real run from start to film."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streamlit.testing.v1 import AppTest

from posviz.training.config import default_config

if TYPE_CHECKING:
    import pytest

    from posviz.training.job import Job
    from posviz.training.jobs import Jobs

Visit = Callable[..., AppTest]
Begun = Callable[..., tuple[AppTest, "Job"]]
Until = Callable[[AppTest, Callable[[], bool]], None]
Said = Callable[[AppTest], str]


def test_a_run_is_trained_watched_and_opened_everywhere(
    visit: Visit, until: Until, said: Said, registry: Jobs
) -> None:
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


def test_stop_keeps_the_run_and_go_on_takes_it_up(begun: Begun, registry: Jobs) -> None:
    app, job = begun(past=10)
    app.button(key="stop").click().run()
    assert not job.alive
    app.run()
    assert app.selectbox(key="film").value == "run:copy-1"
    app.button(key="go-on").click().run()
    assert not app.exception
    again = registry.of(job.owner)
    assert again is not job
    assert (again.out, again.resume) == (job.out, True)


def test_a_text_that_cannot_be_used_is_refused_in_one_sentence(
    visit: Visit, home: Path, registry: Jobs
) -> None:
    app = visit(task="Next character of a text", size="Small")
    app.file_uploader(key="own_text").upload("tiny.txt", b"abab", "text/plain").run()
    app.button(key="train").click().run()
    (error,) = app.error
    assert "tiny.txt has 4 characters; sequences of 32 need at least 66" in error.value.replace(
        "\\", ""
    )
    assert not registry._jobs, "no process begins in vain"
    assert not home.exists()


def test_an_experiment_fills_in_the_form_and_what_changed_is_told(
    visit: Visit, said: Said, registry: Jobs
) -> None:
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


def test_a_data_set_of_the_hub_is_asked_for_first_and_then_trained_on(
    visit: Visit, said: Said, registry: Jobs, monkeypatch: pytest.MonkeyPatch
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
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    app = visit(task="Next character of a text", size="Small")
    app.text_input(key="text_dataset").set_value("someone/elsewhere").run()
    assert not app.exception
    (error,) = app.error
    assert "this is offline mode" in error.value
