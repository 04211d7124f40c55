"""A page of nothing but the figure component, which the tests of this folder drive."""

import numpy as np
import streamlit as st

from posviz.figures.curve import curve_2d, curve_3d
from posviz.figures.film import curve_film
from posviz.figures.heatmap import heatmap
from posviz.figures.picture import Raster, quantise
from posviz.figures.spectrum import spectrum
from posviz.figures.stretched import heatmap_film
from posviz.ui import figure


def helix(length: int, wobble: int) -> np.ndarray:
    angle = np.linspace(0, 6 * np.pi, length)
    return np.stack(
        [3 * np.cos(angle), (3 + wobble / 10) * np.sin(angle), np.linspace(2, -2, length)], axis=1
    )


def cosines(length: int, wobble: int) -> np.ndarray:
    rows = np.concatenate([helix(length, wobble), np.full((length, 1), 0.5)], axis=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows @ rows.T).astype(np.float32)


st.set_page_config(layout="wide")
figure.preload()
length = st.segmented_control("length", [64, 1024], default=1024, required=True, key="length")
wanted = st.query_params.get("show", "curve,plane,map,spectrum").split(",")
wobble = st.slider("wobble", 0, 20, 0, key="wobble")
shares = (0.4, 0.3, 0.2)
if "curve" in wanted:
    shown = figure.show(curve_3d(helix(length, wobble), shares), key="curve", height=480)
    st.text(f"curve point: {shown.point}")
if "plane" in wanted:
    shown = figure.show(curve_2d(helix(length, wobble), shares), key="plane", height=480)
    st.text(f"plane point: {shown.point}")
if "map" in wanted:
    cells = cosines(length, wobble)
    shown = figure.show(heatmap(cells, limits=(-1, 1)), key="map", height=480)
    st.text(f"cell: {shown.cell}")
    if shown.cell is not None and max(shown.cell) < length:
        st.text(f"exact: {cells[shown.cell]:.6f}")
if "asked" in wanted:  # 1,024 positions in 128 cells a side, and a server that knows better
    cells = cosines(1024, wobble)
    coarse = cells.reshape(128, 8, 128, 8).mean(axis=(1, 3))
    picture = heatmap(coarse, limits=(-1, 1), n_positions=1024)
    shown = figure.show(picture, key="asked", height=480, asks=True)
    exact = detail = None
    if shown.pause:
        exact = (shown.pause, f"exactly {cells[shown.pause]:.6f}")
    if shown.window:
        top, bottom, left, right = shown.window
        part = quantise(cells[top : bottom + 1, left : right + 1], -1, 1)
        detail = Raster(part, -1, 1, *part.shape, first_row=top, first_col=left)
    figure.answer("asked", exact=exact, detail=detail)
    st.text(f"window: {shown.window}")
if "spectrum" in wanted:
    values = np.linalg.svd(helix(length, wobble), compute_uv=False)
    figure.show(spectrum(values, holds=(3, 0.9)), key="spectrum", height=300)
if "large" in wanted:
    figure.show(spectrum([12_345.6, 0.25]), key="large", height=300)
if "cells" in wanted:
    squares = [np.full((n, n), value) for n, value in ((4, -1.0), (6, 0.0), (8, 1.0))]
    moments = [heatmap(square, limits=(-1, 1)) for square in squares]
    figure.show(heatmap_film(moments, ["4", "6", "8"]), key="cells", height=420)
if "film" in wanted:
    grown = [helix(n, wobble) * n / 64 for n in (32, 48, 64)]
    figure.show(curve_film(grown, ["32", "48", "64"], components=(0, 1)), key="film", height=420)
