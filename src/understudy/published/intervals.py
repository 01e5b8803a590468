"""Figures and intervals from what was released. Post-processing: no row is seen here.

**Mean distances.** With N people, N' their released number and D = value + Z the released mean of ||n - N' p||_1, the figure is
f = 1/2 mean ||n / N - p||_1 and D / (2 N') differs from it by Z / (2 N') and, since ||n / N' - n / N||_1 = |N - N'| / N', by at
most |N - N'| / (2 N'). So 2 N' times the error is Z + h with |h| <= |N - N'|, both noises independent. For a given h the chance
of |Z + h| <= t falls with |h|, so it is at least that of |Z + N - N'| <= t, a normal with both variances, and

    D / (2 N') +- 1.96 sqrt(s_Z^2 + s_N^2) / (2 N')             holds f in at least 95 %.

**AUROC.** The released table of a model has people by class and binned score. With pos_b and neg_b its rows,

    A = sum_b pos_b (sum_{c < b} neg_c + neg_b / 2) / (sum pos sum neg),

the area of the binned score. With p, n the counts without noise, x, y their noise of deviations s_x, s_y, and the matrix
W = [c < b] + [c = b] / 2 - A at the true A, p' W n = 0 and

    pos' W neg = x' W n + p' W y + x' W y        has mean 0 and variance  s_x^2 |W n|^2 + s_y^2 |W' p|^2 + s_x^2 s_y^2 |W|^2,

so that A is off by pos' W neg / (sum pos sum neg). With the released counts for n and p the first two terms are too large by the
third each: s_x^2 |W neg|^2 + s_y^2 |W' pos|^2 - s_x^2 s_y^2 |W|^2 has the right mean (and never less than the third term is
taken). Tables of models have independent noise: the variance of the mean over K of them is the sum over K^2.

**Shares** (calibration; people whom a stand-in leaves out). The share R = pos / (pos + neg) of a bin is in the interval if
(1 - R) pos - R neg, whose expectation is 0 and whose noise has deviation s sqrt(R^2 + (1 - R)^2), is within 1.96 of them
(Fieller): exact for normal noise, and all of [0, 1] where the bin drowns in it.

**How many people?** `people_needed` says from how many on intervals of mean distances have a given half width.
"""

import math
from collections.abc import Sequence

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Budget, noise_scale
from understudy.published.result import CalibrationBin, Figure

LEVEL = 0.95
Z = 1.959964
SHARES = {"people": 0.15, "mean distances": 0.5, "score tables": 0.35}  # of the squared privacy loss
NUMBER = 2.0 / 3.0  # of the part of "people": how many there are; the rest: how many are unseen
DROWNED = 5.0  # a class with fewer people than so many deviations of the noise on their number has no AUROC
TRIED = np.linspace(0.0, 1.0, 1001)  # values of a share, for its interval


def scales(budget: Budget, scored: bool) -> dict[str, float]:
    """Noise multipliers of the three answers; without a class label there are two."""
    parts = {name: part for name, part in SHARES.items() if scored or name != "score tables"}
    whole = sum(parts.values())
    factor = noise_scale(budget, lambda s: [dpa.GaussianDpEvent(s * math.sqrt(whole / p)) for p in parts.values()])
    return {name: factor * math.sqrt(whole / part) for name, part in parts.items()}


def people_needed(
    epsilon: float, delta: float = 1e-5, half_width: float = 0.01, *, stand_ins: int = 1, scored: bool = True
) -> int:
    """From how many people on the intervals of mean distances are at most `half_width` to either side."""
    noise = scales(Budget(epsilon, delta), scored)
    deviation = noise["mean distances"] * math.sqrt(5 * stand_ins)
    return math.ceil(Z * math.hypot(deviation, noise["people"] / math.sqrt(NUMBER)) / (2.0 * half_width))


def number_of(released: float, deviation: float) -> Figure:
    """How many people there are."""
    half = Z * deviation
    return Figure(name="people", value=released, low=max(released - half, 0.0), high=released + half)


def distance(
    name: str, released: float, people: float, deviation: float, people_deviation: float, floor: float
) -> Figure:
    """A mean distance with its interval; of hardly anybody nothing is known."""
    if people <= 3.0 * people_deviation:
        return Figure(name=name, value=0.5, low=0.0, high=1.0, floor=floor)
    value = released / (2.0 * people)
    half = Z * math.hypot(deviation, people_deviation) / (2.0 * people)
    return Figure(
        name=name,
        value=float(np.clip(value, 0.0, 1.0)),
        low=float(np.clip(value - half, 0.0, 1.0)),
        high=float(np.clip(value + half, 0.0, 1.0)),
        floor=floor,
    )


def area(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """AUROC of binned scores, bins along the last axis."""
    below = np.cumsum(negative, axis=-1) - 0.5 * negative
    whole = positive.sum(axis=-1) * negative.sum(axis=-1)
    return np.asarray((positive * below).sum(axis=-1) / whole)


def auroc(tables: Sequence[np.ndarray], judged: Sequence[int], deviation: float) -> Figure:
    """Mean AUROC over tables [classes, bins], each of one model and the class that it is judged for."""
    found, variances = [], []
    for table, number in zip(tables, judged, strict=True):
        table = np.asarray(table, float)
        positive, negative = table[number], table.sum(axis=0) - table[number]
        others = deviation * math.sqrt(len(table) - 1)  # the noise of all other classes together
        least = DROWNED * math.sqrt(table.shape[1])
        if positive.sum() < least * deviation or negative.sum() < least * others:
            return Figure(name="auroc", value=0.5, low=0.0, high=1.0)
        found.append(float(area(positive, negative)))
        variances.append(area_variance(positive, negative, deviation, others))
    value, half = float(np.mean(found)), Z * math.sqrt(sum(variances)) / len(found)
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in (value - half, value + half))
    return Figure(name="auroc", value=float(np.clip(value, 0.0, 1.0)), low=low, high=high)


def area_variance(positive: np.ndarray, negative: np.ndarray, own: float, others: float) -> float:
    """Of the area of noisy counts whose noise has the deviations `own` and `others`."""
    bins = len(positive)
    ranks = np.tril(np.ones((bins, bins))) - 0.5 * np.eye(bins)  # row b, column c: 1 for c < b, 1/2 for c = b
    weights = ranks - float(area(positive, negative))
    both = (own * others) ** 2 * float((weights**2).sum())
    single = own**2 * float(((weights @ negative) ** 2).sum()) + others**2 * float(((positive @ weights) ** 2).sum())
    return max(single - both, both) / float(positive.sum() * negative.sum()) ** 2


def share(own: float, rest: float, deviation: float, others: int = 1) -> tuple[float, float, float]:
    """own / (own + rest) and its interval; the noise of `rest` is that of so many counts together."""
    off = np.abs((1.0 - TRIED) * own - TRIED * rest)
    kept = TRIED[off <= Z * deviation * np.sqrt(others * TRIED**2 + (1.0 - TRIED) ** 2)]
    value = float(np.clip(own / (own + rest), 0.0, 1.0)) if own + rest > 0.0 else 0.5
    if len(kept) == 0:
        return value, 0.0, 1.0
    return value, max(float(kept.min() - TRIED[1]), 0.0), min(float(kept.max() + TRIED[1]), 1.0)  # outwards on the grid


def calibration(
    table: np.ndarray, positive: int, deviation: float, predicted: Sequence[float]
) -> tuple[CalibrationBin, ...]:
    """The share of the positive class in every bin of a table [classes, bins]."""
    table = np.asarray(table, float)
    each = zip(predicted, table[positive], table.sum(axis=0) - table[positive], strict=True)
    found = [(said, *share(own, rest, deviation, len(table) - 1)) for said, own, rest in each]
    return tuple(CalibrationBin(predicted=float(said), observed=o, low=low, high=high) for said, o, low, high in found)


def left_out(table: np.ndarray, deviation: float, floor: float) -> Figure:
    """The share of people with a pair of values that the stand-in has not, from [seen, unseen]."""
    value, low, high = share(float(table[1]), float(table[0]), deviation)
    return Figure(name="unseen", value=value, low=low, high=high, floor=floor)


def k_marginal(measures: Sequence[Figure]) -> Figure | None:
    """NIST's score 1000 (1 - mean total variation of three columns), from the distance that was released."""
    for one in measures:
        if one.name == "three-way":
            value, low, high = (1000.0 * (1.0 - part) for part in (one.value, one.high, one.low))
            floor = None if one.floor is None else 1000.0 * (1.0 - one.floor)
            return Figure(name="k-marginal", value=value, low=low, high=high, floor=floor)
    return None
