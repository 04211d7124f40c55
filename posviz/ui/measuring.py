"""Which model stands behind the open table, and the measurements that visitors asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import ModelError, PosvizError
from posviz.interpolation import METHODS
from posviz.ui import page
from posviz.ui.access import visitor_access
from posviz.ui.format import data_size, literal

if TYPE_CHECKING:
    from posviz.model.jobs import Job, Jobs
    from posviz.model.measuring import Begun, Measured, Order
    from posviz.model.runner import Model
    from posviz.sources import Access
    from posviz.ui.opened import Opened
    from posviz.ui.stretch import Choice

COUNT = {True: 64, False: 4}  # texts that are read, of a small model of ours and of any other
MOST = 256
MODELS = 3  # of ours that stay open
FINISHED = 24  # measurements of ours that are kept
TEXT_MB = 8
_REFUSED = "_refused_measuring"


@dataclass(frozen=True)
class Place:
    """Where a model is.

    Parameters
    ----------
    ours : bool
        Trained by this project: measured here and at once.
    hub : bool
        Of the Hub, and not found in its cache by name: the process looks there first.
    fetch : int
        Bytes to download first; 0 when all of it is on this machine.
    note : str
        What a person should know before they ask.
    """

    ours: bool
    hub: bool = False
    fetch: int = 0
    note: str = ""


def place(ref: str) -> Place:
    """The model behind a reference.

    Raises
    ------
    ModelError, SourceError
        There is none that can be run here; the sentence says why and what can.
    """
    from posviz.model.places import folder_of, is_ours, on_the_hub, read_json

    access = visitor_access()
    try:
        folder = folder_of(ref, access)
    except ModelError:
        if not on_the_hub(ref):
            raise
        name, size = download_size(ref, access.token, access)
        note = (
            f"Of {name} only the table has been read; the whole model is {data_size(size)} to "
            f"download, and is kept in the Hub's cache on this machine."
        )
        return Place(ours=False, hub=True, fetch=size, note=note if size else "")
    return Place(ours=is_ours(folder, read_json(folder / "config.json")))


def order(found: Opened, choice: Choice, where: Place) -> Order:
    """What is to be measured, the chosen method first; how much is read stands in a section."""
    from posviz.model.measuring import Order

    assert isinstance(choice.size, int)
    with page.section("What the model reads"):
        left, right, own = st.columns([1, 1, 3])
        count = left.number_input("Texts", 1, MOST, COUNT[where.ours], key=f"texts-{where.ours}")
        seed = right.number_input("Seed", 0, 2**31 - 1, 0, key="loss-seed")
        given = own.file_uploader(
            "Your own text (UTF-8)",
            max_upload_size=TEXT_MB,
            key="loss-text",
            help="Without one: sequences of the model's own task, or the help topics of Python.",
        )
    methods = sorted(METHODS, key=lambda key: key != choice.method)
    asked = Order(
        ref=found.ref,
        fingerprint=found.table.fingerprint,
        length=choice.size,
        methods=tuple(methods),
        grid=choice.grid,
        keep=choice.keep,
        count=int(count),
        seed=int(seed),
    )
    if given is None:
        return asked
    from posviz.training.text import decode

    return replace(asked, text=decode(given.getvalue(), name=given.name))


def at_once(asked: Order) -> list[Begun | Measured]:
    """Measure a small model of this project, showing how far it is; kept for the next time.

    Whatever the visitor does meanwhile ends it: the page runs anew.
    """
    # The order of the methods is for those who watch; what comes out does not depend on it.
    kept = _finished(replace(asked, methods=tuple(sorted(asked.methods))))
    if not kept:
        with st.spinner("Opening the model …"):
            from posviz.model.measuring import Measured, measure

            model = _model(asked.ref, asked.fingerprint, visitor_access())
        bar, events = st.progress(0.0, text="Reading …"), []
        for event in measure(model, asked):
            events.append(event)
            if isinstance(event, Measured):
                done = len(events) / (len(asked.methods) + 2)
                bar.progress(done, text=f"Read with {_name(event.method)}")
        bar.empty()
        kept[:] = events
    return kept


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The one registry of this server."""
    from posviz.model.jobs import Jobs

    return Jobs()


def start(owner: str, asked: Order, fetch: bool) -> None:
    """Begin a measurement in a process of its own, or say why not."""
    try:
        jobs().start(owner, asked, visitor_access(), fetch=fetch)
    except PosvizError as error:
        st.session_state[_REFUSED] = str(error)


def refusal() -> None:
    """Why the last one could not begin."""
    sentence = st.session_state.pop(_REFUSED, None)
    if sentence:
        st.info(literal(sentence), icon=":material/error:")


def progress(job: Job) -> tuple[float, str]:
    """How far a measurement is, from 0 to 1, and the same in words."""
    if job.now.get("event") == "fetching":
        size, have = job.now["of"], job.now["bytes"]
        return have / max(size, 1), f"Downloading: {data_size(have)} of {data_size(size)}"
    expected = len(job.order.methods) + 2
    done = len(job.results)
    if done < 2:
        return 0.0, "Opening the model …" if not done else "Reading with its own table …"
    seconds = time.monotonic() - job.began
    text = f"{done - 2} of {expected - 2} tables read"
    if done > 2:
        left = seconds / done * (expected - done)
        text += (
            f" · about {left:.0f} s left" if left < 100 else f" · about {left / 60:.0f} min left"
        )
    return done / expected, text


def _name(method: str) -> str:
    return METHODS[method].label.lower() if method else "its own table"


@st.cache_resource(max_entries=FINISHED, show_spinner=False)
def _finished(asked: Order) -> list[Begun | Measured]:
    """A place for the events of an order, filled by whoever measures it first."""
    return []


@st.cache_resource(max_entries=MODELS, show_spinner=False)
def _model(ref: str, fingerprint: str, _access: Access) -> Model:
    from posviz.model.loading import open_model

    return open_model(ref, access=_access)


@st.cache_data(ttl=600, max_entries=64, show_spinner="Asking the Hub how large the model is …")
def download_size(ref: str, token: str | bool, _access: Access) -> tuple[str, int]:
    """The name of a Hub model, and the bytes of it that are not on this machine."""
    from posviz.sources.snapshot import whole

    model = whole(ref, _access)
    return model.id, model.missing
