"""What a table is like, in plain sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.analysis.repeats import in_words
from posviz.wording import count, counted, decimal, listed, percent, significant

if TYPE_CHECKING:
    from posviz.analysis.summary import Analysis

MOST_SENTENCES = 6
FEWEST_ROWS = 8  # below this no number says anything about a curve

# Where one word gives way to the next. They are judgements, kept in one place.
ORDERED = 0.3  # how far above shuffled rows neighbours' cosine, or the Toeplitz share, must be
FLAT = 0.75  # share of the variance that makes a curve live in its first components
LINE = 0.9  # the same of the first component alone
THIRD = 0.05  # the least a third component must hold to count as an axis
FULL_TURN = 0.9
AXIS = 0.8  # rank correlation with position that makes a component an axis
STRONG_LINE = 0.05  # share of the power that makes a period worth naming
MANY_TURNS = 10.0
JITTER_ROUGHNESS, JITTER_TURN = 0.5, -0.2
REBOUND, NEARBY = 0.05, 64  # how far similarity must rise again, and up to which offset


@dataclass(frozen=True)
class Sentence:
    """One plain sentence, and the address of the page that shows it.

    ``page`` is one of ``curve``, ``similarity``, ``spectrum``, ``interpolation``, ``dimensions``.
    """

    text: str
    page: str


def verdict(analysis: Analysis) -> tuple[Sentence, ...]:
    """Three to six sentences on a table, the first a short headline.

    Each is made from the numbers and stands only where they bear it; what the simple story of
    position tables gets wrong about this one is said too.

    Parameters
    ----------
    analysis : Analysis

    Returns
    -------
    tuple of Sentence
    """
    if analysis.explained_variance_ratio is None or analysis.rows_used < FEWEST_ROWS:
        return _hardly_a_table(analysis)
    return (_headline(analysis), *_body(analysis))[:MOST_SENTENCES]


def _hardly_a_table(analysis: Analysis) -> tuple[Sentence, ...]:
    rows = counted(analysis.rows_used, "row")
    if analysis.explained_variance_ratio is None:
        headline = "One row." if analysis.rows_used == 1 else "Every row is the same."
        why = "Nothing varies from position to position, so there is no curve and no spectrum."
        if analysis.rows_used > 1:
            why = f"Positions cannot be told apart: {why[0].lower()}{why[1:]}"
    else:
        headline = f"Only {rows}."
        why = f"{rows} are too few to tell a curve from chance; read every number with care."
    least, most = significant(analysis.norms.min), significant(analysis.norms.max)
    norms = f"The rows have norms from {least} to {most}"
    if least == most:
        norms = f"{'The' if analysis.rows_used == 1 else 'Every'} row has norm {least}"
    return (
        Sentence(headline, "curve"),
        Sentence(why[0].upper() + why[1:], "spectrum"),
        Sentence(f"{norms}.", "dimensions"),
    )


def _is_ordered(analysis: Analysis) -> bool:
    """Neighbours are alike, or at least similarity follows the offset (a fast wave)."""
    own = analysis.toeplitz_r2_centred
    return _beats_shuffled(analysis, own, "toeplitz_r2_centred") or _has_alike_neighbours(analysis)


def _has_alike_neighbours(analysis: Analysis) -> bool:
    own = analysis.cosine_centred.adjacent_mean
    return _beats_shuffled(analysis, own, "cosine_centred.adjacent_mean")


def _beats_shuffled(analysis: Analysis, own: float | None, name: str) -> bool:
    shuffled = analysis.nulls["shuffled"].high[name]
    return own is not None and own > ORDERED + max(shuffled or 0.0, 0.0)


def _headline(analysis: Analysis) -> Sentence:
    if not _is_ordered(analysis):
        gaussian = analysis.nulls["gaussian"].scalars["components.95"] or 0
        low_rank = (analysis.components["95"] or 0) < 0.7 * gaussian
        text = "Few directions, but no order." if low_rank else "Noise: no order along position."
        return Sentence(text, "similarity")
    first, second, third = (_share(analysis, k) for k in (1, 2, 3))
    helix = analysis.helix
    winds = (helix.turns or 0.0) >= FULL_TURN
    rises = helix.axis_component == 3 and abs(helix.axis_correlation or 0.0) >= AXIS
    if first >= LINE:
        text = "Nearly a straight line."
    elif third >= FLAT and third - second >= THIRD and winds and rises:
        text = "A helix in three dimensions."
    elif second >= FLAT and winds:
        steady = (helix.radius_spread or 0.0) < 0.15 * (helix.radius or 0.0)
        text = f"A {'circle' if steady else 'winding curve'} in two dimensions."
    elif second >= FLAT:
        text = "An arc in two dimensions."
    elif third >= FLAT:
        text = "A curve in three dimensions."
    elif _has_waves(analysis):
        return Sentence("Waves of several lengths, not one simple curve.", "dimensions")
    else:
        text = f"A smooth curve in {analysis.components['90']} dimensions."
    return Sentence(text, "curve")


def _has_waves(analysis: Analysis) -> bool:
    """Several strong periods that are not just the first harmonics of one slow curve."""
    fast = [
        line
        for line in analysis.power
        if line.share >= STRONG_LINE and line.period < analysis.rows_used / 4
    ]
    return bool(fast) or (analysis.helix.turns or 0.0) > MANY_TURNS


def _body(analysis: Analysis) -> Iterator[Sentence]:
    yield from _equal(analysis)
    yield _dimensions(analysis)
    yield _neighbours(analysis)
    yield from _low_rank_is_not_order(analysis)
    yield from _special(analysis)
    yield from _winding(analysis)
    yield from _jitter(analysis)


def _equal(analysis: Analysis) -> Iterator[Sentence]:
    zero = [row.position for row in analysis.special_rows if row.norm == 0]
    said = in_words(analysis.first_equal, zero=zero)
    if said is not None:
        text = f"{said[0].upper()}{said[1:]}: positions with equal rows cannot be told apart."
        yield Sentence(text, "similarity")


def _dimensions(analysis: Analysis) -> Sentence:
    k95 = analysis.components["95"]
    gaussian = analysis.nulls["gaussian"].scalars["components.95"]
    sinusoidal = analysis.nulls["sinusoidal"].scalars["components.95"]
    text = (
        f"Three components hold {percent(_share(analysis, 3))} of the variance and {count(k95)} "
        f"hold{'s' if k95 == 1 else ''} 95 %; Gaussian rows "
        f"of the same norms need {count(gaussian)}"
    )
    if analysis.kind == "sinusoidal":
        text += ". A sinusoidal table is not low-dimensional: learned tables need far fewer."
    else:
        text += f" and a sinusoidal table {count(sinusoidal)}."
    return Sentence(text, "spectrum")


def _neighbours(analysis: Analysis) -> Sentence:
    own = analysis.cosine_centred.adjacent_mean
    shuffled = analysis.nulls["shuffled"].scalars["cosine_centred.adjacent_mean"]
    numbers = (
        f"mean centred cosine {decimal(own)}, against {decimal(shuffled)} for the same "
        "rows in shuffled order"
    )
    if not _has_alike_neighbours(analysis):
        text = f"Neighbours are not alike: {numbers}."
        if _is_ordered(analysis):
            text += " Similarity follows the offset all the same: the waves are short."
        elif analysis.kind == "learned":
            text += " Training need not make them so: tasks of exact offsets are solved without."
        return Sentence(text, "similarity")
    again = _rebound(analysis)
    if again:
        low, high = again
        text = (
            f"Neighbours are alike ({numbers}), yet likeness does not simply fade: it dips at "
            f"offset {low} and rises again to offset {high}."
        )
    else:
        text = f"Neighbours are alike: {numbers}."
    return Sentence(text, "similarity")


def _low_rank_is_not_order(analysis: Analysis) -> Iterator[Sentence]:
    own = analysis.toeplitz_r2
    shuffled = analysis.nulls["shuffled"].scalars["toeplitz_r2"]
    if own is None or shuffled is None or own < shuffled + 0.1:
        return
    lesson = "The spectrum does not see" if analysis.kind == "sinusoidal" else "Low rank is not"
    yield Sentence(
        f"{lesson} order: shuffling the rows keeps this spectrum exactly, but the part of "
        f"similarity that offset alone explains falls from {percent(own, digits=0)} to "
        f"{percent(shuffled, digits=0)}.",
        "spectrum",
    )


def _special(analysis: Analysis) -> Iterator[Sentence]:
    rows = analysis.special_rows
    if not rows:
        return
    if len(rows) <= 2:
        named = " and ".join(f"row {count(row.position)} ({row.reason})" for row in rows)
    else:
        named = f"rows {listed([row.position for row in rows], most=5)}"
    verb, them = ("is", "it") if len(rows) == 1 else ("are", "them")
    text = f"{named[0].upper()}{named[1:]} {verb} unlike the rest"
    left_out = analysis.rows_used < analysis.n_positions
    text += "; left out here." if left_out else f"; leave {them} out to see the others better."
    failing = analysis.usable.failing
    if failing and analysis.usable_length is not None:
        every = counted(analysis.n_positions, "position")
        text += f" {count(analysis.usable_length)} of {every} look trained."
    yield Sentence(text, "curve")


def _winding(analysis: Analysis) -> Iterator[Sentence]:
    turns = analysis.helix.turns
    if turns is None or turns < MANY_TURNS or not _is_ordered(analysis):
        return
    yield Sentence(
        f"Do not look for an arc in the first two components: that plane winds {turns:.1f} times, "
        f"once in about {analysis.rows_used / turns:.1f} positions.",
        "curve",
    )


def _jitter(analysis: Analysis) -> Iterator[Sentence]:
    rough, turn = analysis.roughness, analysis.turning_cosine
    if rough is None or turn is None or rough > JITTER_ROUGHNESS or turn > JITTER_TURN:
        return
    yield Sentence(
        f"The curve is smooth from afar (roughness {significant(rough)}) but each step jitters: "
        f"turning cosine {significant(turn)}, where independent rows give −0.5.",
        "dimensions",
    )


def _rebound(analysis: Analysis) -> tuple[int, int] | None:
    """The first dip of similarity by offset and the peak after it, among nearby positions."""
    profile = analysis.cosine.by_offset[1 : min(analysis.rows_used // 8, NEARBY)]
    rising = [k for k in range(1, len(profile)) if profile[k] > profile[k - 1]]
    if not rising:
        return None
    dip = rising[0] - 1
    peak = dip + 1
    while peak + 1 < len(profile) and profile[peak + 1] > profile[peak]:
        peak += 1
    return (dip + 1, peak + 1) if profile[peak] - profile[dip] > REBOUND else None


def _share(analysis: Analysis, k: int) -> float:
    ratio = analysis.explained_variance_ratio
    return 0.0 if ratio is None else float(ratio[:k].sum())
