"""Paid statistics that a generator starts from: column marginals, then class moments.

    column marginals   three answers; each level cuts the numeric columns into cells of equal mass by what the last one found,
                       the third also counts the outcomes of binary and one-hot columns
    class moments      one answer: per class the sum of [v, w (v^2 - 1)] over rows seen through the marginals, clipped to norm 1;
                       with a unit column the sum over units of their mean, and a constant that counts the units

Everything computed from them here (shrinkage, thresholds, standard errors) is post-processing.
"""

import math

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtri

from understudy.accounting import Plan
from understudy.measure.marginals import Marginals, refine, settle, shrink_rates
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.questions import Counts, Sums
from understudy.questions.counts import deviation as deviation_of
from understudy.questions.row_maps import Constant, Cuts, Outcomes, Places, joined
from understudy.recipe import Announced
from understudy.schema import Codec, Schema

LEVELS = (0.25, 0.25, 0.5)  # how the three levels share the weight of the marginals
SECOND_MOMENT = 0.5  # weight of v^2 - 1 beside v in a row's vector
MOMENTS = "class moments"
DETAIL = "first and second moments per class; with few rows, means alone"


def level(number: int) -> str:
    return f"column marginals {number + 1}"


def announce_start(schema: Schema, marginals: float, moments: float) -> list[Announced]:
    """The releases of this file with their weights. Without numeric columns one level of marginals is all there is."""
    if marginals == 0.0:
        return [Announced(MOMENTS, moments, dpa.GaussianDpEvent, detail=DETAIL)] if moments else []
    details = ("coarse cells of numeric columns", "finer cells of numeric columns", "cells and category counts")
    if any(column.kind not in ("categorical", "boolean") for column in schema.features):
        levels = [
            Announced(level(i), marginals * share, dpa.GaussianDpEvent, detail=details[i])
            for i, share in enumerate(LEVELS)
        ]
    else:
        levels = [Announced(level(len(LEVELS) - 1), marginals, dpa.GaussianDpEvent, detail="category counts")]
    if moments == 0.0:
        return levels
    return [*levels, Announced(MOMENTS, moments, dpa.GaussianDpEvent, detail=DETAIL)]


def ask_marginals(curator: Curator, codec: Codec, rows: float, max_rows: int, plan: Plan) -> Marginals:
    """Three levels of noisy histograms, and with them the common footing of all columns."""
    heads = Heads.of(codec.blocks, codec.width)
    numeric = np.flatnonzero(heads.coordinates("numeric")).astype(np.int32)
    discrete = np.flatnonzero(~heads.coordinates("numeric")).astype(np.int32)
    columns = len(numeric) + sum(block.head != "numeric" for block in heads.blocks)
    noise = [plan.parameters["noise"].get(level(i), math.nan) for i in range(len(LEVELS))]
    cells = cell_count(rows, deviation_of(noise[-1], max(columns, 1), max_rows))
    edges = np.tile(np.linspace(0.0, 1.0, cells + 1), (len(numeric), 1))
    for number in range(len(LEVELS) - 1):
        if len(numeric) == 0:
            break
        question = one_way(numeric, edges, [], noise[number], max_rows)
        counts = np.stack(curator.ask(level(number), question).value)
        edges = refine(edges, counts, question.deviations[0])
    blocks = [(block.start, block.size) for block in heads.blocks if block.head != "numeric"]
    question = one_way(numeric, edges, blocks, noise[-1], max_rows)
    found = curator.ask(level(len(LEVELS) - 1), question).value if question.tables else []
    deviation = question.deviations[0] if question.tables else 1.0
    cdf = settle(np.stack(found[: len(numeric)]), deviation) if len(numeric) else np.zeros((0, cells + 1))
    ones = [part if size > 1 else part[1:] for part, (_, size) in zip(found[len(numeric) :], blocks, strict=True)]
    rates = np.full(codec.width, 0.5)
    rates[discrete] = shrink_rates(np.concatenate([np.zeros(0), *ones]), rows, deviation)
    return Marginals(numeric, edges.astype(np.float32), cdf.astype(np.float32), rates.astype(np.float32))


def one_way(
    numeric: np.ndarray, edges: np.ndarray, blocks: list[tuple[int, int]], sigma: float, max_rows: int
) -> Counts:
    """Counts of the cells of every numeric coordinate and of the outcomes of every discrete block (start, size)."""
    starts, sizes = (np.asarray([block[i] for block in blocks], int) for i in range(2))
    cells = joined(
        Cuts(numeric, tuple(edges[:, 1:-1]), np.full(len(numeric), -1)),
        Outcomes(starts, sizes),
    )
    counted = (*([edges.shape[1] - 1] * len(numeric)), *(max(int(size), 2) for size in sizes))
    return Counts.of_cliques(cells, counted, [(node,) for node in range(len(counted))], sigma, max_rows)


def cell_count(rows: float, deviation: float) -> int:
    """As many cells as keep a cell's count near the square of its noise: finer cells would be noise."""
    return int(np.clip(math.sqrt(rows / deviation), 4, 32))


def ask_moments(
    curator: Curator, codec: Codec, marginals: Marginals, counts: np.ndarray, plan: Plan
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrunken class means of v, class variances of v, and the standard error of the means."""
    numeric, width = marginals.numeric, codec.width
    norm = math.sqrt(len(numeric) * (1.0 + 2.0 * SECOND_MOMENT**2) + 0.5 * (width - len(numeric)) + 1e-9)

    by_unit = codec.schema.unit is not None
    weight = (
        0.25 * norm if by_unit else 0.0
    )  # of a constant that counts units per class, where rows are averaged per unit

    own = Places(numeric)
    vector = joined(Places(), SECOND_MOMENT * (own * own - 1.0), Constant(np.asarray([weight]))) / norm
    sigma = plan.parameters["noise"][MOMENTS]
    released = curator.ask(MOMENTS, Sums.by_class(vector, codec.class_count, sigma, average=by_unit)).value
    sums = released[:, :-1]
    if by_unit:
        counts = np.maximum(released[:, -1] * norm / weight, 1.0)
    error = sigma * norm / counts[:, None]
    means = sums * norm / counts[:, None]
    first = garrote(means[:, :width], error)
    second = garrote(means[:, width:] / SECOND_MOMENT, error / SECOND_MOMENT, strength=2.0)
    variance = np.ones((len(counts), width))
    variance[:, numeric] = np.clip(1.0 + second - first[:, numeric] ** 2, 0.05, 6.0)
    return first, variance, error


def starting_point(
    heads: Heads, marginals: Marginals, moments: tuple[np.ndarray, np.ndarray, np.ndarray] | None, classes: int
) -> Start:
    """Where the generator starts: released class moments as locations and scales of the latent y."""
    rates, scales = marginals.rates.astype(np.float64), marginals.scales.astype(np.float64)
    if moments is None:
        moments = np.zeros((classes, heads.width)), np.ones((classes, heads.width)), np.full((classes, 1), 0.5)
    first, variance, error = moments
    location = first.copy()
    rate = np.clip(
        rates + scales * first, 0.25 * np.minimum(rates, 1.0 - rates), 1.0 - 0.25 * np.minimum(rates, 1.0 - rates)
    )
    threshold = ndtri(1.0 - rates)
    binary, onehot = heads.coordinates("binary"), heads.coordinates("onehot")
    location[:, binary] = (threshold - ndtri(1.0 - rate))[:, binary]
    location[:, onehot] = np.log(rate)[:, onehot]
    signal = np.maximum((first**2).mean(axis=1, keepdims=True), 1e-3)
    tether = np.maximum(np.sqrt(signal * error**2 / (signal + error**2)), 0.01)
    return Start(location, 0.5 * np.log(variance), tether, rates, scales, threshold, np.ones((classes, 1)))


def garrote(values: np.ndarray, error: np.ndarray, strength: float = 1.0) -> np.ndarray:
    """Non-negative garrote: what does not stand out from its noise goes to zero, what does is hardly changed."""
    return values * np.maximum(0.0, 1.0 - strength * error**2 / np.maximum(values**2, 1e-12))
