"""All the numbers of one table, each beside its nulls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import Decomposition, EffectiveRank, decompose
from posviz.analysis.measures import Cosine, Measures, Norms, along, measures, norms
from posviz.analysis.null_draws import (
    NullSummary,
    gaussian_draws,
    repeats_for,
    shuffles,
    sinusoidal_draw,
    summarised,
)
from posviz.analysis.repeats import equal_rows
from posviz.analysis.similarity import cosine_sums
from posviz.analysis.special import SpecialRow, Usable, judge_rows
from posviz.analysis.threads import at_once
from posviz.analysis.verdict import Sentence, verdict
from posviz.analysis.waves import Helix, PowerLine, helix
from posviz.errors import TableError

if TYPE_CHECKING:
    from posviz.table import Kind, PositionTable

Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Analysis(Measures):
    """Everything posviz says about one table; the keys of ``analyze --json`` and more.

    The fields of :class:`Measures` are those of the rows used.

    Parameters
    ----------
    ref, parameter : str, str or None
        Where the table came from.
    kind : {"learned", "sinusoidal", "random"}
    n_positions, d_model : int
        Of the whole table.
    special_rows : tuple of SpecialRow
        Found in the whole table, dropped or not.
    positions : array of shape (rows_used,)
        The positions of the rows that the numbers are of.
    helix : Helix
    usable : Usable
        Of the whole table.
    first_equal : array of shape (n_positions,)
        For each position the first one that has the same row.
    nulls : dict of NullSummary by key of NULLS
    decomposition : Decomposition
        The centred one of the rows used, from which spectrum and curves come.
    verdict : tuple of Sentence
        What the numbers say, in words.
    """

    ref: str
    parameter: str | None
    kind: Kind
    n_positions: int
    d_model: int
    special_rows: tuple[SpecialRow, ...]
    positions: NDArray[np.int64]
    helix: Helix
    usable: Usable
    first_equal: NDArray[np.intp]
    nulls: dict[str, NullSummary]
    decomposition: Decomposition
    verdict: tuple[Sentence, ...] = ()

    @property
    def rows_used(self) -> int:
        """How many rows the numbers are of."""
        return len(self.positions)

    @property
    def usable_length(self) -> int | None:
        """How many positions look trained; None where the rows alone cannot tell."""
        return self.usable.length

    def as_dict(self) -> dict[str, Any]:
        """The strict-JSON object of ``posviz analyze``: plain types, None for what is not."""
        own = {field.name: _plain(getattr(self, field.name)) for field in fields(Measures)}
        return {
            "ref": self.ref,
            "parameter": self.parameter,
            "n_positions": self.n_positions,
            "d_model": self.d_model,
            "special_rows": [asdict(row) for row in self.special_rows],
            "rows_used": self.rows_used,
            **own,
            "helix": {
                name: getattr(self.helix, name)
                for name in (
                    "turns",
                    "radius",
                    "radius_spread",
                    "axis_component",
                    "axis_correlation",
                )
            },
            "usable_length": self.usable_length,
            "usable_rule": self.usable.rule,
            "unusable_rows": list(self.usable.failing),
            "nulls": {key: null.as_dict() for key, null in self.nulls.items()},
            "verdict": [sentence.text for sentence in self.verdict],
        }


def analyze(
    table: PositionTable,
    *,
    exclude_special: bool = False,
    null_repeats: int | None = None,
    seed: int = 0,
) -> Analysis:
    """Every number of a table, and the same numbers of its nulls.

    Parameters
    ----------
    table : PositionTable
    exclude_special : bool
        Leave out the special rows; those that remain count as consecutive.
    null_repeats : int or None
        Draws of each random null; None takes as many as stay cheap at this size, at least one.
    seed : int
        Of the random nulls.

    Returns
    -------
    Analysis

    Raises
    ------
    TableError
        Every row is special, so none would be left.
    """
    first_equal = equal_rows(table.weights)
    special, usable = judge_rows(table.weights, first_equal)
    positions = np.arange(table.n_positions)
    if exclude_special and special:
        positions = np.delete(positions, [row.position for row in special])
        if not positions.size:
            raise TableError(
                f"{table.name}: at least one row must be left; all {table.n_positions} are "
                f"special. Keep the special rows."
            )
    rows = table.weights if len(positions) == table.n_positions else table.weights[positions]
    repeats = {
        key: repeats_for(key, rows) if null_repeats is None else null_repeats
        for key in ("gaussian", "shuffled")
    }
    with at_once() as pool:  # the longest first
        decomposed = pool.submit(decompose, rows)
        gaussian = pool.submit(gaussian_draws, rows, repeats=repeats["gaussian"], seed=seed)
        sums = [pool.submit(cosine_sums, rows, centred=centred) for centred in (False, True)]
        sinusoidal = pool.submit(sinusoidal_draw, *rows.shape)
        shuffled = pool.submit(lambda: list(shuffles(rows, repeats=repeats["shuffled"], seed=seed)))
        own = pool.submit(lambda: along(rows, *(part.result() for part in sums)))
    decomposition = decomposed.result()
    values = decomposition.singular_values
    draws = {
        "gaussian": gaussian.result(),
        # Shuffling keeps every singular value exactly.
        "shuffled": tuple(measures(values, *draw) for draw in shuffled.result()),
        "sinusoidal": (sinusoidal.result(),),
    }
    numbers = measures(values, norms(rows), own.result())
    analysis = Analysis(
        **{field.name: getattr(numbers, field.name) for field in fields(Measures)},
        ref=table.provenance.ref,
        parameter=table.provenance.parameter,
        kind=table.kind,
        n_positions=table.n_positions,
        d_model=table.d_model,
        special_rows=special,
        positions=positions,
        helix=helix(decomposition),
        usable=usable,
        first_equal=first_equal,
        nulls={key: summarised(key, drawn, seed=seed) for key, drawn in draws.items()},
        decomposition=decomposition,
    )
    return replace(analysis, verdict=verdict(analysis))


def _plain(value: Any) -> Any:
    """Arrays and dataclasses as lists and dicts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, EffectiveRank | Norms | Cosine | PowerLine):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
