"""What the mean embedding asks of a table so small that products of columns would be noise.

With a few hundred rows the pairs of columns cannot be told from their noise, and what is left to learn is in which columns the
classes differ. Every class answer of the plan then asks the same thing, the class means, and their average counts:

    look i      per class the sum of (x - c, a z, a b (|z| - E|z|)), clipped at one radius; x without a block's usual outcome

c is what was believed after the last look, class by class, so that later looks see small vectors. Off the usual outcome of its
column a row has few coordinates, so the radius, hence the noise, is that of a few columns and not of all. Made of it:

    common      the mean over all classes; outcomes that cannot be told from absent are absent, in every class
    deviation   of each class from the common mean, each coordinate by itself as far as it stands out from its noise (garrote,
                Breiman 1995): in a small table few columns tell the classes apart, and the others must look alike in all classes
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from understudy.measure.class_features import Embedding
from understudy.measure.class_moments import garrote
from understudy.measure.latent_normal import LATENT, Cells, energy, latent_densities
from understudy.measure.one_way import ROOM, SPREAD, clipped_means
from understudy.private import Curator
from understudy.questions.row_maps import Entry, Label, Places, joined

VISIBLE = 0.075  # share of all variance that one direction must hold to stand out from the noise of the products
HIDDEN = 0.03  # rate off the usual outcome that is allowed for in a column where noise hides it
NUMERIC_PART = 0.2  # of a row's expected squared length may be the scores of numeric columns, beside discrete columns
MOST_NUMERIC = 0.5  # weight a of a normal score beside an outcome, at most
SURE = 4.0  # errors that a rate must be above 0 to be believed
STRENGTH = 2.0  # a deviation whose square is below so many squared errors is taken for noise
LARGEST_MOVE = 0.5  # root mean square of what rates of a class can differ from the common ones at all
LEAST_RATIO = 0.25  # a class keeps so much of the common rate of an outcome at least
ABSENT = 1e-6


def few_rows(width: int, rows: float, noise: float) -> bool:
    """Whether even the leading direction of the correlations drowns: its noise is about 2 s sqrt(width) per row."""
    return 2.0 * 0.75 * noise * math.sqrt(width) / rows > VISIBLE


def ask_margins(
    curator: Curator, own: Embedding, noise: Mapping[str, float], counted: float, purposes: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Latent densities [classes, d, grid] and rates of discrete coordinates [classes, width] of an `Embedding`.

    `counted` is the noise multiplier that the rates were counted with.
    """
    classes, d = len(own.counts), len(own.numeric)
    start, usual = starting_rates(own, counted)
    kept = np.setdiff1d(own.discrete, usual)
    square = own.base @ own.score**2
    outcomes = float((start * (1.0 - start))[kept].sum()) + HIDDEN * len(own.blocks)
    scores = max(float(square.sum() + SPREAD**2 * (square - own.expected**2).sum()), 1e-6)
    weight = MOST_NUMERIC
    if d and own.blocks:
        weight = min(weight, math.sqrt(NUMERIC_PART / (1.0 - NUMERIC_PART) * outcomes / scores))
    radius = ROOM * math.sqrt(outcomes + weight**2 * scores)
    centre = np.tile(start, (classes, 1))
    total, trust = np.zeros((classes, len(kept) + 2 * d)), np.zeros(classes)
    for purpose in purposes:
        z, seen = own.footing.scores, Places(kept) - Entry(Label(), centre[:, kept])
        features = joined(seen, weight * z, weight * SPREAD * (abs(z) - own.expected))
        means, error = clipped_means(curator, own.codec.schema, purpose, noise[purpose], features, radius, own.counts)
        means[:, : len(kept)] += centre[:, kept]
        total += means / error[:, None] ** 2
        trust += 1.0 / error**2
        average, error = total / trust[:, None], 1.0 / np.sqrt(trust)
        centre = class_rates(average[:, : len(kept)], error, own, start, kept)
    if d == 0:
        return np.zeros((classes, 0, len(LATENT))), centre
    first, second = np.split(average[:, len(kept) :] / weight, 2, axis=1)
    doubt = math.sqrt(
        energy(d) / max(d, 1)
    )  # a few columns of noise alone seem to differ more than they should half the time
    known = own.class_moments(first, second / SPREAD, doubt * error / weight)
    nothing = Cells(np.zeros((d, 0)), np.zeros((d, 1)), np.zeros((d, 1)), own.footing.group)
    return np.stack([latent_densities(moments, own.score, nothing) for moments in known]), centre


def starting_rates(own: Embedding, counted: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates [width] without what could be noise, and the coordinate of every one-hot block's most common outcome."""
    groups = int(own.footing.group.max()) + 1 if len(own.footing.group) else 0
    doubt = 2.0 * counted * math.sqrt(groups + len(own.blocks)) / float(own.counts.sum())
    rates, usual = own.rates.copy(), []
    for start, size in own.blocks:
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
    found: np.ndarray, error: np.ndarray, own: Embedding, start: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """Rates [classes, width] from noisy ones of the `kept` coordinates [classes, kept]."""
    share = own.counts / own.counts.sum()
    noise = math.sqrt(float((share**2) @ (error**2)))
    common, moved = np.zeros(len(start)), np.zeros((len(error), len(start)))
    common[kept] = share @ found
    spread = np.sqrt(np.maximum(error**2 * (1.0 - 2.0 * share) + noise**2, 1e-12))[:, None]
    moved[:, kept] = garrote(found - share @ found, spread, STRENGTH) / (1.0 + (spread / LARGEST_MOVE) ** 2)
    rates = np.tile(start, (len(error), 1))
    for first, size in own.blocks:
        block = np.arange(first, first + size)
        if size == 1:
            rate = common[block]
            rate = np.where(rate < SURE * noise, 0.0, np.where(rate > 1.0 - SURE * noise, 1.0, rate))
            low, high = LEAST_RATIO * rate, 1.0 - LEAST_RATIO * (1.0 - rate)
            rates[:, block] = np.clip(rate + moved[:, block], low, high)
            continue
        others = np.intersect1d(block, kept)
        rate = told_apart(common[others], SURE * noise)
        rate = rate / max(1.0, rate.sum())
        rest = np.setdiff1d(block, others)
        rates[:, others] = np.clip(rate + moved[:, others], LEAST_RATIO * rate, 1.0)
        left = 1.0 - rates[:, others].sum(axis=1, keepdims=True)
        rates[:, rest] = np.maximum(left, LEAST_RATIO * (1.0 - rate.sum()))
        rates[:, block] /= rates[:, block].sum(axis=1, keepdims=True)
    rates[:, own.discrete] = np.clip(rates[:, own.discrete], ABSENT, 1.0 - ABSENT)
    return rates


def told_apart(rates: np.ndarray, doubt: float) -> np.ndarray:
    """Rates above `doubt`; the outcomes below share evenly what they hold together, if that can be told from nothing."""
    small = rates < doubt
    together = float(rates[small].sum())
    even = together / small.sum() if small.any() and together > doubt * math.sqrt(small.sum()) else 0.0
    return np.where(small, even, rates)
