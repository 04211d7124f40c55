"""Where the eye stands when a curve in space is first shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILL = (0.84, 0.97)  # of the picture's width and height that the 3-D box may take
USUAL, WIDE = 1.2, 1.5  # width over height of a picture that a 3-D view is made for
_RISES = (0.38, 0.6, 0.85)  # of the eye over its distance on the floor, the usual one first
_FLAT = 0.6  # of the picture's height: what takes less is looked at from higher up


def first_view(
    ranges: list[list[float]], points: NDArray[np.float64], shape: float = USUAL
) -> dict[str, dict[str, float]]:
    """The nearest view of all that is drawn, from above, across the box's longer side.

    Drawn are the floor, the walls behind and the curve; nothing at the top corner in front. Plotly
    scales the box so that the product of its sides is 1, puts it round the origin, and looks
    through a lens that opens 45 degrees. A flat box is seen from higher up, where its floor fills
    the picture that its walls would leave empty.

    Parameters
    ----------
    ranges : three pairs
        Lowest and highest value of each axis.
    points : array of shape (n, 3)
        The curve, inside them.
    shape : float
        Width over height of the picture.

    Returns
    -------
    dict
        ``eye`` and ``center`` of a Plotly camera.
    """
    low, high = np.array(ranges).T
    sides = high - low
    inside = (points - (low + high) / 2) / sides
    sides = sides / np.exp(np.log(sides).mean())
    corners = np.stack(np.meshgrid(*([[-0.5, 0.5]] * 3)), axis=-1).reshape(-1, 3)
    corners = corners[(corners < 0).any(axis=1)]  # without the one in front at the top
    drawn = np.concatenate([corners, inside]) * sides
    level = np.sqrt(sides[1::-1])  # the longer side lies more across than along the view
    for rise in _RISES:
        towards = np.array([*level, rise * np.hypot(*level)])
        towards /= np.linalg.norm(towards)
        distance, height, filled = _fit(drawn, towards, sides[2], shape)
        if filled > _FLAT:
            break
    eye = towards * distance + [0, 0, height]
    return {
        "eye": dict(zip("xyz", eye.tolist(), strict=True)),
        "center": {"x": 0.0, "y": 0.0, "z": height},
    }


def _fit(
    drawn: NDArray[np.float64], towards: NDArray[np.float64], tall: float, shape: float
) -> tuple[float, float, float]:
    """How near the eye may come, at which height it looks, and the share of the picture's height.

    Parameters
    ----------
    drawn : array of shape (n, 3)
        Everything that must be seen, in a box round the origin that is ``tall`` high.
    towards : array of shape (3,)
        Unit vector from where the eye looks to the eye.
    shape : float
        Width over height of the picture.
    """
    right = np.array([-towards[1], towards[0], 0]) / np.hypot(*towards[:2])
    up, lens = np.cross(towards, right), np.tan(np.pi / 8)

    def view(height: float) -> tuple[float, float, float]:
        seen = drawn - [0, 0, height]
        high, wide, near = seen @ up, np.abs(seen @ right), seen @ towards
        room = np.maximum(np.abs(high) / _FILL[1], wide / (_FILL[0] * shape)) / lens
        distance = float((near + room).max())
        ends = high / (distance - near) / lens
        return distance, float(abs(ends.max() + ends.min())), float(np.ptp(ends)) / 2

    # Near edges look longer than far ones, so the view is not centred on the middle of the box.
    # Where the width decides how near the eye comes, what is drawn stands half-way up.
    views = {height: view(height) for height in (np.linspace(-0.5, 0.5, 41) * tall).tolist()}
    nearest = min(distance for distance, _, _ in views.values())
    near = [height for height in views if views[height][0] < 1.01 * nearest]
    height = min(near, key=lambda height: views[height][1])
    return views[height][0], height, views[height][2]
