"""Figures and intervals from what was released. Post-processing: no row is seen here.

**Mean distances.** With N people, N' their released number and D = value + Z the released mean of ||n - N' p||_1, the figure is
f = 1/2 mean ||n / N - p||_1 and D / (2 N') differs from it by Z / (2 N') and, since ||n / N' - n / N||_1 = |N - N'| / N', by at
most |N - N'| / (2 N'). So 2 N' times the error is Z + h with |h| <= |N - N'|, both noises independent. For a given h the chance
of |Z + h| <= t falls with |h|, so it is at least that of |Z + N - N'| <= t, a normal with both variances, and

    D / (2 N') +- 1.96 sqrt(s_Z^2 + s_N^2) / (2 N')             holds f in at least 95 %.

**AUROC.** The released table of a model has people by class and binned score. With pos_b and neg_b its rows,

    A = sum_b pos_b (sum_{c < b} neg_c + neg_b / 2) / (sum pos sum neg),

the area of the binned score. Noise in pos and neg is independent, so the numerator has no bias. The mean over models gets the
interval of its standard deviation under redrawn noise around the released tables.

**Calibration.** The share R = pos / (pos + neg) of a bin is in the interval if (1 - R) pos - R neg, whose expectation is 0 and
whose noise has deviation s sqrt(R^2 + (1 - R)^2), is within 1.96 of them (Fieller): exact for normal noise, and all of
[0, 1] where the bin drowns in it.

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
SHARES = {"people": 0.1, "mean distances": 0.5, "score tables": 0.4}  # of the squared privacy loss
REDRAWS = 400
DROWNED = 5.0  # a class with fewer people than so many deviations of its noise has no AUROC
GRID = np.linspace(0.0, 1.0, 1001)


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
    return math.ceil(Z * math.hypot(deviation, noise["people"]) / (2.0 * half_width))


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


def auroc(tables: Sequence[np.ndarray], judged: Sequence[int], deviation: float, seed: int = 0) -> Figure:
    """Mean AUROC over tables [classes, bins], each of one model and the class that it is judged for."""
    random, found, drawn = np.random.default_rng(seed), [], []
    for table, number in zip(tables, judged, strict=True):
        table = np.asarray(table, float)
        noisy = table + deviation * random.standard_normal((REDRAWS, *table.shape))
        if min(table[number].sum(), table.sum() - table[number].sum()) < DROWNED * deviation * math.sqrt(table.size):
            return Figure(name="auroc", value=0.5, low=0.0, high=1.0)
        found.append(area(table[number], table.sum(axis=0) - table[number]))
        drawn.append(area(noisy[:, number], noisy.sum(axis=1) - noisy[:, number]))
    value, half = float(np.mean(found)), Z * float(np.mean(drawn, axis=0).std(ddof=1))
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in (value - half, value + half))
    return Figure(name="auroc", value=float(np.clip(value, 0.0, 1.0)), low=low, high=high)


def calibration(
    table: np.ndarray, positive: int, deviation: float, predicted: Sequence[float]
) -> tuple[CalibrationBin, ...]:
    """The share of the positive class in every bin of a table [classes, bins]."""
    found = []
    table = np.asarray(table, float)
    others = len(table) - 1  # their noise adds up
    for said, own, rest in zip(predicted, table[positive], table.sum(axis=0) - table[positive], strict=True):
        off = np.abs((1.0 - GRID) * own - GRID * rest)
        kept = GRID[off <= Z * deviation * np.sqrt(others * GRID**2 + (1.0 - GRID) ** 2)]
        observed = float(np.clip(own / (own + rest), 0.0, 1.0)) if own + rest > 0.0 else 0.5
        ends = (
            (kept.min() - GRID[1], kept.max() + GRID[1]) if len(kept) else (0.0, 1.0)
        )  # outwards to the next of the grid
        low, high = (float(np.clip(end, 0.0, 1.0)) for end in ends)
        found.append(CalibrationBin(predicted=float(said), observed=observed, low=low, high=high))
    return tuple(found)
