"""How a table gets its new length: the settings of ``extend`` as one value that can be repeated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from posviz.interpolation import METHODS, Extended, extend

if TYPE_CHECKING:
    from posviz.table import PositionTable


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The arguments of :func:`posviz.interpolation.extend`."""

    length: int | None = None
    method: str = "linear"
    grid: str = "align-corners"
    keep: str = ""
    seed: int = 0
    grid_size: tuple[int, int] | None = None
    antialias: bool = False

    def apply(self, table: PositionTable) -> Extended:
        """The table at its new length; raises SettingError as ``extend`` does."""
        return extend(table, self.length, **self._settings())

    def said(self) -> dict[str, object]:
        """The settings that matter and differ from their defaults, the method always."""
        usual = asdict(Recipe())
        chosen = {key: value for key, value in asdict(self).items() if value != usual[key]}
        method = METHODS.get(self.method)
        if method is not None and method.uses_grid:
            chosen["grid"] = self.grid
        if method is not None and method.family == "resample":
            chosen.pop("seed", None)
        return {"length": self.length, "method": self.method, **chosen} if self.length else {
            "method": self.method, **chosen,
        }  # fmt: skip

    def _settings(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "length"}
