"""The methods a person can choose from, each one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from posviz.interpolation import append, kernels

Array = NDArray[np.floating]
Float64 = NDArray[np.float64]
Resample = Callable[[Array, Float64], Array]
Append = Callable[[Array, int, np.random.Generator], Array]


@dataclass(frozen=True)
class Method:
    """One way to give a table another length.

    Parameters
    ----------
    key, label : str
    family : {"resample", "append"}
        Whether new rows lie between the old ones (all move) or after them (none moves).
    uses_grid : bool
        Whether the grid matters.
    explanation : str
        What it does and what to expect, in plain words.
    function : function
        For "resample" of (rows, places), for "append" of (rows, length, generator).
    smoothed : function or None
        The same with a kernel as wide as the shrinking, where there is one.
    """

    key: str
    label: str
    family: Literal["resample", "append"]
    uses_grid: bool
    explanation: str
    function: Callable[..., Array]
    smoothed: Resample | None = None


METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method(
            key="linear",
            label="Linear",
            family="resample",
            uses_grid=True,
            explanation=(
                "A straight line between neighbours. Short waves shrink: halfway between rows a "
                "wave of period 6 keeps .87 of its height."
            ),
            function=kernels.linear,
            smoothed=partial(kernels.smoothed, cubic=False),
        ),
        Method(
            key="cubic",
            label="Cubic spline",
            family="resample",
            uses_grid=True,
            explanation=(
                "One smooth curve through all rows (not-a-knot). It overshoots beside rows unlike "
                "the rest: keep those."
            ),
            function=kernels.cubic_spline,
        ),
        Method(
            key="bicubic",
            label="Bicubic kernel",
            family="resample",
            uses_grid=True,
            explanation=(
                "The four-row kernel (a = -0.75) that vision models are resized with; not a spline."
            ),
            function=kernels.bicubic,
            smoothed=partial(kernels.smoothed, cubic=True),
        ),
        Method(
            key="fourier",
            label="Fourier, mirrored",
            family="resample",
            uses_grid=True,
            explanation=(
                "The band-limited curve through the table and its mirror image, which joins the "
                "ends without a jump. Exact for slow waves; rings beside rows unlike the rest."
            ),
            function=kernels.fourier,
        ),
        Method(
            key="repeat",
            label="Repeat each row",
            family="resample",
            uses_grid=False,
            explanation="A staircase: row i is old row floor(i L / L'). Neighbours share a row.",
            function=kernels.nearest_left,
        ),
        Method(
            key="tile",
            label="Tile",
            family="append",
            uses_grid=False,
            explanation="The table again from its start: positions L apart are the same.",
            function=append.tile,
        ),
        Method(
            key="mirror",
            label="Mirror",
            family="append",
            uses_grid=False,
            explanation="The table backwards after its end: no jump, but the direction turns.",
            function=append.mirror,
        ),
        Method(
            key="clamp",
            label="Repeat the last row",
            family="append",
            uses_grid=False,
            explanation="Every position past the end is the last one: they cannot be told apart.",
            function=append.clamp,
        ),
        Method(
            key="hierarchical",
            label="Hierarchical (Su)",
            family="append",
            uses_grid=False,
            explanation=(
                "Two levels, a slow copy of the table (weight 0.4) and a fast one: up to L² rows, "
                "the first L unchanged."
            ),
            function=append.hierarchical,
        ),
        Method(
            key="zeros",
            label="Zeros",
            family="append",
            uses_grid=False,
            explanation="Rows of zeros: no position information past the end.",
            function=append.zeros,
        ),
        Method(
            key="gaussian",
            label="Fresh rows",
            family="append",
            uses_grid=False,
            explanation=(
                "Random rows with each dimension's mean and spread, as if newly made and never "
                "trained."
            ),
            function=append.gaussian,
        ),
        Method(
            key="sinusoid-fit",
            label="Sines, read on",
            family="append",
            uses_grid=False,
            explanation=(
                "Eight sines fitted to the table and continued. Good for tables of few slow "
                "waves only."
            ),
            function=append.sinusoid_fit,
        ),
    )
}
