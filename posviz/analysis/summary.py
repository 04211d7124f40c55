"""All the numbers of one table, each beside its nulls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posviz.analysis.decomposition import Decomposition, EffectiveRank, decompose
from posviz.analysis.measures import Cosine, Measures, Norms, Scalars, measure, nested
from posviz.analysis.nulls import NULLS, Null
from posviz.analysis.special import SpecialRow, Usable, judge_rows
from posviz.analysis.verdict import Sentence, verdict
from posviz.analysis.waves import Helix, PowerLine, helix
from posviz.errors import TableError

if TYPE_CHECKING:
    from posviz.table import Kind, PositionTable

Array = NDArray[np.floating]

NULL_EVERY_PAIR = 2048  # longer null tables go by Fourier: quicker, and no minimum
NULL_ROWS = 2048  # evenly spaced rows of a longer random null that stand for all of them
NULL_WORK = 1_000_000  # values in all draws of one null, at most MOST_REPEATS draws
MOST_REPEATS = 20


@dataclass(frozen=True, eq=False)
class NullSummary:
    """The same numbers on a null table: medians of its draws, and a band where there are several.

    Parameters
    ----------
    key : key of NULLS
    label : str
    repeats, seed : int
        How many draws, and the seed of their generator.
    order_rows : int
        Rows that cosines, roughness, turning cosine and power are of; norms and the spectrum are
        of all rows. Fewer than all only for long tables in random order.
    scalars : dict
        Median over the draws, by dotted name.
    low, high : dict
        5th and 95th percentile; equal to the median for a single draw.
    draws : tuple of Measures
    """

    key: str
    label: str
    repeats: int
    seed: int
    order_rows: int
    scalars: Scalars
    low: Scalars
    high: Scalars
    draws: tuple[Measures, ...]


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
            "nulls": {key: _null_dict(null) for key, null in self.nulls.items()},
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
    special, usable = judge_rows(table.weights)
    positions = np.arange(table.n_positions)
    if exclude_special and special:
        positions = np.delete(positions, [row.position for row in special])
        if not positions.size:
            raise TableError(
                f"{table.name}: at least one row must be left; all {table.n_positions} are "
                f"special. Keep the special rows."
            )
    rows = table.weights if len(positions) == table.n_positions else table.weights[positions]
    decomposition = decompose(rows)
    own = measure(rows, singular_values=decomposition.singular_values)
    if null_repeats is None:
        null_repeats = int(np.clip(NULL_WORK // rows.size, 1, MOST_REPEATS))
    analysis = Analysis(
        **{field.name: getattr(own, field.name) for field in fields(Measures)},
        ref=table.provenance.ref,
        parameter=table.provenance.parameter,
        kind=table.kind,
        n_positions=table.n_positions,
        d_model=table.d_model,
        special_rows=special,
        positions=positions,
        helix=helix(decomposition),
        usable=usable,
        nulls={
            key: _null(null, rows, own, repeats=null_repeats, seed=seed)
            for key, null in NULLS.items()
        },
        decomposition=decomposition,
    )
    return replace(analysis, verdict=verdict(analysis))


def _null(null: Null, rows: Array, own: Measures, *, repeats: int, seed: int) -> NullSummary:
    if null.fixed:
        draws: tuple[Measures, ...] = (_fixed_null(null.key, *rows.shape),)
    else:
        rng = np.random.default_rng(seed)
        draws = tuple(
            measure(
                null.make(rows, rng),
                singular_values=own.singular_values if null.keeps_spectrum else None,
                # The smallest of a sample says nothing of the smallest of all: none is looked for.
                every_pair=NULL_EVERY_PAIR if len(rows) <= NULL_ROWS else 0,
                order_rows=NULL_ROWS,
            )
            for _ in range(repeats)
        )
    low, median, high = (_percentile(draws, percent) for percent in (5, 50, 95))
    order_rows = len(draws[0].cosine.by_offset)
    return NullSummary(null.key, null.label, len(draws), seed, order_rows, median, low, high, draws)


@lru_cache(maxsize=16)
def _fixed_null(key: str, n_rows: int, d_model: int) -> Measures:
    shape_only = np.broadcast_to(np.float32(0), (n_rows, d_model))
    weights = NULLS[key].make(shape_only, np.random.default_rng(0))
    return measure(weights, every_pair=NULL_EVERY_PAIR)


def _percentile(draws: tuple[Measures, ...], percent: float) -> Scalars:
    columns = [draw.scalars() for draw in draws]
    if len(columns) == 1:
        return columns[0]
    result: Scalars = {}
    for name in columns[0]:
        known = sorted(value for column in columns if (value := column[name]) is not None)
        if not known:
            result[name] = None
        elif all(isinstance(value, int) for value in known):
            # Counts stay counts: the nearest draw, not a value between two.
            result[name] = known[round(percent / 100 * (len(known) - 1))]
        else:
            result[name] = float(
                np.interp(percent / 100 * (len(known) - 1), range(len(known)), known)
            )
    return result


def _null_dict(null: NullSummary) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "repeats": null.repeats,
        "seed": null.seed,
        "order_rows": null.order_rows,
        **nested(null.scalars),
    }
    summary["power"] = _plain(null.draws[0].power)
    return summary | {"low": nested(null.low), "high": nested(null.high)}


def _plain(value: Any) -> Any:
    """Arrays and dataclasses as lists and dicts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, EffectiveRank | Norms | Cosine | PowerLine):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
