"""Class moments: paid sums per class of a row's scores and outcomes, and the class-conditional margins that follow.

With z the normal score of a numeric value under the released column distribution, x an outcome of rate p,

    class moments    sum of (x - p, a z, a b (|z| - E|z|))       locations, scales and rates per class
    class cells      counts of every numeric column's cells      shapes per class

Every sum is one Gaussian answer of norm at most 1 per unit (`understudy.questions.sums`); the clipping radii come from what
was released before and from public values. What is made of the sums is post-processing: the mean over classes first, then
each class's deviation from it, each as far as it stands out from its noise (`understudy.measure.shrinkage`), so that what
noise hides looks alike in all classes.
"""

import math

import numpy as np
from scipy.special import ndtri

from understudy.measure.cells import interval_count
from understudy.measure.latent_normal import LATENT, Histograms, latent_densities, standard_weights
from understudy.measure.marginals import NormalScores, cuts
from understudy.measure.shrinkage import deviations, shrink
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.questions import Clique, Counts, Step, Sums
from understudy.questions.row_maps import Constant, Label, OneHot, Outcomes, joined
from understudy.schema import Codec, Schema

MOMENTS, CELLS = "class moments", "class cells"
# Weights and constants of the mean embedding were set while looking at epileptic seizure, credit, Adult and ISOLET, and earlier
# at cervical cancer (docs/mean-embedding.md, limits); no comparison is kept. Nothing is written about HIDDEN_NORM and PRESENCE:
# first values.
NUMERIC = 0.5  # weight a of a normal score beside an outcome of a discrete column
SPREAD = 0.7  # weight b of |z| beside z
ROOM = 1.1  # clipping radius over the root of the expected squared norm
HIDDEN_NORM = 0.05  # squared norm that is allowed for in a discrete column besides the variance of its outcomes
PRESENCE = 0.3  # size of the constant coordinate over the clipping radius, where units have several rows
# A class keeps so much of the common rate of an outcome at least. A first value; `few_rows`, which is older, keeps a quarter. On
# Adult a quarter here is better for naive Bayes on rows of g-pate and alike for other models (docs/design.md).
LEAST_RATIO = 0.05
MOST_CELLS = 4096  # coordinates of the class cells; bounds memory


class ClassFeatures:
    """What a row of one table looks like in class sums, and what its released marginals let expect of them."""

    def __init__(self, codec: Codec, scores: NormalScores, counts: np.ndarray) -> None:
        self.codec, self.scores, self.counts = codec, scores, counts
        self.heads = Heads.of(codec.blocks, codec.width)
        self.numeric = scores.marginals.numeric
        self.discrete = np.flatnonzero(~self.heads.coordinates("numeric"))
        self.rates = scores.marginals.rates.astype(np.float64)
        self.blocks = [(block.start, block.size) for block in codec.blocks if block.head != "numeric"]
        self.score = scores.score_of_latent(LATENT)  # [grid, d]
        self.size, self.square = standard_weights() @ np.abs(self.score), standard_weights() @ self.score**2

    @property
    def classes(self) -> int:
        """How many there are; 1 without a label."""
        return len(self.counts)

    @property
    def weight(self) -> np.ndarray:
        """Every class's share of the rows."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def vector(self) -> Step:
        """Map of a row to (x - p, a z), in the order `order` of the codec's places."""
        starts, sizes = (np.asarray([block[i] for block in self.blocks], int) for i in range(2))
        outcomes = OneHot(Outcomes(starts, sizes), sizes)
        return joined(outcomes - self.rates[self.discrete], NUMERIC * self.scores.scores)

    @property
    def order(self) -> np.ndarray:
        """Which place of an encoded row each coordinate of `vector` is."""
        return np.concatenate([self.discrete, self.numeric]).astype(int)


def clipped_means(
    curator: Curator,
    schema: Schema,
    purpose: str,
    sigma: float,
    features: Step,
    radius: float,
    counts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy means [classes, width] of feature vectors clipped at `radius`, over `counts` rows, and their error [classes].

    One count: one mean for all classes. A unit of several rows gives the mean of their vectors, in parts to their classes; a
    constant coordinate counts how much of the units is left after clipping.
    """
    constant, length = presence(schema, radius)
    vector = (joined(features, Constant(np.asarray([constant]))) if constant else features) / length
    group = Label() if len(counts) > 1 else None
    sums = curator.ask(purpose, Sums(vector, len(counts), sigma, group, average=True)).value * length
    if not constant:
        return means_of(sums, None, sigma * length, counts)
    return means_of(sums[:, :-1], sums[:, -1] / constant, sigma * length, counts)


def presence(schema: Schema, radius: float) -> tuple[float, float]:
    """The constant coordinate beside a vector clipped at `radius`, 0 where every row is a unit, and the length of both."""
    constant = 0.0 if schema.unit is None else PRESENCE * radius
    return constant, math.hypot(radius, constant)


def means_of(
    sums: np.ndarray, present: np.ndarray | None, noise: float, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means [classes, width] and their error [classes], over `counts` rows or what the constant says is `present` of them."""
    if present is not None:
        counts = np.clip(present, 0.1 * counts, counts)
    return sums / counts[:, None], noise / counts


def ask_moments(curator: Curator, of: ClassFeatures, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy class means of a z and x - p [classes, width], of |z| - E|z| [classes, d], and the error of x - p [classes]."""
    outcomes = of.rates[of.discrete] * (1.0 - of.rates[of.discrete])
    width, spread = of.codec.width, NUMERIC * SPREAD
    squared = NUMERIC**2 * of.square.sum() + spread**2 * (of.square - of.size**2).sum() + outcomes.sum()
    radius = ROOM * math.sqrt(squared + HIDDEN_NORM * len(of.blocks))
    features = joined(of.vector, spread * (abs(of.scores.scores) - of.size))
    means, error = clipped_means(curator, of.codec.schema, MOMENTS, sigma, features, radius, of.counts)
    return means[:, np.argsort(of.order)], means[:, width:] / spread, error


def ask_cells(curator: Curator, of: ClassFeatures, sigma: float) -> list[Histograms]:
    """For every class the noisy shares of the columns' cells, merged into as many as an average class can tell apart."""
    marginals, d, schema = of.scores.marginals, len(of.numeric), of.codec.schema
    noise = sigma * math.sqrt(d)
    most = min(interval_count(float(of.counts.mean()), noise), MOST_CELLS // max(d, 1), marginals.edges.shape[1] - 1)
    size = max(2, most)
    kept = np.stack([merged(own, size) for own in marginals.cdf])
    cells = joined(
        Label(), cuts(of.numeric, of.scores.flags, np.take_along_axis(marginals.edges, kept, axis=1), of.scores.codes)
    )
    cliques: list[Clique] = [(0, j + 1) for j in range(d)]
    sizes = (of.classes, *([size] * d))
    question = Counts.of_cliques(cells, sizes, cliques, sigma, schema.max_rows_per_unit, share=True)
    counted = np.stack(curator.ask(CELLS, question).value, axis=1)
    total = np.maximum(counted.sum(axis=2), noise * math.sqrt(size))  # rows whose value is not missing
    latent = ndtri(np.clip(np.take_along_axis(marginals.cdf, kept, axis=1), 1e-9, 1.0 - 1e-9))
    return [
        Histograms(own / rows[:, None], noise / rows[:, None], latent, of.scores.group)
        for own, rows in zip(counted, total, strict=True)
    ]


def merged(cdf: np.ndarray, size: int) -> np.ndarray:
    """Which edges of a column's cells stay when only `size` cells are wanted: those nearest to equal shares."""
    if len(cdf) - 1 <= size:
        return np.arange(len(cdf))
    inner = np.abs(cdf[None, 1:-1] - np.linspace(0.0, 1.0, size + 1)[1:-1, None]).argmin(axis=1) + 1
    return np.concatenate([[0], inner, [len(cdf) - 1]])


def margins(
    of: ClassFeatures, moments: tuple[np.ndarray, np.ndarray, np.ndarray], cells: list[Histograms] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Latent densities [classes, d, grid] and rates of discrete coordinates [classes, width]."""
    first, second, error = moments
    densities = class_densities(of, first[:, of.numeric] / NUMERIC, second, error / NUMERIC, cells)
    shifts = first.copy()
    for start, size in of.blocks:
        if size > 1:  # shares add up to 1, so that their shifts add up to nothing
            block = slice(start, start + size)
            shifts[:, block] -= shifts[:, block].mean(axis=1, keepdims=True)
    rates = np.tile(of.rates, (of.classes, 1))
    for c in range(of.classes):
        rates[c, of.discrete] += shrink(shifts[c, of.discrete], error[c])
    low, high = LEAST_RATIO * of.rates, 1.0 - LEAST_RATIO * (1.0 - of.rates)
    for start, size in of.blocks:
        block = slice(start, start + size)
        rates[:, block] = np.clip(rates[:, block], low[block], high[block] if size == 1 else None)
        if size > 1:
            rates[:, block] /= rates[:, block].sum(axis=1, keepdims=True)
    return densities, rates


def class_densities(
    of: ClassFeatures, first: np.ndarray, second: np.ndarray, error: np.ndarray, cells: list[Histograms] | None
) -> np.ndarray:
    """Latent densities [classes, d, grid] from noisy means of z and |z| - E|z| [classes, d], and from cells if there are any."""
    if len(of.numeric) == 0:
        return np.zeros((of.classes, 0, len(LATENT)))
    means, deviation = deviations(first, error, of.weight, of.scores.group)
    sizes, more = deviations(second, error / SPREAD, of.weight, of.scores.group)
    known = np.stack([means + deviation, of.size + sizes + more], axis=1)
    each = [None] * of.classes if cells is None else cells
    return np.stack([latent_densities(own, of.score, shape) for own, shape in zip(known, each, strict=True)])
