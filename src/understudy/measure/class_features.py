"""Class features of a table and what their noisy sums say: class moments, class cells, class pairs.

With z the normal score of a value under the released column distribution,

    class moments    sum of (a z, x - p, a b (|z| - E|z|))                    locations, scales and rates per class
    class cells      sum of one-hot cells of every numeric column             shapes per class
    class pairs      sum of e e^T,  e = (a z, x - p) - model mean of the class      dependence between columns

Every sum is one Gaussian answer of norm at most 1 per unit (`understudy.questions`); the clipping radii come from what was
released before and from public values. Shrinkage and covariances are post-processing (`understudy.measure.latent_normal`).
"""

import math

import numpy as np
from scipy.special import ndtri

from understudy.measure.latent_normal import (
    LATENT,
    Block,
    Cells,
    Observed,
    believed,
    james_stein,
    latent_densities,
    neighbourly,
    spectral,
    target_mask,
)
from understudy.measure.one_way import ROOM, SPREAD, Footing, clipped_means, cuts
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.questions import Clique, Counts, Products, Step
from understudy.questions.row_maps import Entry, Label, Places, joined
from understudy.schema import Codec

MOMENTS, CELLS, PAIRS = "class moments", "class cells", "class pairs"
NUMERIC = 0.5  # weight a of a normal score beside an outcome of a discrete column
MOST_PRODUCTS = 200_000  # noise is drawn for so many products at most; beyond, one matrix serves all classes
MOST_CELLS = 4096  # coordinates of the class cells; bounds memory


class Embedding:
    """The feature maps of one table and the post-processing of their sums."""

    def __init__(self, codec: Codec, footing: Footing, counts: np.ndarray) -> None:
        self.codec, self.footing, self.counts = codec, footing, counts
        self.heads = Heads.of(codec.blocks, codec.width)
        self.numeric = footing.marginals.numeric
        self.discrete = np.flatnonzero(~self.heads.coordinates("numeric"))
        self.rates = footing.marginals.rates.astype(np.float64)
        self.score = footing.score_of_latent(LATENT)  # [grid, d]
        base = np.exp(-(LATENT**2) / 2.0)
        self.base = base / base.sum()
        self.expected = self.base @ np.abs(self.score)
        self.blocks = [(block.start, block.size) for block in codec.blocks if block.head != "numeric"]

    @property
    def vector(self) -> Step:
        """Map of a row to (x - p, a z), in the order `order` of the codec's places."""
        return joined(Places(self.discrete) - self.rates[self.discrete], NUMERIC * self.footing.scores)

    @property
    def order(self) -> np.ndarray:
        return np.concatenate([self.discrete, self.numeric]).astype(int)

    # -- class moments -------------------------------------------------------------------------------------------------
    def ask_moments(self, curator: Curator, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Noisy class means of z and x - p [classes, width], of |z| - E|z| [classes, d], and the error of x - p [classes]."""
        square = self.base @ self.score**2
        outcomes = self.rates[self.discrete] * (1.0 - self.rates[self.discrete])
        width, spread = self.codec.width, NUMERIC * SPREAD
        radius = NUMERIC**2 * square.sum() + spread**2 * (square - self.expected**2).sum() + outcomes.sum()
        radius = ROOM * math.sqrt(radius + 0.05 * len(self.blocks))

        features = joined(self.vector, spread * (abs(self.footing.scores) - self.expected))
        means, error = clipped_means(curator, self.codec.schema, MOMENTS, sigma, features, radius, self.counts)
        return means[:, np.argsort(self.order)], means[:, width:] / spread, error

    # -- class cells -----------------------------------------------------------------------------------------------------
    def ask_cells(self, curator: Curator, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Noisy shares of merged cells [classes, d, cells], their error [classes, d], and latent cell edges [d, cells + 1]."""
        marginals, d = self.footing.marginals, len(self.numeric)
        size = max(2, min(marginals.edges.shape[1] - 1, MOST_CELLS // max(d, 1)))
        cdf = marginals.cdf.astype(np.float64)
        kept = np.stack([merged(own, size) for own in cdf])
        edges = np.take_along_axis(marginals.edges, kept, axis=1)
        cells = joined(Label(), cuts(self.numeric, self.footing.flags, edges))
        sizes = (len(self.counts), *([size] * d))
        cliques: list[Clique] = [(0, j + 1) for j in range(d)]
        rows = self.codec.schema.max_rows_per_unit
        question = Counts.of_cliques(cells, sizes, cliques, sigma, rows, share=True)
        counted = np.stack(curator.ask(CELLS, question).value, axis=1)
        noise = question.deviations[0]
        total = np.maximum(counted.sum(axis=2), noise * math.sqrt(size))  # rows whose value is not missing
        latent = ndtri(np.clip(np.take_along_axis(cdf, kept, axis=1), 1e-9, 1.0 - 1e-9))
        return counted / total[:, :, None], noise / total, latent

    # -- margins per class -------------------------------------------------------------------------------------------------
    def margins(
        self,
        moments: tuple[np.ndarray, np.ndarray, np.ndarray],
        cells: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Latent densities [classes, d, grid] and rates of discrete coordinates [classes, width]."""
        first, second, error = moments
        known = self.class_moments(first[:, self.numeric] / NUMERIC, second, error / NUMERIC)
        densities = []
        rates = np.tile(self.rates, (len(self.counts), 1))
        for c in range(len(self.counts)):
            if cells is None:
                densities.append(np.zeros((0, len(LATENT))))
            else:
                shape = Cells(cells[0][c], cells[1][c][:, None], cells[2], self.footing.group)
                densities.append(latent_densities(known[c], self.score, shape))
            for start, size in self.blocks:
                block = slice(start, start + size)
                rates[c, block] = self.class_rates(first[c, block], self.rates[block], error[c])
        return np.stack(densities), rates

    def class_moments(self, first: np.ndarray, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Believed E z and E|z| [classes, 2, d] from noisy means of z and |z| - E|z| [classes, d]."""
        if len(self.numeric) == 0:
            return np.zeros((len(error), 2, 0))
        weight, group = self.counts / self.counts.sum(), self.footing.group
        noise = math.sqrt(float((weight**2) @ (error**2)))
        common = believed(Observed(weight @ first, weight @ second, noise, noise / SPREAD), self.expected, group)
        own = [deviations(first, error, weight, group), deviations(second, error / SPREAD, weight, group)]
        return common + np.stack(own, axis=1)

    def class_rates(self, shift: np.ndarray, rates: np.ndarray, error: float) -> np.ndarray:
        """Rates of one block in one class: the overall ones, moved as far as the shift stands out from its noise."""
        # Outcome by outcome: a rare one whose shift is noise keeps the same ratio to the others in all classes.
        shift = shift - shift.mean() if len(shift) > 1 else shift
        moved = rates + james_stein(shift[:, None], error**2, 1)[:, 0] * shift
        if len(rates) == 1:
            return np.clip(moved, 0.05 * rates, 1.0 - 0.05 * (1.0 - rates))
        moved = np.maximum(moved, 0.05 * rates)
        return moved / moved.sum()

    # -- class pairs -------------------------------------------------------------------------------------------------------
    def model_moments(self, densities: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of (a z, x - p) per class, according to the margins."""
        mean, variance = rates - self.rates, rates * (1.0 - rates)
        z = np.einsum("cjt,tj->cj", densities, self.score)
        mean[:, self.numeric] = NUMERIC * z
        variance[:, self.numeric] = NUMERIC**2 * (np.einsum("cjt,tj->cj", densities, self.score**2) - z**2)
        return mean, np.maximum(variance, 1e-4)

    def ask_pairs(self, curator: Curator, sigma: float, densities: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Correlations between columns per class [1 or classes, width, width], cleaned of noise."""
        width, classes = self.codec.width, len(self.counts)
        mean, variance = self.model_moments(densities, rates)
        pooled = classes == 1 or classes * width * (width - 1) // 2 > MOST_PRODUCTS
        radius = ROOM * np.sqrt(variance.sum(axis=1))

        features = (self.vector - Entry(Label(), mean[:, self.order])) / Entry(Label(), radius[:, None])
        question = Products(features, 1 if pooled else classes, sigma)
        sums = curator.ask(PAIRS, question).value
        back = np.ix_(np.argsort(self.order), np.argsort(self.order))
        weight = self.counts / self.counts.sum()
        counts = self.counts.sum(keepdims=True) if pooled else self.counts
        inside = variance / radius[:, None] ** 2
        inside = (weight @ inside)[None, :] if pooled else inside
        mask = target_mask(width, [Block(start, size, np.zeros(size)) for start, size in self.blocks])
        matrices, deviations = [], []
        for own, count, var in zip(sums, counts, inside, strict=True):
            matrix = np.zeros((width, width))
            matrix[np.triu_indices(width, 1)] = own[:-1] / count
            matrix = (matrix + matrix.T)[back]
            error, trace = question.deviation / count, 4.0 * own[-1] / count
            undo = np.clip(var.sum() / trace, 1.0, 2.0) if trace > 8.0 * error else 1.0  # what clipping took
            matrices.append(undo * matrix * mask)
            deviations.append(undo * error)
        errors = np.asarray(deviations)
        share = np.ones(1) if pooled else weight
        common = np.tensordot(share, np.stack(matrices), 1)
        common = spectral(common, float(np.sqrt(((share * errors) ** 2).sum())), mask)
        found = []
        for matrix, error, var in zip(matrices, errors, inside, strict=True):
            own = common if pooled else common + spectral(matrix - common, error, mask)
            scale = np.sqrt(var)
            found.append(np.clip(own / scale / scale[:, None], -0.98, 0.98) * mask)
        return np.stack(found)


def merged(cdf: np.ndarray, size: int) -> np.ndarray:
    """Which edges of a column's cells stay when only `size` cells are wanted: those nearest to equal shares."""
    if len(cdf) - 1 <= size:
        return np.arange(len(cdf))
    inner = np.abs(cdf[None, 1:-1] - np.linspace(0.0, 1.0, size + 1)[1:-1, None]).argmin(axis=1) + 1
    return np.concatenate([[0], inner, [len(cdf) - 1]])


def deviations(values: np.ndarray, error: np.ndarray, weight: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of every class's values the deviation from the mean over classes, without what could be noise."""
    common, shared = weight @ values, float((weight**2) @ (error**2))
    return np.stack(
        [
            neighbourly(own - common, max(noise**2 * (1.0 - 2.0 * share) + shared, 1e-12), group)
            for own, noise, share in zip(values, error, weight, strict=True)
        ]
    )
