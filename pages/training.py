"""A table forming: train a small model and watch, or play the film of one that was trained."""

import streamlit as st

from posviz.ui import address, lab, page, reel, screen, shelf, trained, trainer

VIEWS = {"film": "Film", "steps": "Step by step"}

found = page.question("How does a table form?")
job = lab.watched()
lab.refusal()
live = job is not None and job.alive
trainer.controls(busy=lab.busy())
if live:
    page.answer(*lab.said(job))
    lab.watch(job)
else:
    left, middle, right = st.columns([3, 3, 2], vertical_alignment="bottom")
    with left:
        shown = reel.choose(found)
    with middle:
        other = reel.choose_beside(shown)
    view = address.choice("Show", VIEWS, on=right, key="reel", default="film")
    page.answer(*reel.said(shown))
    reel.ending(shown)
    reel.numbers(shown, other)
    step = None
    if view == "film":
        screen.watch(shown, other)
    else:
        step = screen.step_by_step(shown, other)
    screen.along(shown, other, at=step)
    screen.provenance(shown, other, found, at=step)
    reel.take_over(shown, step)
    reel.follow(shown, other)
with page.section("Runs"):
    shelf.shelf()
if not live:
    trained.section(shown, other)
