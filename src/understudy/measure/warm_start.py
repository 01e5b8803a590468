"""The warm start of generators that train: one-way marginals, then class moments as locations and scales of their latent values.

Methods that train (teachers, gradients) refine a start that was paid for:

    column cells 1, 2, column marginals    `understudy.measure.one_way`
    class moments                          `understudy.measure.class_moments`; of a table with few rows class means alone

Which of the two the last answer asks for is the rule of `understudy.measure.which_questions`; the plan is the same in both
cases. How much of it is paid for is an option of those methods (`StartFrom`): `moments` for all of it, `marginals` for the first
three answers, `none` for nothing, as in the papers; rows are then seen between their public bounds.
"""

import math
from collections.abc import Mapping
from typing import Literal

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtri

from understudy.accounting import Plan
from understudy.measure.class_moments import MOMENTS, NUMERIC, ClassFeatures, ask_moments, margins
from understudy.measure.few_rows import ask_means
from understudy.measure.latent_normal import LATENT
from understudy.measure.marginals import Marginals, NormalScores, normal_scores, public_marginals
from understudy.measure.one_way import announce_one_way, ask_one_way
from understudy.measure.which_questions import few_rows, size_note
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.recipe import Announced
from understudy.schema import Codec, Schema

StartFrom = Literal["moments", "marginals", "none"]
STARTS: tuple[StartFrom, ...] = ("moments", "marginals", "none")
# Of the squared loss, for the class histogram of a fit without a paid start: at epsilon 1 and delta 1e-5 that is a noise of 26
# rows, enough for class ratios and sizes of ensembles.
HISTOGRAM_SHARE = 0.02
DETAIL = "locations, scales and rates per class; with few rows, means alone"
# First values, all four, as far as commits and docs say.
LEAST_RATE = 0.002  # networks count scores from overall rates, which must not be 0 or 1
LEAST_VARIANCE = 0.05
PRIOR_DEVIATION = 0.05  # how far training may move what stood out from the noise in a table with few rows
LEAST_DEVIATION = 0.01


def announce_start(schema: Schema, marginals: float, moments: float) -> list[Announced]:
    """The answers above: half of the weight of the marginals is for cutting. Moments are left out where they have no weight."""
    one_way = announce_one_way(schema, 0.5 * marginals, 0.5 * marginals, rounded=False) if marginals else []
    return [*one_way, Announced(MOMENTS, moments, dpa.GaussianDpEvent, detail=DETAIL)] if moments else one_way


def rounds_weight(source: StartFrom, share: float | None, usual: float, pays: bool = False) -> float:
    """The weight of what is asked in rounds; 0: nothing is.

    Where no share is given, rounds get `usual`, but on top of paid moments only where they can pay for themselves (`pays`, from
    public values). Votes of one-layer teachers never can: a share w of the squared loss gives the mean of a feature of a class to
    sqrt(F) / (sqrt(w) mu N) deviations if moments get it, and to 2.5 times that if votes do (docs/pate-gan.md).
    """
    if share is not None:
        return share
    return usual if source != "moments" or pays else 0.0


def announce_start_from(schema: Schema, source: StartFrom, marginals: float, moments: float) -> list[Announced]:
    """The answers that a start from `source` pays for."""
    if source == "none":
        return []
    return announce_start(schema, marginals, moments if source == "moments" else 0.0)


def histogram_beside(training: float) -> float:
    """The weight of a class histogram that gets `HISTOGRAM_SHARE` beside the weight of the training."""
    return training * HISTOGRAM_SHARE / (1.0 - HISTOGRAM_SHARE)


def products_noise(noise: Mapping[str, float]) -> float:
    """The noise multiplier that products would have if half of the answer about moments went to them."""
    return math.sqrt(2.0) * noise[MOMENTS]


def start_note(schema: Schema, noise: Mapping[str, float]) -> list[str]:
    """For the plan: which questions the start asks, as far as public values tell."""
    return size_note(schema, products_noise(noise)) if MOMENTS in noise else []


def ask_start(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> tuple[Marginals, Start]:
    """Column marginals, and locations and scales of every class where the plan pays for moments; from then on rows are seen
    through the marginals.
    """
    rows = float(counts.sum())
    found = ask_one_way(curator, codec, rows, plan, share=True, rounded=False)  # networks draw any number
    scores = normal_scores(found.nodes, found.masses, found.groups, codec.width, found.deviation)
    marginals = scores.marginals
    marginals = marginals._replace(rates=np.clip(marginals.rates, LEAST_RATE, 1.0 - LEAST_RATE))
    start = public_start(Heads.of(codec.blocks, codec.width), marginals, codec.class_count)
    if MOMENTS in plan.parameters["noise"]:
        start = ask_class_start(curator, codec, scores._replace(marginals=marginals), counts, plan, start)
    curator.see(marginals.row_map)
    return marginals, start


def start_from(
    source: StartFrom, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan
) -> tuple[Marginals, Start]:
    """The start from `source`; from then on rows are seen through the marginals, paid or public."""
    if source != "none":
        return ask_start(curator, codec, counts, plan)
    heads = Heads.of(codec.blocks, codec.width)
    marginals = public_marginals(heads)
    curator.see(marginals.row_map)
    return marginals, public_start(heads, marginals, codec.class_count)


def ask_class_start(
    curator: Curator, codec: Codec, scores: NormalScores, counts: np.ndarray, plan: Plan, start: Start
) -> Start:
    """The start with every class's own locations and scales."""
    noise = plan.parameters["noise"]
    counts = np.maximum(counts, noise.get("class histogram", 0.0) * codec.schema.max_rows_per_unit)
    features = ClassFeatures(codec, scores, counts)
    if few_rows(codec.width, float(counts.sum()), products_noise(noise), codec.class_count):
        densities, rates = ask_means(curator, features, noise, [MOMENTS])
        prior_deviation = np.full_like(start.prior_deviation, PRIOR_DEVIATION)
    else:
        first, second, error = ask_moments(curator, features, noise[MOMENTS])
        densities, rates = margins(features, (first, second, error), None)
        unit = np.where(features.heads.coordinates("numeric"), NUMERIC, start.scales)
        signal = np.maximum(((rates - features.rates) / unit) ** 2, 0.0)
        signal[:, features.numeric] = (densities @ LATENT) ** 2
        size = np.maximum(signal.sum(axis=1, keepdims=True) / max(codec.width, 1), 1e-3)  # a label alone has no columns
        error = (error / NUMERIC)[:, None]
        prior_deviation = np.maximum(np.sqrt(size * error**2 / (size + error**2)), LEAST_DEVIATION)
    location, log_scale = start.location.copy(), start.log_scale.copy()
    mean = densities @ LATENT
    spread = np.sqrt(np.maximum(densities @ LATENT**2 - mean**2, LEAST_VARIANCE))
    location[:, features.numeric], log_scale[:, features.numeric] = mean, np.log(spread)
    binary, onehot = features.heads.coordinates("binary"), features.heads.coordinates("onehot")
    location[:, binary] = (start.threshold - ndtri(1.0 - rates))[:, binary]
    location[:, onehot] = np.log(rates)[:, onehot]
    return start._replace(location=location, log_scale=log_scale, prior_deviation=prior_deviation)


def public_start(heads: Heads, marginals: Marginals, classes: int) -> Start:
    """All classes alike, as the marginals say: what is known before class moments."""
    rates = marginals.rates.astype(np.float64)
    location = np.tile(np.where(heads.coordinates("onehot"), np.log(rates), 0.0), (classes, 1))
    nothing = np.zeros((classes, heads.width))
    prior_deviation = np.full((classes, 1), 0.5)
    return Start(
        location,
        nothing,
        prior_deviation,
        rates,
        marginals.scales.astype(np.float64),
        ndtri(1.0 - rates),
        np.ones((classes, 1)),
    )
