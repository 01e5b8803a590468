"""What is asked of a table so small that products of columns would be noise: class means, again and again.

With a few hundred rows what is left to learn is in which columns the classes differ. Every class answer of the plan then asks
the same thing, the class means, and their average counts:

    look i      per class the sum of (x - c, a z, a b (|z| - E|z|)), clipped at one radius; x without a block's usual outcome

c is the estimate after the last look, class by class, so that later looks see small vectors. Off the usual outcome of its
column a row has few coordinates, so the radius, hence the noise, is that of a few columns and not of all. Made of it:

    common      the mean over all classes; outcomes that cannot be told from absent are absent, in every class
    deviation   of each class from the common mean, as far as it stands out from its noise (`understudy.measure.shrinkage`): in a
                small table few columns tell the classes apart, and the others must look alike in all classes

The constants were set on ten splits of cervical cancer, breast cancer was kept aside (`python -m benchmarks.few_rows`).
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from understudy.measure.class_moments import ROOM, SPREAD, ClassFeatures, class_densities, clipped_means
from understudy.measure.shrinkage import shrink_alone
from understudy.private import Curator
from understudy.questions.row_maps import Entry, Label, Places, joined

HIDDEN_RATE = 0.03  # rate off the usual outcome that is allowed for in a column where noise hides it
NUMERIC_PART = 0.2  # of a row's expected squared length may be the scores of numeric columns, beside discrete columns
MOST_NUMERIC = 0.5  # weight a of a normal score beside an outcome, at most
SURE = 4.0  # errors that a rate must be above 0 to be kept, where outcomes that never happen must not be made up
LARGEST_MOVE = 0.5  # root mean square of what rates of a class can differ from the common ones at all
# A class keeps so much of the common rate of an outcome at least. `class_moments` came later, for larger tables, and keeps less;
# no commit says why.
LEAST_RATIO = 0.25
ABSENT = 1e-6

AskMeans = Callable[..., tuple[np.ndarray, np.ndarray]]  # as `clipped_means`


def ask_means(
    curator: Curator,
    of: ClassFeatures,
    noise: Mapping[str, float],
    purposes: Sequence[str],
    sure: float = SURE,
    ask: AskMeans = clipped_means,
) -> tuple[np.ndarray, np.ndarray]:
    """Latent densities [classes, d, grid] and rates of discrete coordinates [classes, width]; `ask` is `clipped_means`, or asks
    for more in the same answers."""
    d = len(of.numeric)
    start, usual = starting_rates(of)
    kept = np.setdiff1d(of.discrete, usual)
    outcomes = float((start * (1.0 - start))[kept].sum()) + HIDDEN_RATE * len(of.blocks)
    scores = max(float(of.square.sum() + SPREAD**2 * (of.square - of.size**2).sum()), 1e-6)
    weight = MOST_NUMERIC
    if d and of.blocks:
        weight = min(weight, math.sqrt(NUMERIC_PART / (1.0 - NUMERIC_PART) * outcomes / scores))
    radius = ROOM * math.sqrt(outcomes + weight**2 * scores)
    centre = np.tile(start, (of.classes, 1))
    total, precision = np.zeros((of.classes, len(kept) + 2 * d)), np.zeros(of.classes)
    for purpose in purposes:
        z, seen = of.scores.scores, Places(kept) - Entry(Label(), centre[:, kept])
        features = joined(seen, weight * z, weight * SPREAD * (abs(z) - of.size))
        means, error = ask(curator, of.codec.schema, purpose, noise[purpose], features, radius, of.counts)
        means[:, : len(kept)] += centre[:, kept]
        total += means / error[:, None] ** 2
        precision += 1.0 / error**2
        average, error = total / precision[:, None], 1.0 / np.sqrt(precision)
        centre = class_rates(average[:, : len(kept)], error, of, start, kept, sure)
    first, second = np.split(average[:, len(kept) :] / weight, 2, axis=1)
    return class_densities(of, first, second / SPREAD, error / weight, None), centre


def starting_rates(of: ClassFeatures) -> tuple[np.ndarray, np.ndarray]:
    """Rates [width] without what could be noise, and the coordinate of every one-hot block's most common outcome."""
    doubt = 2.0 * of.scores.error
    rates, usual = of.rates.copy(), []
    for start, size in of.blocks:
        block = slice(start, start + size)
        if size == 1:
            near = min(doubt, 0.5)
            rates[block] = np.where(rates[block] < near, 0.0, np.where(rates[block] > 1.0 - near, 1.0, rates[block]))
            continue
        usual.append(start + int(rates[block].argmax()))
        share = np.where(rates[block] < min(doubt, rates[block].max()), 0.0, rates[block])  # the usual one stays
        rates[block] = share / share.sum()
    return rates, np.asarray(usual, np.int64)


def class_rates(
    means: np.ndarray, error: np.ndarray, of: ClassFeatures, start: np.ndarray, kept: np.ndarray, sure: float = SURE
) -> np.ndarray:
    """Rates [classes, width] from noisy ones of the `kept` coordinates [classes, kept]."""
    share = of.weight
    noise = math.sqrt(float((share**2) @ (error**2)))
    common, moved = np.zeros(len(start)), np.zeros((len(error), len(start)))
    common[kept] = share @ means
    spread = np.sqrt(np.maximum(error**2 * (1.0 - 2.0 * share) + noise**2, 1e-12))
    for c in range(of.classes):
        moved[c, kept] = shrink_alone(means[c] - share @ means, spread[c]) / (1.0 + (spread[c] / LARGEST_MOVE) ** 2)
    rates = np.tile(start, (len(error), 1))
    for first, size in of.blocks:
        block = np.arange(first, first + size)
        if size == 1:
            rate = common[block]
            rate = np.where(rate < sure * noise, 0.0, np.where(rate > 1.0 - sure * noise, 1.0, rate))
            low, high = LEAST_RATIO * rate, 1.0 - LEAST_RATIO * (1.0 - rate)
            rates[:, block] = np.clip(rate + moved[:, block], low, high)
            continue
        others = np.intersect1d(block, kept)
        rate = present_rates(common[others], sure * noise)
        rate = rate / max(1.0, rate.sum())
        rest = np.setdiff1d(block, others)
        rates[:, others] = np.clip(rate + moved[:, others], LEAST_RATIO * rate, 1.0)
        left = 1.0 - rates[:, others].sum(axis=1, keepdims=True)
        rates[:, rest] = np.maximum(left, LEAST_RATIO * (1.0 - rate.sum()))
        rates[:, block] /= rates[:, block].sum(axis=1, keepdims=True)
    rates[:, of.discrete] = np.clip(rates[:, of.discrete], ABSENT, 1.0 - ABSENT)
    return rates


def present_rates(rates: np.ndarray, doubt: float) -> np.ndarray:
    """Rates above `doubt`; the outcomes below share evenly what they hold together, if that can be told from nothing."""
    small = rates < doubt
    together = float(rates[small].sum())
    even = together / small.sum() if small.any() and together > doubt * math.sqrt(small.sum()) else 0.0
    return np.where(small, even, rates)
