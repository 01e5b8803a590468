"""Where a trained generator starts: class moments, or in a table with few rows what `understudy.measure.few_rows` can tell.

Methods that train (teachers, gradients) refine a start that was paid for. Second moments of a class with a few dozen rows
are noise, and so are first moments that are all asked at the price of the whole row; `few_rows` asks for less and believes
only what stands out. The plan is the same in both cases: one answer called "class moments".
"""

import math

import numpy as np
from scipy.special import ndtri

from understudy.accounting import Plan
from understudy.measure.class_features import Embedding
from understudy.measure.class_moments import MOMENTS, ask_marginals, ask_moments, level, starting_point
from understudy.measure.few_rows import ask_margins, few_rows
from understudy.measure.latent_normal import LATENT
from understudy.measure.marginals import Marginals
from understudy.measure.one_way import ask_footing, wide
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.schema import Codec

LEVEL_NAMES = (level(0), level(1), level(2))
LEAST_RATE = np.float32(0.002)  # scores count from overall rates, which must not be 0 or 1
TETHER = 0.05  # how far training may move what stood out from the noise


def ask_start(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> tuple[Marginals, Start]:
    """Column marginals, and locations and scales of every class where the plan pays for moments; from then on rows are seen
    through the marginals.
    """
    rows, noise, moments = float(counts.sum()), plan.parameters["noise"], None
    if MOMENTS in noise and small(codec, rows, noise[MOMENTS]):
        marginals, start = small_start(curator, codec, counts, plan)
        curator.see(marginals.row_map)
        return marginals, start
    marginals = ask_marginals(curator, codec, rows, codec.schema.max_rows_per_unit, plan)
    curator.see(marginals.row_map)
    if MOMENTS in noise:
        moments = ask_moments(curator, codec, marginals, counts, plan)
    return marginals, starting_point(Heads.of(codec.blocks, codec.width), marginals, moments, codec.class_count)


def small(codec: Codec, rows: float, noise: float) -> bool:
    """Whether products of columns would be noise if half of the answer went to them. Wide tables have too little of their own in
    the marginals that small ones are asked for.
    """
    products = math.sqrt(2.0) * noise
    return codec.class_count > 1 and not wide(codec.schema) and few_rows(codec.width, rows, products)


def small_start(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> tuple[Marginals, Start]:
    """One look at the class means; what does not stand out from its noise is the same in all classes."""
    noise = plan.parameters["noise"]
    counts = np.maximum(counts, noise.get("class histogram", 0.0) * codec.schema.max_rows_per_unit)
    footing = ask_footing(curator, codec, float(counts.sum()), plan, LEVEL_NAMES)
    rates = np.clip(footing.marginals.rates, LEAST_RATE, 1.0 - LEAST_RATE)
    marginals = footing.marginals._replace(rates=rates)
    own = Embedding(codec, footing._replace(marginals=marginals), counts)
    densities, rates = ask_margins(curator, own, noise, noise[LEVEL_NAMES[-1]], [MOMENTS])
    start = starting_point(own.heads, marginals, None, codec.class_count)
    location, log_scale = start.location.copy(), start.log_scale.copy()
    mean = densities @ LATENT
    spread = np.sqrt(np.maximum(densities @ LATENT**2 - mean**2, 0.05))
    location[:, own.numeric], log_scale[:, own.numeric] = mean, np.log(spread)
    binary, onehot = own.heads.coordinates("binary"), own.heads.coordinates("onehot")
    location[:, binary] = (start.threshold - ndtri(1.0 - rates))[:, binary]
    location[:, onehot] = np.log(rates)[:, onehot]
    return marginals, start._replace(location=location, log_scale=log_scale, tether=np.full_like(start.tether, TETHER))
