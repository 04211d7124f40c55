"""Tables of another length: index maps, methods, and what they do to a table."""

from posviz.interpolation.extend import Extended, extend
from posviz.interpolation.geometry import Geometry, geometry
from posviz.interpolation.grids import GRIDS, Grid
from posviz.interpolation.holdout import holdout
from posviz.interpolation.methods import METHODS, Method

__all__ = [
    "GRIDS",
    "METHODS",
    "Extended",
    "Geometry",
    "Grid",
    "Method",
    "extend",
    "geometry",
    "holdout",
]
