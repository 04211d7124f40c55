"""The interpolation page's own views: the model that reads, rows, waves, and the film."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from streamlit.testing.v1 import AppTest

from posviz import sources
from posviz.analysis.definitions import DEFINITIONS
from posviz.analysis.similarity import pooled_similarity
from posviz.figures.picture import CellFilm
from posviz.interpolation import METHODS, extend, holdout
from posviz.model.loading import open_model
from posviz.model.loss import loss_by_position
from posviz.model.texts import sequences
from posviz.sources.demos import DEMOS
from posviz.ui import results, stretch_films
from posviz.ui.stretch import Choice

LOSSES = "What a model loses"

Visit = Callable[..., AppTest]


def tables(app: AppTest) -> dict[str, dict[str, list[str]]]:
    """Tables on the page by their first heading: first cell of a line to the others."""
    found = {}
    for element in app.markdown:
        text = element.value.replace("\\", "")
        if text.startswith("| "):
            head, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]]
                               for line in text.splitlines())  # fmt: skip
            found[head[0]] = {cells[0]: cells[1:] for cells in lines}
    return found


def words(app: AppTest) -> str:
    return "\n".join(e.value for e in (*app.markdown, *app.caption, *app.info)).replace("\\", "")


def test_a_picture_has_a_grid_in_one_piece_and_a_class_row_that_stays(
    visit: Visit, tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).normal(size=(1, 65, 16)).astype(np.float32)
    save_file({"vit.embeddings.position_embeddings": rows}, tmp_path / "model.safetensors")
    config = {"model_type": "vit", "image_size": 64, "patch_size": 8, "hidden_size": 16}
    (tmp_path / "config.json").write_text(json.dumps(config))
    app = visit("interpolation.py", table=str(tmp_path))
    assert "grid\u00a08\u00a0×\u00a08" in words(app), "lines of the card do not end within it"
    assert "row 0 unchanged" in words(app)


@pytest.fixture(scope="module")
def losses(visit: Visit) -> AppTest:
    return visit(
        "interpolation.py", table="demo:bert-mini", stretched=LOSSES, length="100", method="Tile"
    )


def test_every_method_is_measured_side_by_side(losses: AppTest) -> None:
    assert not losses.exception
    lines = tables(losses)["table"]
    names = {name.removesuffix(" (shown)") for name in lines}
    assert names == {method.label for method in METHODS.values()} | {"the original"}
    assert "Tile (shown)" in lines


def test_the_numbers_are_those_of_the_model_read_by_hand(losses: AppTest) -> None:
    model = open_model("demo:bert-mini")
    long = sequences(model, length=100, count=64)
    rows = extend(model.table, 100, method="tile").table.weights
    loss = loss_by_position(model, long, rows)
    shown = tables(losses)["table"]["Tile (shown)"]
    assert [float(shown[2]), float(shown[3])] == pytest.approx(
        [loss.mean, math.exp(loss.mean)], abs=6e-3
    )
    assert [float(cell) for cell in shown[4:]] == pytest.approx(
        [loss.half(0), loss.half(1)], abs=6e-4
    )
    assert tables(losses)["table"]["the original"][2] == "no rows"


def test_what_was_read_and_the_wall_stand_below(losses: AppTest) -> None:
    assert "64 × 100 tokens, seed 0" in words(losses)
    assert "64 × 64 tokens, seed 0" in words(losses)
    assert "the model stops at position 64, with these words:" in words(losses)
    assert [block.value for block in losses.code if "Error" in block.value] == [
        "IndexError: index out of range in self"
    ]


def test_another_seed_reads_another_text(visit: Visit) -> None:
    app = visit("interpolation.py", table="demo:bert-mini", stretched=LOSSES)
    before = tables(app)["table"]["the original"]
    app.number_input(key="loss-seed").set_value(3).run()
    assert not app.exception
    assert "seed 3" in words(app)
    assert tables(app)["table"]["the original"] != before


def test_a_shorter_table_has_one_length_and_no_wall(visit: Visit) -> None:
    app = visit("interpolation.py", table="demo:bert-mini", stretched=LOSSES, length="40")
    assert not app.exception
    assert len(tables(app)["table"]["Tile"]) == 2
    assert "stops at position" not in words(app)


def test_a_table_without_a_model_says_so_and_offers_the_demos(visit: Visit) -> None:
    app = visit("interpolation.py", table="sinusoidal:40x12", stretched=LOSSES)
    assert not app.exception
    assert "is a table by itself, without a model to read with" in words(app)
    app.button(key="run-demo:bert-mini").click().run()
    assert not app.exception
    assert app.selectbox(key="table").value == "demo:bert-mini"
    assert "table" in tables(app)


def test_another_tensor_of_the_model_is_not_measured(visit: Visit, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    shutil.copytree(DEMOS / "bert-mini", folder)
    name = "bert.embeddings.token_type_embeddings.weight"
    app = visit("interpolation.py", table=str(folder), stretched=LOSSES, parameter=name)
    assert not app.exception
    assert "which is not the table on show" in words(app)


def test_a_model_of_somebody_else_is_measured_when_asked(visit: Visit, tmp_path: Path) -> None:
    """Without our settings the demo's folder is any BERT: it runs in a process of its own."""
    import json

    from safetensors.numpy import load_file

    folder = tmp_path / "theirs"
    folder.mkdir()
    config = json.loads((DEMOS / "bert-mini" / "config.json").read_text())
    del config["posviz"]
    (folder / "config.json").write_text(json.dumps(config))
    save_file(
        load_file(DEMOS / "bert-mini" / "model.safetensors"), folder / "model.safetensors",
        metadata={"format": "pt"},
    )  # fmt: skip
    app = visit("interpolation.py", table=str(folder), stretched=LOSSES)
    assert not app.exception
    assert "in a process of its own" in words(app)
    app.button(key="measure").click().run()
    while any(button.key == "stop-measuring" for button in app.button):
        time.sleep(0.2)  # pytest's own time limit ends a hang
        app.run()
    assert not app.exception
    assert "has no tokenizer" in words(app)  # it has none: that sentence crossed the process
    assert any(button.key == "measure-again" for button in app.button)


# Rows, waves, film ------------------------------------------------------------------------


def test_rows_are_shown_before_and_after_and_their_numbers_are_defined(visit: Visit) -> None:
    app = visit(
        "interpolation.py",
        table="demo:bert-mini",
        stretched="Row by row",
        expert="true",
        length="128",
    )
    assert not app.exception
    found = tables(app)
    labels = {definition.label for definition in DEFINITIONS.values()}
    assert set(found["row by row"]) <= labels
    before, after = map(float, found["row by row"][DEFINITIONS["curvature"].label])
    assert after < before / 2.5


def test_shrinking_says_which_waves_turn_into_others(visit: Visit, tmp_path: Path) -> None:
    angle = 2 * np.pi * np.arange(128) / 5
    np.save(tmp_path / "wave.npy", np.stack([np.sin(angle), np.cos(angle)], axis=1))
    app = visit("interpolation.py", table=str(tmp_path / "wave.npy"), expert="true", length="32")
    assert not app.exception
    (line,) = (cells for period, cells in tables(app)["period before"].items()
               if period.startswith("5"))  # fmt: skip
    assert line[1].endswith("below the limit")
    assert "Sampling limit: 8.19 positions. Power below the limit: 100.0 %." in words(app)


def test_the_film_runs_from_the_old_length_to_the_new_one() -> None:
    table = sources.load("demo:bert-mini")
    frames = stretch_films.frames(table, Choice(160, "cubic", "align-corners", ""), film=True)
    assert (len(frames[0]), len(frames[-1])) == (64, 160)
    from posviz.figures.stretched import stretch_curve

    picture = stretch_curve(frames, None, name="bert-mini")
    assert picture.film is not None
    assert picture.film.labels[0] == "1 × · 64"
    assert picture.film.labels[-1] == "2.5 × · 160"
    behind = next(trace for trace in picture.figure.data if trace.name == "before")
    assert np.allclose(np.stack([behind.x, behind.y, behind.z], axis=1), frames[0], atol=1e-5)


def test_a_move_is_told_from_an_arrival() -> None:
    def script() -> None:
        import streamlit as st

        from posviz import sources
        from posviz.ui import stretch

        table = sources.load(st.text_input("ref", "demo:bert-mini"))
        choice = stretch.Choice(int(st.number_input("size", value=80)), "linear", "anchored", "")
        st.write(stretch.just_moved(table, choice))

    def moved(app: AppTest) -> bool:
        return app.markdown[-1].value == "`True`"

    app = AppTest.from_function(script, default_timeout=60).run()
    assert not moved(app)
    assert moved(app.number_input[0].set_value(90).run())
    assert not moved(app.run())
    assert not moved(app.text_input[0].set_value("demo:gpt-mini").run())


def test_without_a_film_the_curve_is_its_two_ends() -> None:
    table = sources.load("demo:bert-mini")
    choice = Choice(160, "cubic", "align-corners", "")
    film = stretch_films.frames(table, choice, film=True)
    first, last = stretch_films.frames(table, choice, film=False)
    assert np.array_equal(first, film[0])
    assert np.array_equal(last, film[-1])


@pytest.mark.parametrize(
    ("kind", "points"), [("offset", 64), ("spectrum", 64), ("norms", 64), ("steps", 63)]
)
def test_every_line_plays_from_the_old_table_to_the_new_one(kind: str, points: int) -> None:
    table = sources.load("demo:bert-mini")
    choice = Choice(100, "linear", "align-corners", "")
    frames, lengths = stretch_films.line_frames(table, choice, kind)
    assert (lengths[0], lengths[-1]) == (64, 100)
    assert len(frames) == len(lengths) == stretch_films.LINE_FRAMES
    assert frames[0].shape == (points, 2)
    if kind == "norms":
        new = extend(table, 100).table.weights
        np.testing.assert_allclose(frames[-1][:, 1], np.linalg.norm(new, axis=1), rtol=1e-5)


@pytest.mark.parametrize("view", ["Curve", "All pairs", "By offset", "Spectrum", "Row by row"])
@pytest.mark.parametrize("ref", ["demo:bert-mini", "random:1x5", "random:3x1"])
def test_a_view_plays_when_asked(visit: Visit, view: str, ref: str) -> None:
    app = visit("interpolation.py", table=ref, stretched=view, play="true")
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize(("length", "method"), [(192, "cubic"), (50, "linear"), (160, "tile")])
def test_all_pairs_play_as_their_heatmaps_are_painted(length: int, method: str) -> None:
    table = sources.load("demo:gpt-mini")
    film = stretch_films.pair_film(table, Choice(length, method, "align-corners", ""))
    assert film is not None
    assert isinstance(film.film, CellFilm)
    frames = film.film.frames
    assert (len(frames), frames[0].n_rows, frames[-1].n_rows) == (9, 128, length)
    for frame, at in ((frames[0], 128), (frames[-1], length)):
        alone = extend(table, at, method=method).table
        cells = pooled_similarity(alone.weights, "cosine", results.PAINTED)
        raster = stretch_films.all_pairs(cells, at).raster
        assert raster is not None
        assert frame.values.tobytes() == raster.values.tobytes()
    assert stretch_films.pair_film(table, Choice(128, method, "align-corners", "")) is None


def first_sight(app: AppTest) -> list[str]:
    """Everything that is said in words, numbers included."""
    return [str(one.value).replace("\\", "") for one in (*app.markdown, *app.caption)]


def test_a_method_that_rebuilds_nothing_names_the_one_that_does(visit: Visit) -> None:
    errors = holdout(sources.load("demo:bert-mini").weights)
    said = first_sight(
        visit("interpolation.py", table="demo:bert-mini", length="100", method="Tile")
    )
    assert "by linear; tile rebuilds none" in said
    assert f"**{min(errors.values()):.3f}**" in said


def test_rows_without_order_are_not_said_to_have_a_best_method(visit: Visit) -> None:
    assert "no method beats the mean row" in first_sight(
        visit("interpolation.py", table="random:64x32", length="100")
    )


def test_a_picture_is_counted_in_patches_and_has_no_hidden_rows(
    visit: Visit, grid_table: str
) -> None:
    said = "\n".join(first_sight(visit("interpolation.py", table=grid_table)))
    assert "Linear, 4 × 4 to 8 × 8 patches." in said
    assert "hidden rows" not in said


@pytest.mark.parametrize("asked", ["8192", "-5", "abc", "15", "²", "9" * 5000])
def test_a_link_to_a_length_out_of_reach_is_told_the_reach(visit: Visit, asked: str) -> None:
    app = visit("interpolation.py", table="demo:bert-mini", length=asked)
    (warning,) = app.warning
    assert "under Length, which is no whole number from 16 to 256. 128 is shown" in warning.value
    app.slider(key="length").set_value(200).run()
    assert not app.warning


def test_a_link_to_a_length_within_reach_is_followed(visit: Visit) -> None:
    app = visit("interpolation.py", table="demo:bert-mini", length="256")
    assert not app.warning
    assert app.slider(key="length").value == 256
