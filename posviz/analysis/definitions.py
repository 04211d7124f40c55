"""What every number means: one entry a number, the same for pages, docs and tests.

Keys are those of the JSON of ``analyze``, ``compare`` and ``extend``, dotted where they are
nested. Notation: P is the table, row p_i for each of L positions, d numbers wide; m the mean row;
s the singular values of the centred table, q = s² / Σ s²; C the cosine matrix, m(k) the mean of
its k-th diagonal; D_i = p_(i+1) - p_i.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Values:
    """A number's value on three tables, to three figures: something to compare with.

    ``random:512x768``, ``sinusoidal:512x768`` and GPT-2's own table (1024 × 768).
    """

    random: float | None
    sinusoidal: float | None
    trained: float | None


@dataclass(frozen=True)
class Definition:
    """One number: what it is called, how it is computed and how to read it.

    Parameters
    ----------
    key, label : str
        Dotted name in the JSON, and the name on screen.
    formula : str
        In plain text.
    centred : bool or None
        Whether the mean row is taken away first; None where it makes no difference.
    range : str
        Smallest and largest possible value, or the unit.
    reading : str
        What a high or low value says.
    source : str
        Where the definition comes from.
    values : Values or None
        None where there is no one number.
    """

    key: str
    label: str
    formula: str
    centred: bool | None
    range: str
    reading: str
    source: str
    values: Values | None = None


_DIMENSION = "How many dimensions the curve has, by one count; fewer is simpler."
_ROWS = "Rows much longer or shorter than the median are special."
_SHARE, _COSINE, _RANK = "0 to 1", "-1 to 1", "1 to rank"
_WEIGHTS = "0 and up, in the units of the weights"
_PROBE = "after Wang and Chen (2020), arXiv:2010.04903"
_COSINES = "cosine similarity"
_TISA = "R²; translation invariance after Wennberg and Henter (2021), arXiv:2106.01950"
_SIMON = "after Simon, “GPT-2's positional embeddings”, james-simon.github.io"
_YEDIDIA = "after Yedidia, “GPT-2's positional embedding matrix is a helix”, LessWrong"
_LENGTH = "Euclidean length"

# One entry is key, label, formula, centred, range, reading, source, values.
# fmt: off
DEFINITIONS: dict[str, Definition] = {
    definition.key: definition
    for definition in (
        # The spectrum
        Definition("singular_values", "Singular values", "s of P - m, largest first", True,
                   _WEIGHTS, "A few large ones and a floor: the table lives in few dimensions.",
                   "Eckart and Young (1936)"),
        Definition("explained_variance_ratio", "Explained variance", "q = s² / Σ s²", True,
                   "0 to 1, adding up to 1", "How much of the table each component holds.",
                   "Pearson (1901), principal components"),
        Definition("components.90", "Components for 90 %", "the fewest k with q_1 + … + q_k ≥ 0.90",
                   True, "1 to min(L - 1, d)", _DIMENSION, "cumulative explained variance",
                   Values(310, 90, 3)),
        Definition("components.95", "Components for 95 %", "the fewest k with q_1 + … + q_k ≥ 0.95",
                   True, "1 to min(L - 1, d)", _DIMENSION, "cumulative explained variance",
                   Values(367, 111, 5)),
        Definition("components.99", "Components for 99 %", "the fewest k with q_1 + … + q_k ≥ 0.99",
                   True, "1 to min(L - 1, d)", _DIMENSION, "cumulative explained variance",
                   Values(453, 133, 10)),
        Definition("effective_rank.singular_entropy", "Effective rank (singular values)",
                   "exp(-Σ r log r), r = s / Σ s", True, _RANK,
                   "How many dimensions the curve has, by one count; fewer is simpler. Small "
                   "values count most here.", "Roy and Vetterli (2007), EUSIPCO",
                   Values(457, 121, 38.5)),
        Definition("effective_rank.variance_entropy", "Effective rank (variances)",
                   "exp(-Σ q log q)", True, _RANK, _DIMENSION,
                   "Roy and Vetterli (2007), EUSIPCO, applied to variances",
                   Values(365, 59.1, 4.49)),
        Definition("effective_rank.participation", "Participation ratio", "(Σ s²)² / Σ s⁴", True,
                   _RANK, _DIMENSION, "inverse Simpson index of q", Values(306, 24.1, 3.59)),
        Definition("effective_rank.stable", "Stable rank", "Σ s² / max s²", True, _RANK,
                   "How many dimensions the curve has, by one count; fewer is simpler. Only the "
                   "largest is compared.",
                   "Rudelson and Vershynin (2007), there called numerical rank",
                   Values(157, 6.8, 2.99)),
        # Rows
        Definition("norms.first", "Norm, first", "first of |p_i|", False, _WEIGHTS, _ROWS, _LENGTH,
                   Values(0.554, 19.6, 9.88)),
        Definition("norms.last", "Norm, last", "last of |p_i|", False, _WEIGHTS, _ROWS, _LENGTH,
                   Values(0.542, 19.6, 0.118)),
        Definition("norms.median", "Norm, median", "median of |p_i|", False, _WEIGHTS, _ROWS,
                   _LENGTH, Values(0.556, 19.6, 3.37)),
        Definition("norms.min", "Norm, min", "min of |p_i|", False, _WEIGHTS, _ROWS, _LENGTH,
                   Values(0.514, 19.6, 0.118)),
        Definition("norms.max", "Norm, max", "max of |p_i|", False, _WEIGHTS, _ROWS, _LENGTH,
                   Values(0.61, 19.6, 9.88)),
        Definition("special_rows", "Special rows",
                   "|p_i| over 2.5 or under 0.4 of the median and over 8 robust deviations away "
                   "in log norm, or a zero row, or a row unlike its neighbours in an ordered table",
                   False, "positions", "Look at them by themselves, and at the rest without them.",
                   "posviz/analysis/special.py"),
        Definition("usable_length", "Usable length", "positions whose rows look trained", False,
                   "0 to L, or unknown",
                   "Rows that training never reached, or equal to an earlier one, do not count.",
                   "posviz/analysis/special.py", Values(None, 512, 1023)),
        # Similarity
        Definition("cosine.adjacent_mean", "Neighbours' cosine", "mean of C over pairs (i, i + 1)",
                   False, _COSINE, "Near 1: neighbours point the same way. Near 0: they do not.",
                   _COSINES, Values(0.00553, 0.973, 0.997)),
        Definition("cosine.mean", "Mean cosine", "mean of C over pairs i < j", False, _COSINE,
                   "How much all rows share one direction.", _COSINES,
                   Values(0.000103, 0.42, 0.0305)),
        Definition("cosine.min", "Smallest cosine", "min of C", False, _COSINE,
                   "Below 0: some positions point opposite ways.", _COSINES,
                   Values(-0.162, 0.244, -0.866)),
        Definition("cosine.by_offset", "Cosine by offset", "m(k) = mean of C over pairs (i, i + k)",
                   False, _COSINE, "Falls with k on a simple curve; dips and rises again on waves.",
                   _COSINES),
        Definition("cosine_centred.adjacent_mean", "Neighbours' centred cosine",
                   "mean of C over pairs (i, i + 1)", True, _COSINE,
                   "Near 1: neighbours point the same way. Near 0: they do not.", _COSINES,
                   Values(0.00348, 0.954, 0.998)),
        Definition("cosine_centred.mean", "Mean centred cosine", "mean of C over pairs i < j", True,
                   _COSINE, "How much all rows share one direction.", _COSINES,
                   Values(-0.00196, -0.00187, -0.000759)),
        Definition("cosine_centred.min", "Smallest centred cosine", "min of C", True, _COSINE,
                   "Below 0: some positions point opposite ways.", _COSINES,
                   Values(-0.162, -0.219, -0.954)),
        Definition("cosine_centred.by_offset", "Centred cosine by offset",
                   "m(k) = mean of C over pairs (i, i + k)", True, _COSINE,
                   "Falls with k on a simple curve; dips and rises again on waves.", _COSINES),
        Definition("toeplitz_r2", "Toeplitz share",
                   "1 - Σ (C_ij - m(j - i))² / Σ (C_ij - mean)² over pairs i < j", False, _SHARE,
                   "1: similarity depends on the offset alone. 0: not at all.",
                   _TISA,
                   Values(0.00388, 1, 0.802)),
        Definition("toeplitz_r2_centred", "Toeplitz share, centred",
                   "1 - Σ (C_ij - m(j - i))² / Σ (C_ij - mean)² over pairs i < j", True, _SHARE,
                   "1: similarity depends on the offset alone. 0: not at all.",
                   _TISA,
                   Values(0.00387, 0.968, 0.795)),
        # From one position to the next
        Definition("roughness", "Roughness", "Σ |D_i|² / Σ |p_i - m|²", True, "0 to 4",
                   "0: smooth. 2: independent rows.", "von Neumann (1941)",
                   Values(1.99, 0.0919, 0.0102)),
        Definition("turning_cosine", "Turning cosine", "mean cosine of D_i and D_(i+1)", None,
                   _COSINE, "Near 1: a smooth path. Near -1/2: every step is jitter.",
                   "independent rows: -1/2 exactly, since cov(D_i, D_(i+1)) = -σ²",
                   Values(-0.496, 0.762, -0.391)),
        Definition("power", "Power by period",
                   "Hann window, |FFT along position|² summed over dimensions; strongest bin with "
                   "two on each side makes a line", True, "0 to 1 a line",
                   "One slow line: a simple curve. Several: waves.", "periodogram",
                   Values(0.0209, 0.35, 0.982)),
        # The helix
        Definition("helix.turns", "Turns", "unwrapped angle of PC2 over PC1, last - first, / 2π",
                   True, "0 and up, without sign", "How often the first two components wind.",
                   _YEDIDIA, Values(10.1, 0.708, 3.61)),
        Definition("helix.radius", "Radius", "mean of (PC1² + PC2²)^½", True, _WEIGHTS,
                   "Size of the winding.", _YEDIDIA, Values(0.0556, 7.09, 2.64)),
        Definition("helix.radius_spread", "Radius spread", "standard deviation of the same", True,
                   _WEIGHTS, "Small beside the radius: a round helix.", _YEDIDIA,
                   Values(0.0288, 1.18, 0.65)),
        Definition("helix.axis_component", "Axis component",
                   "of the first 10, the one with the largest |Spearman correlation with i|", True,
                   "1 to 10", "Which component runs along position.", "Spearman (1904)",
                   Values(2, 1, 3)),
        Definition("helix.axis_correlation", "Axis correlation", "that Spearman correlation", True,
                   _COSINE, "±1: the component puts positions in order.", "Spearman (1904)",
                   Values(0.0839, -0.959, 0.978)),
        Definition("helix_fit", "Helix fit",
                   "R² of z = A exp(i (w p + φ)) for z = PC1 + i PC2, w at the Fourier peak", True,
                   _SHARE, "1: a steady circle.", "least squares", Values(0.0119, 0.935, 0.808)),
        Definition("helix_fit.period", "Period of the fit", "1 / |w|, in positions for one turn",
                   True, "over 1, in positions", "How many positions one turn takes.",
                   "least squares", Values(2.16, 588, 550)),
        Definition("helix_fit.amplitude", "Radius of the fit", "A", True, _WEIGHTS,
                   "Near the mean radius: a steady circle.", "least squares",
                   Values(0.00683, 6.95, 2.44)),
        Definition("helix_fit.phase", "Phase of the fit", "φ, the angle at the first row", True,
                   "-π to π, in radians", "Where the circle begins.", "least squares",
                   Values(-1.98, 1.16, 0.889)),
        Definition("helix_fit.axis_slope", "Slope along the axis",
                   "slope of the straight line through the axis component", True,
                   "in the units of the weights a position", "How fast the helix rises.",
                   "least squares", Values(2.56e-05, -0.0374, 0.00542)),
        Definition("helix_fit.axis_r2", "Straightness of the axis", "R² of that line", True, _SHARE,
                   "1: the helix rises evenly.", "least squares", Values(0.00728, 0.937, 0.929)),
        # Order, probes, coordinates
        Definition("nearest_neighbour_order", "Nearest-neighbour order",
                   "share of i whose most similar other row is i ± 1", True, _SHARE,
                   "1: neighbours are nearest. Jitter or short waves lower it.", "centred cosine",
                   Values(0.00977, 1, 0.867)),
        Definition("seriation", "Seriation",
                   "|Kendall's tau| of the Fiedler order of the 8-nearest graph with 0 … L - 1",
                   True, _SHARE, "1: the order can be read off the rows alone.",
                   "Atkins, Boman and Hendrickson (1998)", Values(0.0184, 1, 1)),
        Definition("low_dct_share", "Slow share",
                   "energy of the DCT-II along position in bins 1 to 8, over all bins but 0", True,
                   _SHARE, "1: only slow waves.", "orthonormal DCT-II; 8 bins are a choice",
                   Values(0.0159, 0.448, 0.941)),
        Definition("position_probe", "Position probe",
                   "mean |predicted - i|, ridge, 5 folds, first 512 rows", False,
                   "0 and up, in positions", "0: a linear reader knows every position.", _PROBE,
                   Values(129, 0, 1.09)),
        Definition("relative_order_error", "Order probe error",
                   "share of wrong answers to j > i from [p_i; p_j], logistic, 5 folds, 512 pairs",
                   False, _SHARE, "0.5: guessing. Rows over 1,000 or under 0.001 long are "
                   "brought to length 1 first.", _PROBE, Values(0.391, 0.0391, 0.0195)),
        Definition("coordinate_energy", "Energy in 64 dimensions",
                   "share of Σ var_j in the 64 largest dimensions", True, _SHARE,
                   "Near 1: position is written in few dimensions.", _SIMON,
                   Values(0.0931, 0.149, 0.989)),
        Definition("dimensions_for_90", "Dimensions for 90 %",
                   "the fewest dimensions whose var_j add up to 0.90 Σ var_j", True, "1 to d",
                   "Few: position is written in few dimensions of the model.", _SIMON,
                   Values(683, 401, 47)),
        # Comparing
        Definition("cka", "CKA", "|X'Y|² / (|X'X| |Y'Y|), Frobenius norms", True, _SHARE,
                   "1: the same shape up to rotation. Read it beside its shuffled null.",
                   "Kornblith et al. (2019), arXiv:1905.00414"),
        Definition("cka_null", "CKA of shuffled rows", "95th percentile over shuffles of Y", True,
                   _SHARE, "CKA above it is more than chance.",
                   "Kornblith et al. (2019), arXiv:1905.00414"),
        Definition("procrustes", "Procrustes residual",
                   "1 - (Σ singular values of X'Y)², X and Y of unit size", True, _SHARE,
                   "0: one is the other rotated and scaled.", "Schönemann (1966)"),
        Definition("procrustes_null", "Procrustes residual of shuffled rows",
                   "5th percentile over shuffles of Y", True, _SHARE,
                   "A residual below it is more than chance.", "Schönemann (1966)"),
        Definition("cosine_agreement", "Agreement of cosines",
                   "correlation of C of both tables over pairs i < j", False, _COSINE,
                   "1: the same positions look alike in both.",
                   "Kriegeskorte, Mur and Bandettini (2008)"),
        Definition("cosine_agreement_null", "Agreement of shuffled rows",
                   "95th percentile over shuffles of Y", False, _COSINE,
                   "Agreement above it is more than chance.",
                   "Kriegeskorte, Mur and Bandettini (2008)"),
        Definition("principal_angles", "Principal angles",
                   "arccos of the singular values of V_a V_b', first 10 axes", True,
                   "0 to 90 degrees", "Near 90: different directions of the model's space.",
                   "Björck and Golub (1973)"),
        # Stretching
        Definition("step_median", "Step, median", "median of |D_i|", None, _WEIGHTS,
                   "Halves when a smooth table is stretched to twice its length.", _LENGTH,
                   Values(0.784, 4.52, 0.155)),
        Definition("step_max", "Step, largest", "max of |D_i|", None, _WEIGHTS,
                   "A seam or a special row shows here.", _LENGTH, Values(0.841, 4.52, 8.41)),
        Definition("min_norm", "Norm, smallest", "min of |p_i|", False, _WEIGHTS,
                   "Near 0: a dead row.", _LENGTH, Values(0.514, 19.6, 0.118)),
        Definition("holdout", "Hold-out error",
                   "|rebuilt - true| / |true - mean| over rows 1, 3, 5, …; 8 rows at each end "
                   "unscored", True, "0 and up",
                   "0: rebuilt exactly. 1: no better than the mean row.",
                   "every second row left out; the values are those of straight lines",
                   Values(1.22, 0.105, 0.0398)),
        Definition("curvature", "Curvature",
                   "root mean square of |p_(i+1) - 2 p_i + p_(i-1)|", None, _WEIGHTS,
                   "A quarter for a smooth curve of twice as many rows; straight lines between "
                   "the old rows keep corners and have √2 times that.", "second difference"),
        Definition("sampling_limit", "Sampling limit", "2 (L - 1) / (L' - 1), at least 2", None,
                   "2 and up, in old positions",
                   "Waves with a shorter period cannot be told from slower ones in the new rows.",
                   "Nyquist (1928), Shannon (1949)"),
        Definition("share_lost", "Power below the limit",
                   "Σ of the power shares at periods under the sampling limit", True, _SHARE,
                   "0: nothing is lost by shrinking. 1: every wave turns into another one.",
                   "sampling limit and power by period"),
        Definition("appears_as", "Seen as a period of",
                   "1 / |f - round(f)|, f = (L - 1) / (L' - 1) / period", None,
                   "2 and up, in new positions",
                   "Below the limit this is another, slower wave than the table had.",
                   "aliasing: the folded frequency"),
        Definition("linear_height", "Height on straight lines", "cos(π / period)", None, _SHARE,
                   "What linear interpolation leaves of a wave halfway between two rows.",
                   "the mean of two samples half a row from a crest"),
        Definition("model_loss", "Loss", "mean of -ln(probability of the right symbol)", None,
                   "0 and up, in nats", "ln(vocabulary): the model knows nothing. Lower is better.",
                   "cross entropy, Shannon (1948)"),
        Definition("perplexity", "Perplexity", "exp(loss)", None, "1 and up, in symbols",
                   "Among how many equally likely symbols the model hesitates.",
                   "Jelinek, Mercer, Bahl and Baker (1977)"),
        Definition("token_drift", "Token vectors kept",
                   "mean cosine of each token's last hidden state with the old and the new table",
                   False, _COSINE, "1: the encoder reads as before.", _COSINES),
        Definition("sentence_drift", "Sentence vectors kept",
                   "cosine of the mean of the last hidden states with the old and the new table",
                   False, _COSINE, "1: sentences stand where they stood. Texts longer than the "
                   "old table are held against their parts.", _COSINES),
        # Inside the model: t, p and g are the token, position and segment row of a token
        Definition("part_length", "Length of a part", "|t|, |p|, |g|, and |t + p + g| of the sum",
                   False, _WEIGHTS, "A part much shorter than the others says little in the sum.",
                   _LENGTH),
        Definition("length_ratio", "Position's length to the token's", "median of |p| / |t|", False,
                   "0 and up", "1: both are equally long. Near 0: position is hardly heard.",
                   _LENGTH),
        Definition("token_position_angle", "Angle of token and position",
                   "median angle between t and p", False, "0 to 180 degrees",
                   "90: neither disturbs the other in the sum.", "cosine of the two rows"),
        Definition("sum_token_cosine", "Sum and its token", "median cosine of t + p + g and t",
                   False, _COSINE, "Near 1: the sum still points where the token does.",
                   "cosine of the two rows"),
        Definition("sum_moved", "Turn of the sum",
                   "median angle between the sum of a token at its old and its new place", False,
                   "0 to 180 degrees", "How much of the input depends on where the token stands.",
                   "phase shift: Sinha et al. (2022), arXiv:2210.12574"),
        Definition("subspace_overlap", "Overlap of the subspaces",
                   "mean cos² of the principal angles between the leading k directions of the "
                   "token and of the position table", False, _SHARE,
                   "0: orthogonal. Random directions: about k / d.", "Björck and Golub (1973)"),
        Definition("token_projection", "Token direction in position's space",
                   "v'Πv for each singular direction v of the token table, Π onto the leading k "
                   "directions of positions", False, _SHARE,
                   "High only at the end: positions live where tokens do not.", _SIMON),
        Definition("token_position_max", "Largest cosine of token and position",
                   "the cosine of largest size over every token and position", False, _COSINE,
                   "Smaller than for random rows: the two tables avoid each other.",
                   "every token of the table"),
        Definition("token_energy", "Token energy in position's dimensions",
                   "share of Σ t² in the dimensions that hold 90 % of the variance of positions",
                   False, _SHARE, "Below m / d: tokens keep out of position's m dimensions.",
                   _SIMON),
        Definition("head_attention", "Attention from position alone",
                   "mean over i of softmax_j ((x_i Wq + bq) · x_j Wk / √d_k) at each j - i, x the "
                   "position row after the layer norms on the way", False, _SHARE,
                   "Where a head would look if all tokens were the same.",
                   "Wennberg and Henter (2021), TISA"),
        Definition("head_concentration", "How positional a head is",
                   "1 - entropy of that attention / log of the positions seen, mean over i", False,
                   _SHARE, "0: position alone says nothing. 1: it picks one position.",
                   "Shannon (1948), normalised entropy"),
        Definition("head_toeplitz", "Toeplitz share of the scores",
                   "1 - Σ (F_ij - m(j - i))² / Σ (F_ij - mean)² over i ≠ j that are seen, F the "
                   "scores from position alone", False, _SHARE,
                   "1: the head reads distance alone. 0: places, not distances.",
                   "Wennberg and Henter (2021), TISA"),
        Definition("score_share", "Share of the score",
                   "covariance with the whole score over its variance, each row of scores about "
                   "its mean", True, "adding up to 1; below 0 works against the rest",
                   "How much of what tells keys apart comes from this part.",
                   "first-layer score split by who asks and who answers"),
        Definition("ablation_loss", "Loss with a spoilt table",
                   "mean cross entropy of the scored symbols", None, "0 and up, in nats",
                   "As high as with all rows zero: the order was all there was.",
                   "posviz/model/ablations.py"),
        Definition("length_loss", "Loss past the last row",
                   "mean cross entropy of the scored symbols in sequences of each length", None,
                   "0 and up, in nats",
                   "Rising with the length: the rows there are no longer those that were trained.",
                   "posviz/model/reach.py"),
    )
}
# fmt: on
