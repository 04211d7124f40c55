"""What the figure component gets from Python, and what Python makes of the answer."""

from __future__ import annotations

import gc
import json
import struct
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from posviz.figures.curve import curve_2d
from posviz.figures.film import curve_film
from posviz.figures.heatmap import heatmap
from posviz.figures.theme import DARK, LIGHT
from posviz.ui import figure
from posviz.ui.figure import Shown, pack, unpack


def test_packing_is_a_length_strict_json_and_the_cells() -> None:
    picture = heatmap(np.eye(7), limits=(-1, 1))
    packed = pack(picture, key="map", height=300, picks=False)
    (length,) = struct.unpack("<I", packed[:4])
    header = json.loads(packed[4 : 4 + length], parse_constant=pytest.fail)
    assert (header["key"], header["height"], header["picks"]) == ("map", 300, False)
    assert header["alt"] == picture.alt
    assert header["figure"] == json.loads(picture.spec)
    assert header["raster"]["rows"] == header["raster"]["cols"] == 7
    assert picture.raster is not None
    assert packed[4 + length :] == picture.raster.values.tobytes()
    assert unpack(packed) == (header, packed[4 + length :])


def test_a_figure_without_pixels_has_none() -> None:
    header, cells = unpack(pack(curve_2d(np.eye(3))))
    assert header["raster"] is None
    assert cells == b""


def test_a_film_travels_as_its_points() -> None:
    picture = curve_film([np.eye(3), np.eye(3) * 2], ["a", "b"])
    header, payload = unpack(pack(picture))
    assert header["film"] == {
        "labels": ["a", "b"],
        "lengths": [3, 3],
        "axes": 3,
        "together": "",
    }
    np.testing.assert_array_equal(
        np.frombuffer(payload, "<f4").reshape(2, 3, 3), [np.eye(3), np.eye(3) * 2]
    )


def test_the_browser_gets_the_whole_swap_and_the_colours_it_draws_with() -> None:
    header, _ = unpack(pack(curve_2d(np.eye(3))))
    assert header["dark"][LIGHT.ink] == DARK.ink
    assert header["dark"][LIGHT.zero] == DARK.zero
    assert set(header["tokens"].values()) <= set(header["dark"])


def test_the_revision_changes_with_the_figure_and_with_the_cells() -> None:
    def revision(values: np.ndarray, **options: Any) -> str:
        header, _ = unpack(pack(heatmap(values, limits=(-1, 1), **options)))
        return str(header["revision"])

    zeros, ones = np.zeros((4, 4)), np.ones((4, 4))
    assert revision(zeros) == revision(zeros.copy())
    assert revision(zeros) != revision(ones)
    assert revision(zeros) != revision(zeros, label="other")


def test_packing_is_done_once_a_picture_and_forgotten_with_it() -> None:
    picture = curve_2d(np.eye(3))
    assert pack(picture, key="a") is pack(picture, key="a")
    assert pack(picture, key="b") != pack(picture, key="a")
    gc.collect()  # pictures of other tests
    known = len(figure._packed)
    del picture
    gc.collect()
    assert len(figure._packed) == known - 1


@pytest.mark.parametrize(
    ("sent", "cell"),
    [
        ([3, 5], (3, 5)),
        ([3.0, 5.0], (3, 5)),
        (None, None),
        ([3], None),
        ([3, 5, 7], None),
        ([3, "5"], None),
        ([3, 1.5], None),
        ([True, 1], None),
        ([float("nan"), 1], None),
        ([float("inf"), 1], None),
        ({"row": 3}, None),
        ("35", None),
    ],
)
def test_only_a_pair_of_whole_numbers_is_a_cell(sent: object, cell: object) -> None:
    assert figure._cell(sent) == cell


def app() -> None:
    import numpy as np

    from posviz.figures.heatmap import heatmap
    from posviz.ui import figure

    figure.preload()
    shown = figure.show(heatmap(np.eye(9), limits=(-1, 1)), key="map", height=333)
    assert shown == figure.Shown()


def test_showing_mounts_the_component_with_the_picture() -> None:
    at = AppTest.from_function(app, default_timeout=30).run()
    assert not at.exception
    loader, shown = at.get("bidi_component")
    assert loader.proto.component_name == shown.proto.component_name == "posviz_figure"
    assert loader.proto.bytes == b""
    header, cells = unpack(shown.proto.bytes)
    assert header["height"] == 333
    assert len(cells) == 81


def test_nothing_chosen_is_nothing() -> None:
    assert Shown() == Shown(cell=None, point=None)


def test_the_script_is_one_module_without_imports() -> None:
    assert figure._JS.count("export default") == 1
    assert "import " not in figure._JS.replace("important ", "")
